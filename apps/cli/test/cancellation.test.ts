/**
 * Cancelling on every surface, by each of its own means: the processes of a call end within the grace, also one that
 * ignores TERM and one that has left the group, and the call is recorded as cancelled.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { afterAll, assert, describe, it, vi } from "@effect/vitest"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { Approval } from "@scv/core"
import { builtins, LocalSession } from "@scv/runtime"
import { open as openScript } from "@scv/runtime/promise"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { toolCall } from "../../../packages/ai/test/support/model.ts"
import { generate, offering } from "../../../packages/ai/test/support/session.ts"
import { type Daemon, startDaemon } from "../../daemon/test/support/daemon.ts"
import { processesWith, until } from "./support/processes.ts"
import { command, envelopeOf, home, isolated, linesOf, makeWorkspace, scv, startScv } from "./support/scv.ts"

vi.setConfig({ testTimeout: 120_000 })

// A home without a profile, for the shells of the sessions in this process.
process.env.HOME = home

/** What the specification gives a process between TERM and KILL. */
const grace = Duration.seconds(2)

/** What all else may take on a machine that is busy. The processes would last far longer. */
const patience = Duration.seconds(20)

/** A call that goes on, in a place of its own. */
interface Place {
  readonly workspace: string
  /** Holds `seconds`, which no other process does. */
  readonly input: { readonly command: string }
  readonly seconds: string
}

let places = 0

const makePlace: Effect.Effect<Place, never, Scope.Scope> = Effect.map(makeWorkspace, (workspace) => {
  const seconds = `303.${process.pid}${++places}`
  const stubborn = `(trap '' TERM; setsid sleep ${seconds} & sleep ${seconds} & touch up; wait)`
  return { workspace, seconds, input: { command: `trap 'touch told; exit' TERM; ${stubborn} & wait` } }
})

/** A call under way. */
interface Underway {
  /** Cancels it by what the surface has for that. */
  readonly cancel: Effect.Effect<unknown>
  /** Checks what the surface says of it afterwards. */
  readonly answered?: Effect.Effect<unknown>
  /** The home whose log has the call. Default: that of this file. */
  readonly home?: string
  /** What the surface may take before it cancels. */
  readonly delay?: Duration.Duration
  /** Where the process may be killed before it has written how its call ended. */
  readonly isKilled?: boolean
}

type Surface = (place: Place) => Effect.Effect<Underway, unknown, Scope.Scope>

/** How the audit log of a home says that the call in a workspace has ended. */
const recorded = (audited: string, workspace: string): unknown => {
  const directory = path.join(audited, "state/audit")
  const entries = fs
    .readdirSync(directory)
    .flatMap((name) => fs.readFileSync(path.join(directory, name), "utf8").trimEnd().split("\n"))
    .map((line) => JSON.parse(line))
  const start = entries.find((entry) => entry.entry === "start" && entry.workspace === workspace)
  return entries.find(({ entry, serial, session }) => {
    return entry === "end" && session === start?.session && serial === start?.serial
  })?.status
}

const isCancelled = (envelope: unknown) =>
  Effect.sync(() => assert.deepInclude(envelope as object, { tool: "bash", status: "cancelled" }))

const check = (surface: Surface) =>
  Effect.gen(function* () {
    const place = yield* makePlace
    const at = (name: string) => path.join(place.workspace, name)
    const { answered, cancel, delay = Duration.zero, isKilled, home: audited = home } = yield* surface(place)
    yield* until(() => fs.existsSync(at("up")))
    // To look at all processes again and again would keep what is in this process from its work.
    const tree = processesWith(place.seconds)
    assert.isAtLeast(tree.length, 3)
    const [taken] = yield* cancel.pipe(
      Effect.zipRight(until(() => processesWith(place.seconds, tree).length === 0)),
      Effect.timeoutOption(Duration.sum(delay, Duration.sum(grace, patience))),
      Effect.timed
    )
    assert.deepStrictEqual(processesWith(place.seconds), [])
    // It was asked to end before it was made to.
    assert.isTrue(fs.existsSync(at("told")))
    if (isKilled !== true) assert.isAtLeast(Duration.toMillis(taken), Duration.toMillis(grace) * 0.9)
    if (answered !== undefined) yield* answered
    if (isKilled !== true) {
      yield* until(() => recorded(audited, place.workspace) !== undefined)
      assert.strictEqual(recorded(audited, place.workspace), "cancelled")
    }
  })

