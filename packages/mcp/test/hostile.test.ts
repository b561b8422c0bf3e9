import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import { Http } from "../src/index.ts"
import { modernVersion, openSession, serve, sessionOptions, settings, until } from "./support/served.ts"
import { endless, look, shout } from "./support/tools.ts"

interface Message {
  readonly id?: unknown
  readonly result?: { readonly structuredContent?: { readonly status: string }; readonly requestState?: string }
  readonly error?: { readonly code: number; readonly message: string }
}

const line = (id: unknown, method: string, params: object = {}) =>
  JSON.stringify({ jsonrpc: "2.0", id, method, params })

const call = (id: unknown, name: string, input: object = {}) => line(id, "tools/call", { name, arguments: input })

const initialize = (capabilities: object = {}, id = 0) =>
  line(id, "initialize", {
    protocolVersion: "2025-11-25",
    capabilities,
    clientInfo: { name: "hostile", version: "1" }
  })

const cancel = (requestId: unknown) => line(undefined, "notifications/cancelled", { requestId })

const statusOf = (message: Message | undefined) => message?.result?.structuredContent?.status

describe("on lines, a client that", () => {
  const talk = (tools: Parameters<typeof openSession>[0]) =>
    Effect.gen(function* () {
      const session = yield* openSession(tools, { ...sessionOptions, assumeYes: true })
      const served = yield* serve(session)
      served.send(initialize())
      const answers = (id: unknown) =>
        served.written.map((text): Message => JSON.parse(text)).filter((message) => message.id === id)
      const answered = (id: unknown, count = 1) => until(() => answers(id).length === count)
      yield* answered(0)
      return { session, served, answers, answered }
    })

  it.scopedLive("cancels what there is not changes nothing", () =>
    Effect.gen(function* () {
      const running = yield* endless
      const { answered, answers, served, session } = yield* talk([running.tool, look])
      served.send(call(1, "endless"))
      yield* running.started
      for (const id of [99, "1", 0, null, {}, undefined, -1, 1.5, "__proto__"]) served.send(cancel(id))
      served.send(line(2, "ping"))
      yield* answered(2)
      assert.deepStrictEqual(yield* session.live, ["1"])
      yield* running.release
      served.send(cancel(1))
      yield* session.idle
      assert.isEmpty(answers(1))
      served.send(cancel(1))
      served.send(call(3, "look_up", { word: "hi" }))
      yield* answered(3)
      assert.strictEqual(statusOf(answers(3)[0]), "completed")
    })
  )

  it.scopedLive("gives an id twice is refused the second time, and can cancel the first call", () =>
    Effect.gen(function* () {
      const running = yield* endless
      const { answered, answers, served, session } = yield* talk([running.tool, look])
      served.send(call(1, "endless"))
      yield* running.started
      served.send(call(1, "look_up", { word: "hi" }))
      yield* answered(1)
      assert.deepStrictEqual(answers(1)[0]?.error, {
        code: -32600,
        message: "Invalid Request: the id 1 is that of a request that has not been answered yet"
      })
      assert.deepStrictEqual(yield* session.live, ["1"])
      yield* running.release
      served.send(cancel(1))
      yield* session.idle
      assert.isTrue(running.isReleased())
      // An id that is done with may come again.
      served.send(call(1, "look_up", { word: "hi" }))
      yield* answered(1, 2)
      assert.strictEqual(statusOf(answers(1)[1]), "completed")
    }).pipe(Logger.withMinimumLogLevel(LogLevel.None))
  )

  it.scopedLive("initialises again and again has one session still", () =>
    Effect.gen(function* () {
      const { answered, answers, served } = yield* talk([look])
      for (let id = 2; id < 20; id++) served.send(initialize({}, id))
      served.send(call(1, "look_up", { word: "hi" }))
      yield* answered(1)
      assert.strictEqual(statusOf(answers(1)[0]), "completed")
    })
  )
})

