import { assert, describe, it } from "@effect/vitest"
import { type Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import type { Session } from "@scv/core"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import { Http } from "../src/index.ts"
import { listen, type Open } from "./support/http.ts"
import {
  type Connecting,
  callTool,
  legacyVersions,
  makeClient,
  modernVersion,
  openSession,
  settings,
  until
} from "./support/served.ts"
import { endless, look, shout } from "./support/tools.ts"

// Streamable HTTP is there since 2025-03-26.
const versions = [...legacyVersions.filter((version) => version >= "2025-03-26"), modernVersion]

const connect = (url: URL, connecting: Connecting): Effect.Effect<Client, never, Scope.Scope> =>
  Effect.gen(function* () {
    const client = makeClient(connecting)
    yield* Effect.acquireRelease(
      Effect.promise(() => client.connect(new StreamableHTTPClientTransport(url))),
      () => Effect.promise(() => client.close())
    )
    return client
  })

const sharing =
  (session: Session.Session): Open =>
  () =>
    Effect.succeed(session)

const statusOf = (answer: { readonly structuredContent?: unknown }) =>
  (answer.structuredContent as { readonly status: string }).status

const post = (url: URL, body: string, headers: Record<string, string> = {}, signal: AbortSignal | null = null) =>
  Effect.promise(() =>
    fetch(url, {
      method: "POST",
      body,
      signal,
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers }
    })
  )

const initialize = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } }
})

const endlessCall = JSON.stringify({ jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "endless" } })

const modernMeta = {
  "io.modelcontextprotocol/protocolVersion": modernVersion,
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {}
}