// In process

const openHere = ({ workspace }: Place) =>
  Effect.gen(function* () {
    const services = Layer.merge(LocalSession.single({ workspace }, builtins), Approval.unattended)
    return yield* Effect.provide(LocalSession.make({ assumeYes: true }), yield* Layer.build(services))
  })

const inProcess: Record<string, Surface> = {
  "a session: interruption of the caller": (place) =>
    Effect.gen(function* () {
      const session = yield* openHere(place)
      const calling = yield* Effect.fork(session.call({ tool: "bash", input: place.input }))
      return { cancel: Fiber.interrupt(calling) }
    }),
  "a session: cancel": (place) =>
    Effect.gen(function* () {
      const session = yield* openHere(place)
      const { id, result } = yield* session.submit({ tool: "bash", input: place.input })
      return { cancel: session.cancel(id), answered: Effect.flatMap(result, isCancelled) }
    }),
  "a session: the end of its scope": (place) =>
    Effect.gen(function* () {
      const session = yield* openHere(place)
      const { result } = yield* session.submit({ tool: "bash", input: place.input })
      return { cancel: session.close, answered: Effect.flatMap(result, isCancelled) }
    }),
  "the promise façade: AbortSignal": ({ input, workspace }) =>
    Effect.gen(function* () {
      const script = yield* Effect.acquireRelease(
        Effect.promise(() => openScript({ workspace, approve: () => true })),
        (opened) => Effect.promise(() => opened.close())
      )
      const controller = new AbortController()
      const answer = script.call("bash", input, { signal: controller.signal })
      return {
        cancel: Effect.sync(() => controller.abort()),
        answered: Effect.flatMap(
          Effect.promise(() => answer),
          isCancelled
        )
      }
    }),
  "the promise façade: close": ({ input, workspace }) =>
    Effect.promise(async () => {
      const script = await openScript({ workspace, approve: () => true })
      const answer = script.call("bash", input)
      return {
        cancel: Effect.promise(() => script.close()),
        answered: Effect.flatMap(
          Effect.promise(() => answer),
          isCancelled
        )
      }
    }),
  "@effect/ai: interruption of the request": (place) =>
    Effect.gen(function* () {
      const offered = offering(yield* openHere(place))
      const request = yield* Effect.fork(generate(offered, [toolCall("bash", place.input)]))
      return { cancel: Fiber.interrupt(request) }
    }),
  "@effect/ai: AbortSignal": (place) =>
    Effect.gen(function* () {
      const offered = offering(yield* openHere(place))
      const controller = new AbortController()
      const request = Effect.runPromiseExit(generate(offered, [toolCall("bash", place.input)]), controller)
      return {
        cancel: Effect.sync(() => controller.abort()),
        answered: Effect.map(
          Effect.promise(() => request),
          ({ _tag }) => assert.strictEqual(_tag, "Failure")
        )
      }
    })
}

// The command

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const

const callBySignal =
  (signal: (typeof signals)[number]): Surface =>
  ({ input, workspace }) =>
    Effect.map(startScv(["call", "bash", JSON.stringify(input), "--yes"], workspace), (running) => ({
      cancel: Effect.sync(() => running.kill(signal)),
      answered: Effect.flatMap(running.ended, (ended) => {
        assert.strictEqual(ended.code, 130)
        return isCancelled(envelopeOf(ended))
      })
    }))

const jsonLine = (message: object) => `${JSON.stringify(message)}\n`

const inSession = ({ input, workspace }: Place) =>
  Effect.gen(function* () {
    const running = yield* startScv(["session", "--yes"], workspace)
    running.write(jsonLine({ type: "call", id: "a", tool: "bash", input }))
    const ending = Effect.map(running.ended, (ended) => ({
      code: ended.code,
      result: linesOf(ended).find(({ event }) => event === "completed")?.result
    }))
    return { running, ending }
  })

