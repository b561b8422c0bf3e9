import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import {
  callTool,
  connect,
  legacyVersions,
  makeClient,
  modernVersion,
  openSession,
  type Served,
  serve,
  until
} from "./support/served.ts"
import { look, shifting, shout } from "./support/tools.ts"

// Elicitation is there since 2025-06-18.
const asking = [...legacyVersions.filter((version) => version >= "2025-06-18"), modernVersion]

const statusOf = (answer: { readonly structuredContent?: unknown }) =>
  (answer.structuredContent as { readonly status: string }).status

const messageOf = (answer: { readonly structuredContent?: unknown }) =>
  (answer.structuredContent as { readonly error?: { readonly message: string } }).error?.message

describe("a question", () => {
  for (const version of asking) {
    it.scopedLive(`${version}: is shown to the client's user, whose answer counts`, () =>
      Effect.gen(function* () {
        const session = yield* openSession([look, shout])
        const asked: Array<string> = []
        const actions = ["accept", "decline", "cancel"]
        const elicited = (message: string) => {
          asked.push(message)
          return { action: actions.shift(), ...(actions.length === 2 ? { content: {} } : {}) }
        }
        const client = yield* connect(yield* serve(session), { version, elicited })
        const yes = yield* callTool(client, "shout", { word: "hi" })
        assert.deepInclude(yes.structuredContent as object, { status: "completed", result: { shouted: "HI" } })
        assert.deepStrictEqual(asked, [
          `approval needed for shout (risk: process)\nshout hi\\u{202e}\n  workspace: ${session.workspace}`
        ])
        const no = yield* callTool(client, "shout", { word: "hi" })
        assert.strictEqual(messageOf(no), "shout was denied: answered no")
        const dismissed = yield* callTool(client, "shout", { word: "hi" })
        assert.strictEqual(messageOf(dismissed), "shout was denied: the question was dismissed")
        assert.isTrue(no.isError === true && dismissed.isError === true)
        assert.lengthOf(asked, 3)
        assert.strictEqual(statusOf(yield* callTool(client, "look_up", { word: "hi" })), "completed")
        assert.lengthOf(asked, 3)
        assert.deepStrictEqual(yield* session.live, [])
      })
    )
  }

  for (const version of [...legacyVersions, modernVersion]) {
    it.scopedLive(`${version}: is denied where the client cannot be asked, and the denial says how to allow it`, () =>
      Effect.gen(function* () {
        const client = yield* connect(yield* serve(yield* openSession([shout])), { version })
        const denied = yield* callTool(client, "shout", { word: "hi" })
        assert.strictEqual(messageOf(denied), "shout was denied: nobody to ask; use --yes")
        assert.isTrue(denied.isError)
      })
    )
  }

  for (const version of ["2025-11-25", modernVersion]) {
    it.scopedLive(`${version}: stays open for others where they may answer it`, () =>
      Effect.gen(function* () {
        const session = yield* openSession([shout])
        const client = yield* connect(yield* serve(session, { unaskable: undefined }), { version })
        const call = yield* Effect.fork(callTool(client, "shout", { word: "hi" }))
        let open: ReadonlyArray<{ readonly approval_id: string }> = []
        yield* Effect.repeat(
          Effect.tap(session.approvals, (questions) => Effect.sync(() => (open = questions))),
          { until: (questions) => questions.length === 1 }
        )
        yield* session.answer(open[0]?.approval_id ?? "", { decision: "approve", by: "somebody" })
        assert.strictEqual(statusOf(yield* Fiber.join(call)), "completed")
      })
    )
  }

  it.scopedLive("is denied when the client makes an error of it, or answers something else", () =>
    Effect.gen(function* () {
      for (const version of ["2025-11-25", modernVersion]) {
        const elicited = () => ({ action: "maybe" })
        const client = yield* connect(yield* serve(yield* openSession([shout])), { version, elicited })
        const answer = yield* Effect.tryPromise(() =>
          client.callTool({ name: "shout", arguments: { word: "hi" } })
        ).pipe(
          Effect.map(statusOf),
          // At the newest version the client itself refuses to send such an answer.
          Effect.orElseSucceed(() => "refused by the client")
        )
        assert.strictEqual(answer, version === modernVersion ? "refused by the client" : "denied")
      }
    })
  )

  it.scopedLive("is denied when nobody answers it in time", () =>
    Effect.gen(function* () {
      const elicited = () => new Promise(() => {})
      const client = yield* connect(yield* serve(yield* openSession([shout]), { questionSeconds: 0.05 }), { elicited })
      assert.match(messageOf(yield* callTool(client, "shout", { word: "hi" })) ?? "", /gave no answer within 0.05 s/)
    })
  )

  it.scopedLive("is closed at the client when the call is cancelled", () =>
    Effect.gen(function* () {
      let isAsked = false
      const session = yield* openSession([shout])
      const served = yield* serve(session)
      const client = makeClient({ elicited: () => ({ action: "accept" }) })
      let isClosed = false
      client.setRequestHandler("elicitation/create", (_, { mcpReq }) => {
        isAsked = true
        return new Promise(() => {
          mcpReq.signal.addEventListener("abort", () => {
            isClosed = true
          })
        })
      })
      const { LineTransport } = yield* Effect.promise(() => import("../src/LineTransport.ts"))
      const transport = new LineTransport(
        async (line) => served.send(line.trimEnd()),
        () => {}
      )
      served.onLine((line) => transport.receive(line))
      yield* Effect.promise(() => client.connect(transport))
      const controller = new AbortController()
      client.callTool({ name: "shout", arguments: { word: "hi" } }, { signal: controller.signal }).catch(() => {})
      yield* until(() => isAsked)
      controller.abort()
      yield* until(() => isClosed)
      yield* session.idle
    })
  )
})

