import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Approval, InputSchema, Session, Tool, ToolStatus, Workspace } from "@scv/core"
import { builtins, LocalSession } from "@scv/runtime"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { envelopeOf, linesOf, makeWorkspace, runInProcess } from "./support/scv.ts"

/** A tool of somebody else's, which needs the workspace and asks before it runs. */
const shout = Effect.flatMap(Workspace.Workspace, (workspace) =>
  Tool.make({
    name: "shout",
    description: "Says it loudly.",
    risk: "process",
    input: InputSchema.struct({ word: InputSchema.required(InputSchema.nonEmpty, "what to shout") }),
    plan: Schema.Struct({ word: Schema.String }),
    output: Schema.Struct({ shouted: Schema.String, where: Schema.String }),
    prepare: ({ word }) => Effect.succeed({ summary: `shout ${word}`, plan: { word: word.toUpperCase() } }),
    run: ({ word }) => Effect.succeed({ shouted: word, where: workspace.path })
  })
)

const offered = [...builtins, shout]

describe("a tool of somebody else's", () => {
  it.scopedLive("is called by scv call", () =>
    Effect.gen(function* () {
      const workspace = yield* makeWorkspace
      const args = ["call", "shout", '{"word":"hi"}', "--workspace", workspace]
      const asked = yield* runInProcess(args, offered)
      assert.deepInclude(envelopeOf(asked), { tool: "shout", status: "denied" })
      assert.include(asked.stderr, "shout hi")
      const answered = yield* runInProcess([...args, "--yes"], offered)
      assert.strictEqual(answered.code, 0)
      assert.deepInclude(envelopeOf(answered), { status: "completed", result: { shouted: "HI", where: workspace } })
    })
  )

  it.scopedLive("is listed by scv tools", () =>
    Effect.gen(function* () {
      const listed = yield* runInProcess(["tools"], offered)
      assert.match(listed.stdout, /^shout +process +Says it loudly\.$/m)
      const { tools } = JSON.parse((yield* runInProcess(["tools", "--json"], offered)).stdout)
      assert.deepInclude(tools.at(-1), { name: "shout", risk: "process", available: true })
    })
  )

  it.scopedLive("is called by scv session", () =>
    Effect.gen(function* () {
      const line = '{"type":"call","id":"a","tool":"shout","input":{"word":"hi"}}\n'
      const ended = yield* runInProcess(["session", "--yes"], offered, line)
      assert.deepInclude(linesOf(ended).at(-1)?.result as object, { status: "completed" })
    })
  )

  it.scopedLive("may not take the name of another", () =>
    Effect.gen(function* () {
      const ended = yield* runInProcess(["tools"], [...offered, shout])
      assert.strictEqual(ended.code, 2)
      assert.include(ended.stderr, 'there is already a tool named "shout"')
    })
  )
})

describe("every tool", { timeout: 120_000 }, () => {
  const oddKey = FastCheck.constantFrom("path", "offset", "limit", "__proto__", "constructor", "toString", "\ud800", "")
  const oddText = FastCheck.oneof(
    FastCheck.string({ unit: "binary" }),
    FastCheck.constantFrom(
      ".",
      "..",
      "/",
      "a",
      "a/b",
      "\0",
      "\ud800",
      "x".repeat(5000),
      "../../etc/passwd",
      "/proc/self/mem"
    )
  )
  const odd = FastCheck.letrec((tie) => ({
    value: FastCheck.oneof(
      { maxDepth: 4, depthSize: "small" },
      FastCheck.constantFrom(null, true, 0, -1, 1.5, 1e300, Number.MAX_SAFE_INTEGER),
      FastCheck.integer(),
      oddText,
      FastCheck.array(tie("value"), { maxLength: 4 }),
      FastCheck.dictionary(FastCheck.oneof(oddKey, FastCheck.string()), tie("value"), { maxKeys: 5 })
    )
  })).value
  const likely = FastCheck.record(
    { path: oddText, offset: FastCheck.oneof(FastCheck.integer(), odd), limit: FastCheck.oneof(FastCheck.nat(), odd) },
    { requiredKeys: [] }
  )
  const deep = FastCheck.integer({ min: 1, max: 20_000 }).map((depth) =>
    JSON.parse(`${"[".repeat(depth)}${"]".repeat(depth)}`)
  )
  const isStatus = Schema.is(ToolStatus)

  it.scopedLive("answers any JSON with a documented status, and never breaks", () =>
    Effect.gen(function* () {
      const workspace = yield* makeWorkspace
      fs.mkdirSync(path.join(workspace, "a"))
      fs.writeFileSync(path.join(workspace, "a/b"), "text")
      const live = yield* Session.make({ surface: "test", policy: "never" }).pipe(
        Effect.provide(Layer.merge(LocalSession.single({ workspace }, builtins), Approval.unattended))
      )
      const inputs = FastCheck.sample(FastCheck.oneof(odd, likely, deep), 1500)
      for (const input of inputs) {
        for (const { name } of live.tools) {
          const result = yield* live.call({ tool: name, input })
          assert.isTrue(isStatus(result.status))
          assert.notStrictEqual(result.error?.kind, "internal", name)
          assert.notMatch(result.error?.message ?? "", /[\n\u001b]/)
        }
      }
    })
  )
})