const byCommand: Record<string, Surface> = {
  ...Object.fromEntries(signals.map((signal) => [`scv call: ${signal}`, callBySignal(signal)])),
  "scv session: a cancel line": (place) =>
    Effect.map(inSession(place), ({ ending, running }) => ({
      cancel: Effect.sync(() => {
        running.write(jsonLine({ type: "cancel", id: "a" }))
        running.end()
      }),
      answered: Effect.flatMap(ending, ({ code, result }) => {
        assert.strictEqual(code, 0)
        return isCancelled(result)
      })
    })),
  "scv session: SIGINT": (place) =>
    Effect.map(inSession(place), ({ ending, running }) => ({
      cancel: Effect.sync(() => running.kill("SIGINT")),
      answered: Effect.flatMap(ending, ({ code, result }) => {
        assert.strictEqual(code, 130)
        return isCancelled(result)
      })
    }))
}

// MCP on stdio

interface Connection {
  readonly client: Client
  readonly pid: number
}

const connectStdio = (args: ReadonlyArray<string>, scvHome: string): Effect.Effect<Connection, never, Scope.Scope> =>
  Effect.gen(function* () {
    const client = new Client({ name: "test", version: "1" })
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [command, "mcp", "--yes", ...args],
      env: { PATH: process.env.PATH ?? "", HOME: home, ...isolated, SCV_HOME: scvHome },
      stderr: "ignore"
    })
    yield* Effect.acquireRelease(
      Effect.promise(() => client.connect(transport)),
      () => Effect.promise(() => client.close())
    )
    return { client, pid: transport.pid ?? 0 }
  })

/** A call by an MCP client, which is told nothing any more once it has cancelled. */
const callTool = (client: Client, { input }: Place) => {
  const controller = new AbortController()
  const failure = client.callTool({ name: "bash", arguments: input }, { signal: controller.signal }).then(
    () => "answered",
    () => "failed"
  )
  return {
    cancel: Effect.sync(() => controller.abort()),
    answered: Effect.map(
      Effect.promise(() => failure),
      (how) => assert.strictEqual(how, "failed")
    )
  }
}

const initialize = (version: string) => ({
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: version, capabilities: {}, clientInfo: { name: "test", version: "1" } }
})

const callOf = ({ input }: Place) => ({
  jsonrpc: "2.0",
  id: 1,
  method: "tools/call",
  params: { name: "bash", arguments: input }
})

const speaking = (place: Place) =>
  Effect.map(startScv(["mcp", "--yes"], place.workspace), (running) => {
    running.write(jsonLine(initialize("2025-06-18")) + jsonLine(callOf(place)))
    return running
  })

const byMcp: Record<string, Surface> = {
  "scv mcp: notifications/cancelled": (place) =>
    Effect.map(connectStdio(["--workspace", place.workspace], home), ({ client }) => callTool(client, place)),
  "scv mcp: the end of its input": (place) =>
    Effect.map(speaking(place), (running) => ({
      cancel: Effect.sync(() => running.end()),
      // It may finish what it was asked before.
      delay: Duration.seconds(3),
      answered: Effect.flatMap(running.ended, (ended) => {
        assert.strictEqual(ended.code, 0)
        const answer = linesOf(ended).find(({ id }) => id === 1)?.result as { readonly structuredContent: unknown }
        return isCancelled(answer.structuredContent)
      })
    })),
  "scv mcp: SIGTERM": (place) =>
    Effect.map(speaking(place), (running) => ({
      cancel: Effect.sync(() => running.kill("SIGTERM")),
      answered: Effect.map(running.ended, ({ code }) => assert.strictEqual(code, 130))
    })),
  "scv mcp: a client that closes": (place) =>
    Effect.map(connectStdio(["--workspace", place.workspace], home), ({ client }) => {
      // Whether the answer still gets to it is chance.
      const { answered: _, ...underway } = callTool(client, place)
      return {
        ...underway,
        // It closes the input, sends TERM two seconds later, and KILL after two more.
        cancel: Effect.promise(() => client.close()),
        delay: Duration.seconds(2),
        isKilled: true
      }
    })
}

