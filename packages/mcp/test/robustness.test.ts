import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import { legacyVersions, modernVersion, openSession, serve, until } from "./support/served.ts"
import { look, shout } from "./support/tools.ts"

interface Message {
  readonly jsonrpc?: unknown
  readonly id?: unknown
  readonly result?: unknown
  readonly error?: { readonly code: number; readonly message: string }
}

/** The server's answers to some lines, once a ping after them is answered. */
const answersTo = (lines: ReadonlyArray<string>, last = "last") =>
  Effect.gen(function* () {
    const served = yield* serve(yield* openSession([look, shout]))
    for (const line of lines) served.send(line)
    served.send(JSON.stringify({ jsonrpc: "2.0", id: last, method: "ping" }))
    const messages = () => served.written.map((line): Message => JSON.parse(line))
    yield* until(() => messages().some(({ id }) => id === last))
    return messages()
  }).pipe(Logger.withMinimumLogLevel(LogLevel.None))

const initialize = JSON.stringify({
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } }
})

describe("a faulty line", () => {
  const about = (messages: ReadonlyArray<Message>, id: unknown) => messages.find((message) => message.id === id)

  it.scopedLive("does no harm to the next one", () =>
    Effect.gen(function* () {
      const lines = [
        "oops",
        "",
        "[]",
        "null",
        '"text"',
        "{",
        '{"jsonrpc":"2.0"}',
        "\u2028",
        "\ud800",
        `${"[".repeat(5000)}`
      ]
      const messages = yield* answersTo([initialize, ...lines])
      assert.deepStrictEqual(
        messages.map(({ id }) => id),
        [0, "last"]
      )
    })
  )

  it.scopedLive("is answered where it has an id, with what would be right", () =>
    Effect.gen(function* () {
      const line = (id: unknown, method: unknown, params?: unknown) =>
        JSON.stringify({ jsonrpc: "2.0", id, method, params })
      const messages = yield* answersTo([
        initialize,
        '{"id":1,"method":"ping"}',
        line("two", 7),
        line("abc", "what/ever"),
        line(4, "tools/call"),
        line(5, "tools/call", { name: 7 }),
        line(6, "tools/call", { name: "look_up", arguments: [] }),
        line(7, "tools/call", { name: "look_up" })
      ])
      const invalid = { code: -32600, message: "Invalid Request: expected one JSON-RPC 2.0 message a line" }
      assert.deepStrictEqual(about(messages, 1)?.error, invalid)
      assert.deepStrictEqual(about(messages, "two")?.error, invalid)
      assert.strictEqual(about(messages, "abc")?.error?.code, -32601)
      const invalidParams = (message: string) => ({ code: -32602, message })
      assert.deepStrictEqual(
        about(messages, 4)?.error,
        invalidParams("tools/call: params: Invalid input: expected object, received undefined")
      )
      assert.deepStrictEqual(
        about(messages, 5)?.error,
        invalidParams("tools/call: params.name: Invalid input: expected string, received number")
      )
      assert.deepStrictEqual(
        about(messages, 6)?.error,
        invalidParams("tools/call: params.arguments: Invalid input: expected record, received array")
      )
      assert.match(JSON.stringify(about(messages, 7)?.result), /invalid_input.*`word` is missing/)
    })
  )

  const json = FastCheck.letrec((tie) => ({
    value: FastCheck.oneof(
      { maxDepth: 3, depthSize: "small" },
      FastCheck.constantFrom(null, true, -1, 1.5, 1e300, "", "abc", "2.0", "\ud800", "__proto__"),
      FastCheck.integer(),
      FastCheck.string({ unit: "binary" }),
      FastCheck.array(tie("value"), { maxLength: 3 }),
      FastCheck.dictionary(FastCheck.string(), tie("value"), { maxKeys: 4 })
    )
  })).value
  const method = FastCheck.constantFrom(
    "initialize",
    "notifications/initialized",
    "notifications/cancelled",
    "notifications/progress",
    "ping",
    "tools/list",
    "tools/call",
    "resources/list",
    "server/discover",
    "subscriptions/listen",
    "logging/setLevel",
    "elicitation/create"
  )
  const meta = FastCheck.record(
    {
      progressToken: json,
      "io.modelcontextprotocol/protocolVersion": FastCheck.constantFrom(modernVersion, ...legacyVersions, 7),
      "io.modelcontextprotocol/clientInfo": FastCheck.oneof(FastCheck.constant({ name: "x", version: "1" }), json),
      "io.modelcontextprotocol/clientCapabilities": FastCheck.oneof(FastCheck.constant({ elicitation: {} }), json)
    },
    { requiredKeys: [] }
  )
  const params = FastCheck.record(
    {
      name: FastCheck.oneof(FastCheck.constantFrom("look_up", "shout", "__proto__"), json),
      arguments: FastCheck.oneof(FastCheck.constant({ word: "hi" }), json),
      protocolVersion: FastCheck.oneof(FastCheck.constantFrom(modernVersion, ...legacyVersions), json),
      capabilities: FastCheck.oneof(FastCheck.constant({ elicitation: {} }), json),
      clientInfo: FastCheck.oneof(FastCheck.constant({ name: "x", version: "1" }), json),
      requestId: json,
      requestState: json,
      inputResponses: FastCheck.oneof(FastCheck.constant({ approval: { action: "accept" } }), json),
      notifications: json,
      _meta: meta
    },
    { requiredKeys: [] }
  )
  const message = FastCheck.record(
    {
      jsonrpc: FastCheck.oneof({ weight: 9, arbitrary: FastCheck.constant("2.0") }, { weight: 1, arbitrary: json }),
      id: FastCheck.oneof(FastCheck.integer(), FastCheck.string(), json),
      method: FastCheck.oneof({ weight: 9, arbitrary: method }, { weight: 1, arbitrary: json }),
      params: FastCheck.oneof({ weight: 9, arbitrary: params }, { weight: 1, arbitrary: json }),
      result: json,
      error: json
    },
    { requiredKeys: ["jsonrpc"] }
  )
  const line = FastCheck.oneof(
    { weight: 8, arbitrary: message.map((value) => JSON.stringify(value)) },
    { weight: 1, arbitrary: json.map((value) => JSON.stringify(value)) },
    { weight: 1, arbitrary: FastCheck.string({ unit: "binary" }) }
  )

  it.scopedLive(
    "of any kind breaks nothing: a ping is answered, and all that is written is the protocol",
    () =>
      Effect.gen(function* () {
        const runs = FastCheck.sample(FastCheck.array(line, { maxLength: 25 }), 60)
        for (const lines of runs) {
          const messages = yield* Effect.scoped(answersTo(lines, "the last ping of all"))
          for (const { error, jsonrpc } of messages) {
            assert.strictEqual(jsonrpc, "2.0")
            // An internal error would be a fault of ours.
            assert.notStrictEqual(error?.code, -32603, error?.message.slice(0, 200))
          }
        }
      }),
    60_000
  )
})
