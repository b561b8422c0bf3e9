import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it, vi } from "@effect/vitest"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { ask, type Daemon, makeWorkspace, processesWith, question, read, startDaemon, until } from "./support/daemon.ts"

// Each starts a daemon and several clients of it.
vi.setConfig({ testTimeout: 90_000 })

const listening = Effect.gen(function* () {
  const daemon = yield* startDaemon({ args: ["--listen", "127.0.0.1:0"] })
  yield* daemon.running.until("http://127.0.0.1:")
  const token = fs.readFileSync(path.join(daemon.home, "state/token"), "utf8").trim()
  const port = Number(/http:\/\/127\.0\.0\.1:(\d+)/.exec((yield* daemon.running.said).stderr)?.[1])
  const workspace = yield* makeWorkspace
  fs.writeFileSync(path.join(workspace, "a"), "from the file\n")
  const url = new URL(`http://127.0.0.1:${port}/mcp?workspace=${encodeURIComponent(workspace)}`)
  return { daemon, token, port, url, workspace }
})

interface Connecting {
  readonly url: URL
  readonly token: string
  readonly version?: string
  /** Answers questions; a client without it does not offer any. */
  readonly elicited?: (message: string, signal: AbortSignal) => Promise<object>
}

/** The official client, connected. */
const connect = ({ elicited, token, url, version = "2025-11-25" }: Connecting) =>
  Effect.gen(function* () {
    const client = new Client(
      { name: "test", version: "1" },
      {
        capabilities: elicited === undefined ? {} : { elicitation: {} },
        ...(version === "2026-07-28"
          ? { versionNegotiation: { mode: { pin: version } } }
          : { supportedProtocolVersions: [version] })
      }
    )
    if (elicited !== undefined) {
      client.setRequestHandler(
        "elicitation/create",
        ({ params }, { mcpReq }) => elicited(params.message, mcpReq.signal) as never
      )
    }
    const transport = new StreamableHTTPClientTransport(url, {
      requestInit: { headers: { authorization: `Bearer ${token}`, "user-agent": "tester/1" } }
    })
    yield* Effect.acquireRelease(
      Effect.promise(() => client.connect(transport)),
      () => Effect.promise(() => client.close())
    )
    return { client, transport }
  })

const call = (client: Client, name: string, input: Record<string, unknown>, signal?: AbortSignal) =>
  Effect.promise(() => client.callTool({ name, arguments: input }, signal === undefined ? {} : { signal })).pipe(
    Effect.map(({ structuredContent }) => structuredContent as Record<string, unknown>)
  )

const bash = (client: Client, command: string, signal?: AbortSignal) => call(client, "bash", { command }, signal)

const sessionsOf = (daemon: Daemon) => Effect.map(daemon.ask("/v1/sessions"), ({ json }) => json.sessions)

/** Waits until the daemon has so many sessions. */
const untilSessions = (daemon: Daemon, count: number) => until(sessionsOf(daemon), ({ length }) => length === count)

const answer = (daemon: Daemon, id: string, decision: "approve" | "deny") =>
  daemon.ask(`/v1/approvals/${id}`, { json: { decision }, headers: { "user-agent": "watcher" } })

/** What the audit log of a daemon says of the calls. */
const audited = (daemon: Daemon): string => {
  const directory = path.join(daemon.home, "state/audit")
  return fs
    .readdirSync(directory)
    .map((name) => fs.readFileSync(path.join(directory, name), "utf8"))
    .join("")
}

/** A number of seconds that no other test sleeps for. */
const aLongTime = (() => {
  let count = 0
  return () => `301.${process.pid}${++count}`
})()

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } }
}

const accept = "application/json, text/event-stream"