// The daemon

const startListening = Effect.gen(function* () {
  const daemon = yield* startDaemon({ args: ["--listen", "127.0.0.1:0"] })
  yield* daemon.running.until("http://127.0.0.1:")
  const [, port] = /http:\/\/127\.0\.0\.1:(\d+)/.exec((yield* daemon.running.said).stderr) ?? []
  const token = fs.readFileSync(path.join(daemon.home, "state/token"), "utf8").trim()
  const url = ({ workspace }: Place) =>
    new URL(`http://127.0.0.1:${port}/mcp?workspace=${encodeURIComponent(workspace)}`)
  return { daemon, url, authorization: `Bearer ${token}` }
})

const shared = Effect.runSync(Scope.make())

afterAll(() => Effect.runPromise(Scope.close(shared, Exit.void)))

/** One daemon for all that leave it running. */
const listening = Effect.runSync(Effect.cached(Scope.extend(startListening, shared)))

/** Approves the question that a place's call comes to. */
const approve = (daemon: Daemon, { workspace }: Place) =>
  Effect.gen(function* () {
    for (;;) {
      const { json } = yield* daemon.ask("/v1/approvals")
      const asked = json.approvals.find((approval: { workspace: string }) => approval.workspace === workspace)
      if (asked !== undefined) {
        yield* daemon.ask(`/v1/approvals/${asked.approval_id}`, { json: { decision: "approve" } })
        return asked.call_id as string
      }
      yield* Effect.sleep("20 millis")
    }
  })

/** A call by the API, and its request. */
const callByApi = (daemon: Daemon, place: Place) =>
  Effect.gen(function* () {
    const session = yield* daemon.open(place.workspace)
    const calls = `/v1/sessions/${session}/calls`
    const request = yield* Effect.forkScoped(daemon.ask(calls, { json: { tool: "bash", input: place.input } }))
    const id = yield* approve(daemon, place)
    const answered = Effect.flatMap(Fiber.join(request), ({ json }) => isCancelled(json))
    return {
      id,
      session,
      target: `${calls}/${id}`,
      request,
      underway: { answered: Effect.orDie(answered), home: daemon.home }
    }
  })

const viaDaemon = ({ input, workspace }: Place, daemon: Daemon) =>
  startScv(["call", "bash", JSON.stringify(input), "--yes", "--daemon"], workspace, { SCV_HOME: daemon.home })

const connectHttp = (place: Place, version: string) =>
  Effect.gen(function* () {
    const { authorization, daemon, url } = yield* listening
    const client = new Client(
      { name: "test", version: "1" },
      {
        capabilities: { elicitation: {} },
        ...(version === "2026-07-28"
          ? { versionNegotiation: { mode: { pin: version } } }
          : { supportedProtocolVersions: [version] })
      }
    )
    client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: {} }))
    const transport = new StreamableHTTPClientTransport(url(place), { requestInit: { headers: { authorization } } })
    yield* Effect.acquireRelease(
      Effect.promise(() => client.connect(transport)),
      () => Effect.promise(() => client.close())
    )
    return { client, transport, underway: { ...callTool(client, place), home: daemon.home } }
  })

