import { assert, describe, it } from "@effect/vitest"
import { Ajv2020 } from "ajv/dist/2020.js"
import * as Effect from "effect/Effect"
import {
  callTool,
  connect,
  legacyVersions,
  modernVersion,
  openSession,
  serve,
  sessionOptions
} from "./support/served.ts"
import { absent, look, shout } from "./support/tools.ts"

const versions = [...legacyVersions, modernVersion]

describe("at every version of the protocol", () => {
  for (const version of versions) {
    it.scopedLive(`${version}: tools are listed, called, and their answers are what was advertised`, () =>
      Effect.gen(function* () {
        const served = yield* serve(yield* openSession([look, shout], { ...sessionOptions, assumeYes: true }))
        const client = yield* connect(served, { version })
        assert.strictEqual(client.getNegotiatedProtocolVersion(), version)
        const { tools } = yield* Effect.promise(() => client.listTools())
        assert.deepStrictEqual(
          tools.map(({ name }) => name),
          ["look_up", "shout"]
        )
        const ajv = new Ajv2020({ strict: true })
        const inputs = [{ word: "hi" }, { word: "nope" }, { word: "hoarse" }, { word: 7 }, { wrod: "hi" }, {}]
        for (const tool of tools) {
          const isAsAdvertised = ajv.compile(tool.outputSchema as object)
          ajv.compile(tool.inputSchema)
          for (const input of inputs) {
            const answer = yield* callTool(client, tool.name, input)
            assert.isTrue(isAsAdvertised(answer.structuredContent), JSON.stringify(isAsAdvertised.errors))
            const { status } = answer.structuredContent as { readonly status: string }
            assert.strictEqual(answer.isError ?? false, status !== "completed")
            assert.isAbove(answer.content.length, 0)
          }
        }
      })
    )
  }
})

describe("tools/list", () => {
  it.scopedLive("tells what a risk means", () =>
    Effect.gen(function* () {
      const client = yield* connect(yield* serve(yield* openSession([look, shout])))
      const { tools } = yield* Effect.promise(() => client.listTools())
      assert.deepStrictEqual(
        tools.map(({ annotations }) => annotations),
        [
          {
            title: "Look up",
            readOnlyHint: true,
            destructiveHint: false,
            idempotentHint: true,
            openWorldHint: false
          },
          { title: "Shout", readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true }
        ]
      )
    })
  )

  it.scopedLive("leaves out what cannot be called, until it can", () =>
    Effect.gen(function* () {
      let isThere = false
      const client = yield* connect(yield* serve(yield* openSession([absent(() => isThere), look])))
      const names = () => Effect.promise(async () => (await client.listTools()).tools.map(({ name }) => name))
      assert.deepStrictEqual(yield* names(), ["look_up"])
      const refused = yield* callTool(client, "absent")
      assert.isTrue(refused.isError)
      assert.deepInclude(refused.structuredContent as object, {
        status: "invalid",
        error: { kind: "unavailable", message: "absent: its program is not installed" }
      })
      isThere = true
      assert.deepStrictEqual(yield* names(), ["absent", "look_up"])
      assert.notStrictEqual((yield* callTool(client, "absent")).isError, true)
    })
  )
})

describe("tools/call", () => {
  it.scopedLive("answers with text for a model beside the envelope", () =>
    Effect.gen(function* () {
      const client = yield* connect(yield* serve(yield* openSession([look, shout])))
      const done = yield* callTool(client, "look_up", { word: "hi" })
      assert.deepStrictEqual(done.content, [
        { type: "text", text: 'look_up completed\nmeaning: part 2 of this answer\nuses: 2\nnotes: ["a","b"]' },
        { type: "text", text: "the first line\nthe second of hi" }
      ])
      assert.deepStrictEqual(done.structuredContent, {
        call_id: "1",
        tool: "look_up",
        status: "completed",
        result: { meaning: "the first line\nthe second of hi", uses: 2, notes: ["a", "b"] }
      })
      const failed = yield* callTool(client, "look_up", { word: "nope" })
      assert.isTrue(failed.isError)
      assert.deepStrictEqual(failed.content, [{ type: "text", text: "look_up failed (not_found): nope: no such word" }])
    })
  )

  it.scopedLive("answers a tool that is not there, and bad input, with an envelope that says what would be right", () =>
    Effect.gen(function* () {
      const client = yield* connect(yield* serve(yield* openSession([look])))
      const unknown = yield* callTool(client, "look_upp")
      assert.isTrue(unknown.isError)
      assert.deepInclude(unknown.structuredContent as object, {
        tool: "look_upp",
        error: {
          kind: "unknown_tool",
          message: 'no tool named "look_upp"; did you mean `look_up`?; known: look_up'
        }
      })
      const mistyped = yield* callTool(client, "look_up", { wrod: "hi" })
      assert.match(JSON.stringify(mistyped.structuredContent), /invalid_input.*unknown field `wrod`.*known: word/)
    })
  )
})