describe("over HTTP", () => {
  for (const version of versions) {
    it.scopedLive(`${version}: tools are listed and called, with progress`, () =>
      Effect.gen(function* () {
        const client = yield* connect(yield* listen(sharing(yield* openSession([look]))), { version })
        assert.strictEqual(client.getNegotiatedProtocolVersion(), version)
        const { tools } = yield* Effect.promise(() => client.listTools())
        assert.lengthOf(tools, 1)
        const told: Array<unknown> = []
        const answer = yield* callTool(client, "look_up", { word: "hi" }, { onprogress: (p) => told.push(p) })
        assert.strictEqual(statusOf(answer), "completed")
        assert.isAbove(told.length, 0)
        assert.strictEqual(statusOf(yield* callTool(client, "look_up", { word: "nope" })), "failed")
      })
    )
  }

  for (const version of versions.filter((version) => version >= "2025-06-18")) {
    it.scopedLive(`${version}: the client's user is asked`, () =>
      Effect.gen(function* () {
        const url = yield* listen(sharing(yield* openSession([shout])))
        const actions = ["accept", "decline"]
        const client = yield* connect(url, { version, elicited: () => ({ action: actions.shift() }) })
        assert.strictEqual(statusOf(yield* callTool(client, "shout", { word: "hi" })), "completed")
        assert.strictEqual(statusOf(yield* callTool(client, "shout", { word: "hi" })), "denied")
      })
    )
  }

  for (const version of ["2025-11-25", modernVersion]) {
    it.scopedLive(`${version}: cancelling interrupts the call`, () =>
      Effect.gen(function* () {
        const running = yield* endless
        const session = yield* openSession([running.tool])
        const client = yield* connect(yield* listen(sharing(session)), { version })
        const controller = new AbortController()
        const failed = client.callTool({ name: "endless" }, { signal: controller.signal }).catch(() => "failed")
        yield* running.started
        controller.abort()
        assert.strictEqual(yield* Effect.promise(() => failed), "failed")
        yield* running.release
        yield* session.idle
        assert.isTrue(running.isReleased())
      })
    )
  }

  it.scopedLive("a client that goes away in the middle of a call cancels it", () =>
    Effect.gen(function* () {
      for (const version of ["2025-11-25", modernVersion]) {
        const running = yield* endless
        const session = yield* openSession([running.tool])
        const url = yield* listen(sharing(session))
        const controller = new AbortController()
        if (version === modernVersion) {
          const body = JSON.stringify({
            jsonrpc: "2.0",
            id: 2,
            method: "tools/call",
            params: { name: "endless", _meta: modernMeta }
          })
          const headers = { "mcp-protocol-version": version, "mcp-method": "tools/call", "mcp-name": "endless" }
          yield* Effect.fork(Effect.exit(post(url, body, headers, controller.signal)))
        } else {
          const opened = yield* post(url, initialize)
          const id = opened.headers.get("mcp-session-id") ?? ""
          yield* Effect.fork(Effect.exit(post(url, endlessCall, { "mcp-session-id": id }, controller.signal)))
        }
        yield* running.started
        controller.abort()
        yield* running.release
        yield* session.idle
        assert.isTrue(running.isReleased())
      }
    })
  )

  it.scopedLive("each client has a session of its own, which ends when it says so, and with the server", () =>
    Effect.gen(function* () {
      let open = 0
      let opened = 0
      const counting: Open = () =>
        Effect.zipRight(
          Effect.acquireRelease(
            Effect.sync(() => {
              open++
              opened++
            }),
            () =>
              Effect.sync(() => {
                open--
              })
          ),
          openSession([look])
        )
      const scope = yield* Scope.make()
      const url = yield* Scope.extend(listen(counting), scope)
      const first = yield* connect(url, { version: "2025-11-25" })
      const second = yield* connect(url, { version: "2025-06-18" })
      yield* callTool(first, "look_up", { word: "hi" })
      yield* callTool(second, "look_up", { word: "hi" })
      assert.strictEqual(opened, 2)
      assert.strictEqual(open, 2)
      yield* Effect.promise(() => (first.transport as StreamableHTTPClientTransport).terminateSession())
      yield* until(() => open === 1)
      const third = yield* connect(url, { version: modernVersion })
      yield* callTool(third, "look_up", { word: "hi" })
      yield* until(() => open === 1)
      assert.isAbove(opened, 2)
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(open, 0)
    })
  )

  it.scopedLive("what is no request of the protocol is refused with one line", () =>
    Effect.gen(function* () {
      const refused = "the workspace /nope does not exist"
      const url = yield* listen((request) =>
        request.headers.get("x-workspace") === "/nope"
          ? Effect.fail({ message: refused })
          : Effect.flatMap(openSession([look]), Effect.succeed)
      )
      const cases: ReadonlyArray<readonly [string, Record<string, string>, number, string]> = [
        ["oops", {}, 400, "expected a body of JSON"],
        ["{}", { "content-type": "text/plain" }, 415, "expected the content type application/json"],
        [endlessCall, {}, 400, "expected a session in the header Mcp-Session-Id; send initialize to open one"],
        [endlessCall, { "mcp-session-id": "x" }, 404, "there is no such session; send initialize to open one"],
        [" ".repeat(4_194_305), {}, 413, "expected a body of at most 4194304 bytes"],
        [initialize, { "x-workspace": "/nope" }, 400, refused]
      ]
      for (const [body, headers, status, message] of cases) {
        const response = yield* post(url, body, headers)
        assert.strictEqual(response.status, status, message)
        const answer = (yield* Effect.promise(() => response.json())) as {
          readonly error: { readonly message: string }
        }
        assert.strictEqual(answer.error.message, message)
      }
    })
  )

  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" }
  const inProcess = (method: string, more: Record<string, string>, body: string | null = null) =>
    new Request("http://localhost/mcp", { method, body, headers: { ...headers, ...more } })
  const idOf = (response: Response) => response.headers.get("mcp-session-id") ?? ""

  it.scoped("a client that is silent for long loses its session, unless it has a stream open", () =>
    Effect.gen(function* () {
      const handle = yield* Http.make({ ...settings, open: sharing(yield* openSession([look])) })
      const open = Effect.gen(function* () {
        const response = yield* handle(inProcess("POST", {}, initialize))
        yield* Effect.promise(() => response.text())
        return idOf(response)
      })
      const silent = yield* open
      const listening = yield* open
      const stream = yield* handle(inProcess("GET", { "mcp-session-id": listening }))
      yield* TestClock.adjust(Duration.sum(Http.idle, "2 minutes"))
      const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
      const statusFor = (id: string) =>
        Effect.map(handle(inProcess("POST", { "mcp-session-id": id }, ping)), (r) => r.status)
      assert.strictEqual(yield* statusFor(silent), 404)
      assert.strictEqual(yield* statusFor(listening), 200)
      yield* Effect.promise(() => stream.body?.cancel() ?? Promise.resolve())
    })
  )

  it.scopedLive("no more clients are let in than there is room for", () =>
    Effect.gen(function* () {
      const handle = yield* Http.make({ ...settings, open: sharing(yield* openSession([look])) })
      for (let count = 0; count < Http.maxClients; count++) {
        assert.strictEqual((yield* handle(inProcess("POST", {}, initialize))).status, 200)
      }
      assert.strictEqual((yield* handle(inProcess("POST", {}, initialize))).status, 503)
    })
  )
})