describe("a question at the newest version", () => {
  /** The params of a `tools/call` by hand, with what such a client says of itself in each request. */
  const params = (name: string, input: object, more: object = {}) => ({
    name,
    arguments: input,
    ...more,
    _meta: {
      "io.modelcontextprotocol/protocolVersion": modernVersion,
      "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": { elicitation: {} }
    }
  })

  interface Reply {
    readonly result: {
      readonly resultType: string
      readonly requestState: string
      readonly inputRequests: Readonly<Record<string, { readonly method: string }>>
      readonly structuredContent: { readonly status: string; readonly error?: { readonly message: string } }
    }
    readonly error?: { readonly code: number; readonly message: string }
  }

  const request = (served: Served, id: string, call: object) =>
    Effect.gen(function* () {
      served.send(JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: call }))
      const find = () => served.written.find((line) => JSON.parse(line).id === id)
      yield* until(() => find() !== undefined)
      return JSON.parse(find() ?? "") as Reply
    })

  const accepted = { approval: { action: "accept", content: {} } }

  it.scopedLive("is a round, and its answer counts for the very same plan", () =>
    Effect.gen(function* () {
      const session = yield* openSession([shout])
      const served = yield* serve(session)
      const first = yield* request(served, "1", params("shout", { word: "hi" }))
      assert.strictEqual(first.result.resultType, "input_required")
      assert.strictEqual(first.result.inputRequests.approval?.method, "elicitation/create")
      // Nothing waits meanwhile: others can use the session.
      assert.deepStrictEqual(yield* session.live, [])
      const { requestState } = first.result
      const second = yield* request(
        served,
        "2",
        params("shout", { word: "hi" }, { requestState, inputResponses: accepted })
      )
      assert.strictEqual(second.result.structuredContent.status, "completed")
      const again = yield* request(served, "3", params("shout", { word: "hi" }))
      const other = yield* request(
        served,
        "4",
        params("shout", { word: "other" }, { requestState: again.result.requestState, inputResponses: accepted })
      )
      assert.match(other.result.structuredContent.error?.message ?? "", /has changed since it was approved/)
    })
  )

  it.scopedLive("refuses a plan that has changed since", () =>
    Effect.gen(function* () {
      const served = yield* serve(yield* openSession([yield* shifting]))
      const { result } = yield* request(served, "1", params("shifting", {}))
      const { requestState } = result
      const second = yield* request(served, "2", params("shifting", {}, { requestState, inputResponses: accepted }))
      assert.strictEqual(second.result.structuredContent.status, "denied")
    })
  )

  it.scopedLive("takes no state but its own, and asks again where the answer is missing", () =>
    Effect.gen(function* () {
      const served = yield* serve(yield* openSession([shout]))
      const { result } = yield* request(served, "1", params("shout", { word: "hi" }))
      const forged = `${result.requestState.slice(0, -4)}AAAA`
      const refused = yield* request(
        served,
        "2",
        params("shout", { word: "hi" }, { requestState: forged, inputResponses: accepted })
      )
      assert.strictEqual(refused.error?.code, -32602)
      const bare = yield* request(served, "3", params("shout", { word: "hi" }, { inputResponses: accepted }))
      assert.strictEqual(bare.result.resultType, "input_required")
      const unanswered = yield* request(
        served,
        "4",
        params("shout", { word: "hi" }, { requestState: result.requestState })
      )
      assert.strictEqual(unanswered.result.resultType, "input_required")
    })
  )
})