const inDaemon: Record<string, Surface> = {
  "the daemon's API: DELETE of the call": (place) =>
    Effect.gen(function* () {
      const { daemon } = yield* listening
      const { target, underway } = yield* callByApi(daemon, place)
      return { ...underway, cancel: Effect.orDie(daemon.ask(target, { method: "DELETE" })) }
    }),
  "the daemon's API: DELETE of the session": (place) =>
    Effect.gen(function* () {
      const { daemon } = yield* listening
      const { session, underway } = yield* callByApi(daemon, place)
      return { ...underway, cancel: Effect.orDie(daemon.ask(`/v1/sessions/${session}`, { method: "DELETE" })) }
    }),
  "the daemon's API: a caller that disconnects": (place) =>
    Effect.gen(function* () {
      const { daemon } = yield* listening
      const { request } = yield* callByApi(daemon, place)
      return { home: daemon.home, cancel: Fiber.interrupt(request) }
    }),
  "the daemon: scv cancel": (place) =>
    Effect.gen(function* () {
      const { daemon } = yield* listening
      const { id, underway } = yield* callByApi(daemon, place)
      return { ...underway, cancel: scv(["cancel", id], place.workspace, "", { SCV_HOME: daemon.home }) }
    }),
  "the daemon: SIGTERM": (place) =>
    Effect.gen(function* () {
      const { daemon } = yield* startListening
      const { underway } = yield* callByApi(daemon, place)
      return { ...underway, cancel: Effect.sync(() => daemon.running.kill("SIGTERM")) }
    }),
  "scv call --daemon: SIGINT": (place) =>
    Effect.gen(function* () {
      const { daemon } = yield* listening
      const running = yield* viaDaemon(place, daemon)
      return {
        home: daemon.home,
        cancel: Effect.sync(() => running.kill("SIGINT")),
        answered: Effect.flatMap(running.ended, (ended) => {
          assert.strictEqual(ended.code, 130)
          return isCancelled(envelopeOf(ended))
        })
      }
    }),
  "scv call --daemon: SIGKILL": (place) =>
    Effect.gen(function* () {
      const { daemon } = yield* listening
      const running = yield* viaDaemon(place, daemon)
      return { home: daemon.home, cancel: Effect.sync(() => running.kill("SIGKILL")) }
    }),
  "scv mcp --daemon: notifications/cancelled": (place) =>
    Effect.gen(function* () {
      const { daemon } = yield* listening
      const { client } = yield* connectStdio(["--daemon", "--workspace", place.workspace], daemon.home)
      return { ...callTool(client, place), home: daemon.home }
    }),
  "scv mcp --daemon: SIGKILL": (place) =>
    Effect.gen(function* () {
      const { daemon } = yield* listening
      const { client, pid } = yield* connectStdio(["--daemon", "--workspace", place.workspace], daemon.home)
      return { ...callTool(client, place), home: daemon.home, cancel: Effect.sync(() => process.kill(pid, "SIGKILL")) }
    }),
  "/mcp, 2025-11-25: notifications/cancelled": (place) =>
    Effect.map(connectHttp(place, "2025-11-25"), ({ underway }) => underway),
  "/mcp, 2025-11-25: DELETE of the session": (place) =>
    Effect.map(connectHttp(place, "2025-11-25"), ({ transport, underway: { home } }) => ({
      home,
      cancel: Effect.promise(() => transport.terminateSession())
    })),
  "/mcp, 2026-07-28: a request that is broken off": (place) =>
    Effect.map(connectHttp(place, "2026-07-28"), ({ underway }) => underway),
  "/mcp, 2025-06-18: a client that disconnects": (place) =>
    Effect.gen(function* () {
      const { authorization, daemon, url } = yield* listening
      const controller = new AbortController()
      const post = (body: object, headers: Record<string, string> = {}) =>
        Effect.promise(() =>
          fetch(url(place), {
            method: "POST",
            body: JSON.stringify(body),
            signal: controller.signal,
            headers: {
              authorization,
              accept: "application/json, text/event-stream",
              "content-type": "application/json",
              ...headers
            }
          })
        )
      const session = (yield* post(initialize("2025-06-18"))).headers.get("mcp-session-id") ?? ""
      yield* Effect.forkScoped(Effect.exit(post(callOf(place), { "mcp-session-id": session })))
      yield* approve(daemon, place)
      return { home: daemon.home, cancel: Effect.sync(() => controller.abort()) }
    })
}

// Several at a time, since each of them waits for the grace.
describe.concurrent("cancelling", () => {
  for (const [name, surface] of Object.entries({ ...inProcess, ...byCommand, ...byMcp, ...inDaemon })) {
    it.scopedLive(name, () => check(surface))
  }
})