describe("at the newest version, an approval", () => {
  const params = (word: string, more: object = {}) => ({
    name: "shout",
    arguments: { word },
    ...more,
    _meta: {
      "io.modelcontextprotocol/protocolVersion": modernVersion,
      "io.modelcontextprotocol/clientInfo": { name: "hostile", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": { elicitation: {} }
    }
  })

  it.scopedLive("counts once", () =>
    Effect.gen(function* () {
      const served = yield* serve(yield* openSession([shout]))
      let count = 0
      const ask = (given: object) =>
        Effect.gen(function* () {
          const id = `r${++count}`
          served.send(line(id, "tools/call", given))
          const find = () => served.written.map((text): Message => JSON.parse(text)).find((answer) => answer.id === id)
          yield* until(() => find() !== undefined)
          return find()
        })
      const approving = (requestState: string | undefined) => ({
        requestState,
        inputResponses: { approval: { action: "accept", content: {} } }
      })
      const stateOf = (asked: Message | undefined) => asked?.result?.requestState
      const first = stateOf(yield* ask(params("hi")))
      assert.strictEqual(statusOf(yield* ask(params("hi", approving(first)))), "completed")
      const again = yield* ask(params("hi", approving(first)))
      assert.strictEqual(statusOf(again), "denied")
      assert.include(JSON.stringify(again), "was used already")
      // One that was refused for another plan is used, too.
      const second = stateOf(yield* ask(params("hi")))
      assert.strictEqual(statusOf(yield* ask(params("other", approving(second)))), "denied")
      assert.strictEqual(statusOf(yield* ask(params("hi", approving(second)))), "denied")
    })
  )
})

describe("over HTTP, a client that", () => {
  const accept = "application/json, text/event-stream"
  const request = (body: string | null, more: Record<string, string> = {}, method = "POST", signal?: AbortSignal) =>
    new Request("http://localhost/mcp", {
      method,
      body,
      headers: { "content-type": "application/json", accept, ...more },
      ...(signal === undefined ? {} : { signal })
    })

  const open = (tools: Parameters<typeof openSession>[0], capabilities: object = {}) =>
    Effect.gen(function* () {
      const session = yield* openSession(tools, { ...sessionOptions, assumeYes: capabilities === undefined })
      const handle = yield* Http.make({ ...settings, open: () => Effect.succeed(session) })
      const opened = yield* handle(request(initialize(capabilities)))
      yield* Effect.promise(() => opened.text())
      const own = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" }
      return { handle, own, session }
    })

  it.scopedLive("initialises many times at once gets no more sessions than there may be", () =>
    Effect.gen(function* () {
      let count = 0
      const session = yield* openSession([look])
      const handle = yield* Http.make({
        ...settings,
        open: () =>
          Effect.delay(
            Effect.as(
              Effect.sync(() => count++),
              session
            ),
            "100 millis"
          )
      })
      const answers = yield* Effect.replicateEffect(
        Effect.suspend(() => handle(request(initialize()))),
        Http.maxClients + 20,
        {
          concurrency: "unbounded"
        }
      )
      assert.lengthOf(
        answers.filter(({ status }) => status === 200),
        Http.maxClients
      )
      assert.lengthOf(
        answers.filter(({ status }) => status === 503),
        20
      )
      assert.strictEqual(count, Http.maxClients)
    })
  )

  it.scopedLive("gives an id twice is refused the second time, and gets the answer to the first", () =>
    Effect.gen(function* () {
      const running = yield* endless
      const { handle, own, session } = yield* open([running.tool, look])
      const first = yield* handle(request(call(1, "endless"), own))
      yield* running.started
      const second = yield* handle(request(call(1, "look_up", { word: "hi" }), own))
      assert.strictEqual(second.status, 400)
      assert.include(yield* Effect.promise(() => second.text()), "the id 1 is that of a request that")
      yield* running.release
      yield* Effect.flatMap(session.live, Effect.forEach(session.cancel))
      assert.include(yield* Effect.promise(() => first.text()), '"status":"cancelled"')
      const third = yield* handle(request(call(1, "look_up", { word: "hi" }), own))
      assert.include(yield* Effect.promise(() => third.text()), '"status":"completed"')
    })
  )

  it.scopedLive("cancels what there is not changes nothing", () =>
    Effect.gen(function* () {
      const { handle, own } = yield* open([look])
      for (const id of [99, "x", null, undefined]) yield* handle(request(cancel(id), own))
      const answer = yield* handle(request(call(1, "look_up", { word: "hi" }), own))
      assert.include(yield* Effect.promise(() => answer.text()), '"status":"completed"')
    })
  )

  it.scopedLive("leaves while it is asked leaves no question and no call", () =>
    Effect.gen(function* () {
      const { handle, own, session } = yield* open([shout], { elicitation: {} })
      const answer = yield* handle(request(call(1, "shout", { word: "hi" }), own))
      const reader = answer.body!.getReader()
      const { value } = yield* Effect.promise(() => reader.read())
      assert.include(new TextDecoder().decode(value), "elicitation/create")
      assert.lengthOf(yield* session.approvals, 1)
      yield* Effect.promise(() => reader.cancel())
      yield* session.idle
      assert.isEmpty(yield* session.approvals)
    })
  )

  it.scopedLive("answers a question that was not asked of it decides nothing", () =>
    Effect.gen(function* () {
      const { handle, own, session } = yield* open([shout], { elicitation: {} })
      const other = yield* handle(request(initialize({ elicitation: {} })))
      yield* Effect.promise(() => other.text())
      const strangers = { "mcp-session-id": other.headers.get("mcp-session-id") ?? "" }
      const answer = yield* handle(request(call(1, "shout", { word: "hi" }), own))
      const reader = answer.body!.getReader()
      const { value } = yield* Effect.promise(() => reader.read())
      const { id } = JSON.parse(/^data: (.*)$/m.exec(new TextDecoder().decode(value))?.[1] ?? "")
      const yes = JSON.stringify({ jsonrpc: "2.0", id, result: { action: "accept", content: {} } })
      yield* handle(request(yes, strangers))
      yield* handle(request(JSON.stringify({ jsonrpc: "2.0", id: 999, result: { action: "accept" } }), own))
      assert.lengthOf(yield* session.approvals, 1)
      yield* handle(request(yes, own))
      yield* session.idle
      assert.include(new TextDecoder().decode((yield* Effect.promise(() => reader.read())).value), '"completed"')
    })
  )

  it.scopedLive("uses another method is refused", () =>
    Effect.gen(function* () {
      const { handle, own } = yield* open([look])
      for (const method of ["PUT", "PATCH", "OPTIONS", "HEAD"]) {
        const { status } = yield* handle(request(null, own, method))
        assert.strictEqual(status, 405, method)
      }
      for (const method of ["GET", "DELETE"]) {
        assert.strictEqual((yield* handle(request(null, {}, method))).status, 400, method)
        assert.strictEqual((yield* handle(request(null, { "mcp-session-id": "x" }, method))).status, 404, method)
      }
    })
  )

  const json = FastCheck.letrec((tie) => ({
    value: FastCheck.oneof(
      { maxDepth: 3, depthSize: "small" },
      FastCheck.constantFrom(null, true, -1, 1.5, 1e300, "", "2.0", "\ud800", "__proto__"),
      FastCheck.string({ unit: "binary" }),
      FastCheck.array(tie("value"), { maxLength: 3 }),
      FastCheck.dictionary(FastCheck.string(), tie("value"), { maxKeys: 4 })
    )
  })).value
  const message = FastCheck.record(
    {
      jsonrpc: FastCheck.oneof(FastCheck.constant("2.0"), json),
      id: FastCheck.oneof(FastCheck.integer({ min: 10, max: 1e9 }), json),
      method: FastCheck.oneof(FastCheck.constantFrom("initialize", "ping", "tools/list", "tools/call"), json),
      params: FastCheck.oneof(
        FastCheck.record({ name: FastCheck.constantFrom("look_up", "shout"), arguments: json, _meta: json }),
        json
      ),
      result: json
    },
    { requiredKeys: [] }
  )
  const headers = FastCheck.record(
    {
      "mcp-protocol-version": FastCheck.constantFrom(modernVersion, "2025-11-25", "1999-01-01", "x"),
      "mcp-method": FastCheck.constantFrom("tools/call", "ping", "x"),
      "mcp-name": FastCheck.constantFrom("look_up", "x"),
      accept: FastCheck.constantFrom(accept, "application/json", "*/*", "text/html"),
      "last-event-id": FastCheck.constantFrom("x", "1")
    },
    { requiredKeys: [] }
  )

  it.scopedLive("sends anything breaks nothing", () =>
    Effect.gen(function* () {
      const { handle, own, session } = yield* open([look, shout])
      const bodies = FastCheck.sample(FastCheck.oneof(message, FastCheck.array(message, { maxLength: 3 }), json), 400)
      const samples = FastCheck.sample(headers, bodies.length)
      for (const [index, body] of bodies.entries()) {
        const ours = index % 2 === 0 ? own : {}
        const answer = yield* handle(request(JSON.stringify(body), { ...ours, ...samples[index] } as never))
        assert.isBelow(answer.status, 500)
        // A stream that waits for more is left.
        yield* Effect.timeoutOption(
          Effect.tryPromise(() => answer.text()),
          "50 millis"
        ).pipe(Effect.ignore, Effect.fork, Effect.flatMap(Fiber.await))
      }
      const after = yield* handle(request(call(1, "look_up", { word: "hi" }), own))
      assert.include(yield* Effect.promise(() => after.text()), '"status":"completed"')
      yield* session.idle
    })
  )
})