describe("/mcp", () => {
  for (const version of ["2025-03-26", "2025-11-25", "2026-07-28"]) {
    it.scopedLive(`${version}: a call of the official client is one of the daemon's`, () =>
      Effect.gen(function* () {
        const { daemon, token, url, workspace } = yield* listening
        const events = yield* read(daemon.where, "/v1/events")
        const { client } = yield* connect({ url, token, version })
        const { tools } = yield* Effect.promise(() => client.listTools())
        assert.include(
          tools.map(({ name }) => name),
          "bash"
        )
        const answered = yield* call(client, "read", { path: "a" })
        assert.strictEqual(answered.status, "completed")
        const completed = yield* events.until(({ event, result }) => event === "completed" && result.tool === "read")
        assert.strictEqual(completed.result.call_id, answered.call_id)
        assert.match(audited(daemon), /"surface":"scvd mcp"/)
        const opened = yield* events.until(({ event }) => event === "session_opened")
        assert.strictEqual(opened.workspace, workspace)
        if (version === "2026-07-28") yield* untilSessions(daemon, 0)
        else assert.lengthOf(yield* sessionsOf(daemon), 1)
      })
    )
  }

  for (const version of ["2025-11-25", "2026-07-28"]) {
    it.scopedLive(`${version}: a question of a client that cannot be asked waits in the daemon's list`, () =>
      Effect.gen(function* () {
        const { daemon, token, url, workspace } = yield* listening
        const { client } = yield* connect({ url, token, version })
        const denied = yield* Effect.fork(bash(client, "touch denied"))
        yield* answer(daemon, (yield* question(daemon)).approval_id, "deny")
        assert.strictEqual((yield* Fiber.join(denied)).status, "denied")
        assert.isFalse(fs.existsSync(path.join(workspace, "denied")))
        const approved = yield* Effect.fork(bash(client, "touch approved"))
        yield* answer(daemon, (yield* question(daemon)).approval_id, "approve")
        assert.strictEqual((yield* Fiber.join(approved)).status, "completed")
        assert.isTrue(fs.existsSync(path.join(workspace, "approved")))
      })
    )
  }

  it.scopedLive("a question is the client's and the list's at once, and the first answer wins", () =>
    Effect.gen(function* () {
      const { daemon, token, url } = yield* listening
      const events = yield* read(daemon.where, "/v1/events")
      let withdrawn = 0
      const replies = [
        () => Promise.resolve({ action: "accept", content: {} }),
        (signal: AbortSignal) =>
          new Promise<object>((resolve) => {
            signal.addEventListener("abort", () => {
              withdrawn++
              resolve({ action: "cancel" })
            })
          })
      ]
      const { client } = yield* connect({
        url,
        token,
        elicited: (_, signal) => replies.shift()?.(signal) ?? Promise.reject(new Error("asked too often"))
      })
      assert.strictEqual((yield* bash(client, "echo one")).status, "completed")
      const byClient = yield* events.until(({ event }) => event === "approval_resolved")
      assert.deepInclude(byClient, { decision: "approve", by: "tester/1, over loopback TCP" })
      const late = yield* answer(daemon, byClient.approval_id, "deny")
      assert.strictEqual(late.status, 409)
      assert.include(late.text, "it was approved already (by tester/1")

      const second = yield* Effect.fork(bash(client, "echo two"))
      yield* until(
        Effect.sync(() => replies.length),
        (left) => left === 0
      )
      yield* answer(daemon, (yield* question(daemon)).approval_id, "deny")
      assert.strictEqual((yield* Fiber.join(second)).status, "denied")
      // The client's form is taken back.
      yield* until(
        Effect.sync(() => withdrawn),
        (count) => count === 1
      )
    })
  )

  it.scopedLive("is behind the gate, and refuses what names no workspace", () =>
    Effect.gen(function* () {
      const { daemon, port, token, url } = yield* listening
      const where = { host: "127.0.0.1", port }
      const target = url.pathname + url.search
      const good = { authorization: `Bearer ${token}`, accept }
      const refused = [
        [401, target, { accept }],
        [403, target, { ...good, host: "evil.example" }],
        [403, target, { ...good, origin: "https://evil.example" }]
      ] as const
      for (const [status, to, headers] of refused) {
        assert.strictEqual((yield* ask(where, to, { headers, json: initialize })).status, status)
      }
      const unnamed = [
        ["/mcp", "workspace: expected a directory in the URL, as in /mcp?workspace=/home/you/project"],
        ["/mcp?workspace=", "workspace: expected a directory in the URL, as in /mcp?workspace=/home/you/project"],
        ["/mcp?workspace=here", 'workspace: expected an absolute path, got "here"']
      ] as const
      for (const [to, message] of unnamed) {
        const { json, status } = yield* ask(where, to, { headers: good, json: initialize })
        assert.strictEqual(status, 400)
        assert.strictEqual(json.error.message, message)
      }
      const nowhere = yield* ask(where, "/mcp?workspace=/nope/nope", { headers: good, json: initialize })
      assert.strictEqual(nowhere.status, 400)
      assert.match(nowhere.json.error.message, /^workspace: /)
      assert.lengthOf(yield* sessionsOf(daemon), 0)
      const overSocket = yield* daemon.ask(target, { headers: { accept }, json: initialize })
      assert.strictEqual(overSocket.status, 200)
      yield* untilSessions(daemon, 1)
    })
  )

  it.scopedLive("no more sessions are opened than the daemon may have", () =>
    Effect.gen(function* () {
      const daemon = yield* startDaemon({ config: "[daemon]\nmax_sessions = 1\n" })
      const target = `/mcp?workspace=${encodeURIComponent(daemon.home)}`
      const open = daemon.ask(target, { headers: { accept }, json: initialize })
      assert.strictEqual((yield* open).status, 200)
      const refused = yield* open
      assert.strictEqual(refused.status, 400)
      assert.include(refused.json.error.message, "1 sessions are open")
    })
  )

  it.scopedLive("all is released when the client cancels, leaves, or ends its session", () =>
    Effect.gen(function* () {
      const { daemon, token, url } = yield* listening
      const elicited = async () => ({ action: "accept", content: {} })
      const { client, transport } = yield* connect({ url, token, elicited })
      const start = (signal?: AbortSignal) =>
        Effect.gen(function* () {
          const seconds = aLongTime()
          yield* Effect.fork(Effect.exit(bash(client, `sleep ${seconds} & wait`, signal)))
          yield* until(
            Effect.sync(() => processesWith(`sleep\0${seconds}`).length),
            (count) => count > 0
          )
          return until(
            Effect.sync(() => processesWith(`sleep\0${seconds}`).length),
            (count) => count === 0
          )
        })
      const controller = new AbortController()
      const cancelled = yield* start(controller.signal)
      controller.abort()
      yield* cancelled
      assert.lengthOf(yield* sessionsOf(daemon), 1)
      const ended = yield* start()
      yield* Effect.promise(() => transport.terminateSession())
      yield* ended
      yield* untilSessions(daemon, 0)
    })
  )

  it.scopedLive("a client that leaves while it is asked leaves no question, and no call", () =>
    Effect.gen(function* () {
      const { daemon, url, workspace } = yield* listening
      const post = (json: object, more: Record<string, string> = {}) =>
        daemon.ask(url.pathname + url.search, { headers: { accept, ...more }, json })
      const asking = { ...initialize.params, capabilities: { elicitation: {} } }
      const { headers } = yield* post({ ...initialize, params: asking })
      const params = { name: "bash", arguments: { command: "touch made" } }
      const call = { jsonrpc: "2.0", id: 2, method: "tools/call", params }
      const leaving = yield* Effect.fork(post(call, { "mcp-session-id": String(headers["mcp-session-id"]) }))
      const { call_id } = yield* question(daemon)
      yield* Fiber.interrupt(leaving)
      yield* until(daemon.ask("/v1/approvals"), ({ json }) => json.approvals.length === 0)
      yield* until(
        Effect.sync(() => audited(daemon)),
        (log) => log.includes('"status":"cancelled"')
      )
      assert.include(audited(daemon), `"call_id":"${call_id}"`)
      assert.isFalse(fs.existsSync(path.join(workspace, "made")))
    })
  )

  it.scopedLive("a body that is too long is refused, and costs nobody else anything", () =>
    Effect.gen(function* () {
      const { daemon, url } = yield* listening
      const body = JSON.stringify({ ...initialize, more: "x".repeat(5_000_000) })
      const headers = { accept, "content-type": "application/json" }
      const refused = yield* daemon.ask(url.pathname + url.search, { headers, body })
      assert.strictEqual(refused.status, 413)
      assert.lengthOf(yield* sessionsOf(daemon), 0)
      assert.strictEqual((yield* daemon.ask(url.pathname + url.search, { headers, json: initialize })).status, 200)
    })
  )

  it.scopedLive("a session that the daemon closes ends the client's", () =>
    Effect.gen(function* () {
      const { daemon, token, url } = yield* listening
      const { client, transport } = yield* connect({ url, token })
      const waiting = yield* Effect.fork(bash(client, "echo never"))
      yield* question(daemon)
      const [{ session_id }] = yield* sessionsOf(daemon)
      yield* daemon.ask(`/v1/sessions/${session_id}`, { method: "DELETE" })
      assert.strictEqual((yield* Fiber.join(waiting)).status, "cancelled")
      const headers = { authorization: `Bearer ${token}`, accept, "mcp-session-id": transport.sessionId ?? "" }
      const ping = daemon.ask(url.pathname + url.search, { headers, json: { jsonrpc: "2.0", id: 9, method: "ping" } })
      yield* until(ping, ({ status }) => status === 404)
    })
  )

  it.scopedLive("a daemon that stops answers the calls that run, and leaves nothing", () =>
    Effect.gen(function* () {
      const { daemon, token, url } = yield* listening
      const { client } = yield* connect({ url, token, elicited: async () => ({ action: "accept", content: {} }) })
      const seconds = aLongTime()
      const running = yield* Effect.fork(bash(client, `sleep ${seconds} & wait`))
      yield* until(
        Effect.sync(() => processesWith(`sleep\0${seconds}`).length),
        (count) => count > 0
      )
      daemon.running.kill("SIGTERM")
      assert.strictEqual((yield* Fiber.join(running)).status, "cancelled")
      assert.strictEqual((yield* daemon.running.ended).code, 0)
      assert.lengthOf(processesWith(`sleep\0${seconds}`), 0)
    })
  )
})
