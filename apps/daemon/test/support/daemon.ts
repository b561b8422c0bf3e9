import * as fs from "node:fs"
import * as http from "node:http"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { makeWorkspace, type Running, startProgram } from "../../../cli/test/support/scv.ts"

export { makeWorkspace } from "../../../cli/test/support/scv.ts"

/** The built daemon. */
export const scvd = fileURLToPath(new URL("../../dist/scvd.js", import.meta.url))

/** What a daemon answered, which a test says the shape of by looking at it. */
// biome-ignore lint/suspicious/noExplicitAny: a test that looks at the wrong place fails
export type Loose = any

export interface Answer {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly text: string
  readonly json: Loose
}

export type Where = { readonly socketPath: string } | { readonly host: string; readonly port: number }

export interface Request {
  readonly method?: string
  readonly headers?: http.OutgoingHttpHeaders
  /** Sent as JSON. */
  readonly json?: unknown
  /** Sent as it is. */
  readonly body?: string | Uint8Array
}

/** One request on a connection of its own; interruption cuts the connection. */
export const ask = (where: Where, target: string, request: Request = {}): Effect.Effect<Answer, Error> =>
  Effect.async<Answer, Error>((resume) => {
    const body = request.json === undefined ? request.body : JSON.stringify(request.json)
    const outgoing = http.request({
      ...where,
      path: target,
      method: request.method ?? (body === undefined ? "GET" : "POST"),
      headers: { ...(request.json === undefined ? {} : { "content-type": "application/json" }), ...request.headers },
      agent: false
    })
    outgoing.on("error", (error) => resume(Effect.fail(error)))
    outgoing.on("response", (incoming) => {
      let text = ""
      incoming.setEncoding("utf8")
      incoming.on("data", (part: string) => {
        text += part
      })
      incoming.on("error", (error) => resume(Effect.fail(error)))
      incoming.on("end", () => {
        const isJson = incoming.headers["content-type"]?.startsWith("application/json") === true
        const { headers, statusCode = 0 } = incoming
        resume(
          Effect.succeed({
            status: statusCode,
            headers,
            text,
            json: isJson && text !== "" ? JSON.parse(text) : undefined
          })
        )
      })
    })
    outgoing.end(body)
    return Effect.sync(() => outgoing.destroy())
  })

/** An event stream as it comes. */
export interface Reading {
  readonly events: Array<{ readonly id: string | undefined; readonly data: Loose }>
  /** Waits until one of the events is like that. */
  readonly until: (is: (data: Loose) => boolean) => Effect.Effect<Loose>
  /** Waits until the stream has ended. */
  readonly ended: Effect.Effect<void>
}

export const read = (where: Where, target: string, headers: http.OutgoingHttpHeaders = {}) =>
  Effect.gen(function* () {
    const events: Reading["events"] = []
    const state = { hasEnded: false, status: 0 }
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        const outgoing = http.get({ ...where, path: target, headers, agent: false }, (incoming) => {
          state.status = incoming.statusCode ?? 0
          let held = ""
          incoming.setEncoding("utf8").on("data", (part: string) => {
            held += part
            const whole = held.split("\n\n")
            held = whole.pop() ?? ""
            for (const block of whole) {
              const data = /^data: (.*)$/m.exec(block)?.[1]
              if (data !== undefined) events.push({ id: /^id: (.*)$/m.exec(block)?.[1], data: JSON.parse(data) })
            }
          })
          incoming.on("close", () => {
            state.hasEnded = true
          })
        })
        outgoing.on("error", () => {
          state.hasEnded = true
        })
        return outgoing
      }),
      (outgoing) => Effect.sync(() => outgoing.destroy())
    )
    const found = (is: (data: Loose) => boolean) => events.find(({ data }) => is(data))?.data
    const until = (is: (data: Loose) => boolean) =>
      Effect.map(
        eventually(() => found(is) !== undefined),
        () => found(is)
      )
    yield* eventually(() => events.length > 0 || state.hasEnded)
    return { events, until, ended: eventually(() => state.hasEnded) } satisfies Reading
  })

/** Waits until an effect gives a value that will do, and gives that. */
export const until = <A, E>(effect: Effect.Effect<A, E>, is: (value: A) => boolean): Effect.Effect<A, E> =>
  Effect.flatMap(effect, (value) =>
    is(value) ? Effect.succeed(value) : Effect.zipRight(Effect.sleep("5 millis"), until(effect, is))
  )

/** Waits for a condition. */
export const eventually = (condition: () => boolean): Effect.Effect<void> =>
  Effect.asVoid(until(Effect.sync(condition), (met) => met))

export interface Daemon {
  readonly home: string
  readonly where: { readonly socketPath: string }
  readonly running: Running
  readonly ask: (target: string, request?: Request) => Effect.Effect<Answer, Error>
  /** Opens a session in a workspace. */
  readonly open: (workspace: string, policy?: string) => Effect.Effect<string, Error>
}

export const socketOf = (home: string): string => path.join(home, "state/scvd.sock")

/** Starts the built daemon in a home and waits until it listens. */
export const startDaemon = (
  options: { readonly home?: string; readonly args?: ReadonlyArray<string>; readonly config?: string } = {}
): Effect.Effect<Daemon, never, Scope.Scope> =>
  Effect.gen(function* () {
    const home = options.home ?? (yield* makeWorkspace)
    if (options.config !== undefined) fs.writeFileSync(path.join(home, "config.toml"), options.config)
    const running = yield* startProgram([process.execPath, scvd, ...(options.args ?? [])], home, { SCV_HOME: home })
    yield* running.until("listening on")
    return daemonAt(home, running)
  })

export const daemonAt = (home: string, running: Running): Daemon => {
  const where = { socketPath: socketOf(home) }
  const askThere = (target: string, request?: Request) => ask(where, target, request)
  return {
    home,
    where,
    running,
    ask: askThere,
    open: (workspace, policy) =>
      Effect.map(
        askThere("/v1/sessions", { json: { workspace, ...(policy === undefined ? {} : { policy }) } }),
        ({ json }) => json.session_id as string
      )
  }
}

/** Waits until a question is asked, and gives it. */
export const question = (daemon: Daemon): Effect.Effect<Loose, Error> =>
  until(
    Effect.map(daemon.ask("/v1/approvals"), ({ json }) => json.approvals[0]),
    (asked) => asked !== undefined
  )

/** The processes that carry a text in their arguments, and live. */
export const processesWith = (text: string): ReadonlyArray<string> =>
  fs
    .readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const isDead = /\) [ZX] /.test(fs.readFileSync(`/proc/${pid}/stat`, "latin1"))
        return !isDead && fs.readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(text)
      } catch {
        return false
      }
    })
