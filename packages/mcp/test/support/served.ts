/** A session served in this process, and clients of it. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { Client, type ClientOptions } from "@modelcontextprotocol/client"
import { Approval, Session } from "@scv/core"
import { LocalSession, type OfferedTool } from "@scv/runtime"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Mailbox from "effect/Mailbox"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import { Stdio } from "../../src/index.ts"
import { LineTransport } from "../../src/LineTransport.ts"
import type { Options } from "../../src/Server.ts"

/** Every protocol version that the SDK speaks. */
export const legacyVersions = ["2024-10-07", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] as const
export const modernVersion = "2026-07-28"

export const makeWorkspace: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "scv-mcp-test-")))),
  (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true, force: true }))
)

export const sessionOptions: Session.Options = { surface: "test", policy: "on-risk" }

export const openSession = (
  tools: ReadonlyArray<OfferedTool>,
  options: Session.Options = sessionOptions
): Effect.Effect<Session.Session, never, Scope.Scope> =>
  Effect.gen(function* () {
    const workspace = yield* makeWorkspace
    const services = yield* Layer.build(Layer.merge(LocalSession.single({ workspace }, tools), Approval.unattended))
    return yield* Effect.provide(Session.make(options), services)
  }).pipe(Effect.orDie)

export const settings: Options = { version: "0", questionSeconds: 60, unaskable: "nobody to ask; use --yes" }

/** The other end of a server on lines. */
export interface Served {
  readonly send: (line: string) => void
  readonly end: Effect.Effect<void>
  readonly stop: Effect.Effect<void>
  /** All lines that the server has written. */
  readonly written: ReadonlyArray<string>
  readonly onLine: (listener: (line: string) => void) => void
  /** Waits until the server has ended. */
  readonly ended: Effect.Effect<void>
}

export const serve = (
  session: Session.Session,
  options: Partial<Options> = {}
): Effect.Effect<Served, never, Scope.Scope> =>
  Effect.gen(function* () {
    const lines = yield* Mailbox.make<Stdio.Line>()
    const stops = yield* Queue.unbounded<void>()
    const written: Array<string> = []
    const listeners: Array<(line: string) => void> = []
    const fiber = yield* Effect.forkScoped(
      Stdio.serve(
        session,
        { ...settings, ...options },
        {
          lines: Mailbox.toStream(lines),
          write: (text) =>
            Effect.sync(() => {
              written.push(text)
              for (const listener of listeners) listener(text)
            }),
          stopped: Queue.take(stops)
        }
      )
    )
    return {
      send: (text) => {
        lines.unsafeOffer({ text })
      },
      end: Effect.asVoid(lines.end),
      stop: Effect.asVoid(Queue.offer(stops, undefined)),
      written,
      onLine: (listener) => {
        listeners.push(listener)
      },
      ended: Fiber.join(fiber)
    }
  })

export type Elicited = (message: string) => unknown

export interface Connecting {
  readonly version?: string
  /** Answers elicitations; a client without it does not offer any. */
  readonly elicited?: Elicited
}

/** The official client, at a version. */
export const makeClient = ({ elicited, version }: Connecting): Client => {
  const options: ClientOptions = {
    capabilities: elicited === undefined ? {} : { elicitation: {} },
    ...(version === modernVersion
      ? { versionNegotiation: { mode: { pin: version } } }
      : { supportedProtocolVersions: version === undefined ? ["2025-11-25"] : [version] })
  }
  const client = new Client({ name: "test", version: "1" }, options)
  if (elicited !== undefined) {
    client.setRequestHandler("elicitation/create", async ({ params }) => (await elicited(params.message)) as never)
  }
  return client
}

/** The official client of a served session. */
export const connect = (served: Served, connecting: Connecting = {}): Effect.Effect<Client, never, Scope.Scope> =>
  Effect.gen(function* () {
    const transport = new LineTransport(
      async (line) => served.send(line.trimEnd()),
      (fault) => {
        throw new Error(fault)
      }
    )
    served.onLine((line) => transport.receive(line))
    const client = makeClient(connecting)
    yield* Effect.acquireRelease(
      Effect.promise(() => client.connect(transport)),
      () => Effect.promise(() => client.close())
    )
    return client
  })

/** What `tools/call` answers. */
export const callTool = (
  client: Client,
  name: string,
  input: Record<string, unknown> = {},
  options: Parameters<Client["callTool"]>[1] = {}
) => Effect.promise(() => client.callTool({ name, arguments: input }, options))

/** Waits until a condition holds. */
export const until = (holds: () => boolean): Effect.Effect<void> =>
  Effect.suspend(() => (holds() ? Effect.void : Effect.delay(until(holds), "5 millis")))
