import * as fs from "node:fs"
import * as AiTool from "@effect/ai/Tool"
import { expect, it } from "@effect/vitest"
import { SessionToolkit } from "@scv/ai"
import { InputSchema } from "@scv/core"
import { builtins } from "@scv/runtime"
import { Ajv2020 } from "ajv/dist/2020.js"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { toolCall } from "./support/model.ts"
import { generate, openSession } from "./support/session.ts"
import { greet } from "./support/tools.ts"

/** A tool whose input has all that makes a difference: what is optional, inside others, and null by itself. */
const Nested = InputSchema.struct({
  name: InputSchema.required(InputSchema.nonEmpty, "whom"),
  note: InputSchema.optional(Schema.NullOr(Schema.String), "a note, which may be null"),
  inner: InputSchema.optional(
    InputSchema.struct({ a: InputSchema.optional(InputSchema.integer(1), "a number") }),
    "an object"
  ),
  list: InputSchema.optional(
    Schema.Array(InputSchema.struct({ b: InputSchema.optional(InputSchema.text, "a text") })),
    "a list"
  )
})

const nested = (seen: Array<unknown>) =>
  greet({
    name: "nested",
    input: Nested as never,
    prepare: (input) =>
      Effect.sync(() => {
        seen.push(input)
        return { summary: "greet", plan: { name: input.name } }
      })
  })

interface Node {
  readonly type?: string
  readonly properties?: Readonly<Record<string, Node>>
  readonly required?: ReadonlyArray<string>
  readonly additionalProperties?: unknown
  readonly items?: Node
  readonly anyOf?: ReadonlyArray<Node>
}

const nodesOf = (node: Node): ReadonlyArray<Node> =>
  [node].concat(
    Object.values(node.properties ?? {}).flatMap(nodesOf),
    node.items === undefined ? [] : nodesOf(node.items),
    (node.anyOf ?? []).flatMap(nodesOf)
  )

// Source: OpenAI, "Structured Outputs", "Supported schemas".
const known =
  /^(type|description|enum|const|properties|required|additionalProperties|items|anyOf|pattern|format|multipleOf|minimum|maximum|exclusiveMinimum|exclusiveMaximum|minItems|maxItems)$/

it.scopedLive("every schema is as OpenAI's strict mode takes it", () =>
  Effect.gen(function* () {
    const { session } = yield* openSession([...builtins, greet(), nested([])])
    const { tools } = yield* SessionToolkit.make(session, { strict: true })
    expect(Object.keys(tools)).toEqual(expect.arrayContaining(["read", "write", "bash", "greet", "nested"]))
    const ajv = new Ajv2020({ strict: true })
    for (const [name, tool] of Object.entries(tools)) {
      const root = AiTool.getJsonSchema(tool) as Node
      ajv.compile(root)
      expect([name, root.type, root.anyOf]).toEqual([name, "object", undefined])
      for (const node of nodesOf(root)) {
        expect([name, Object.keys(node).filter((keyword) => !known.test(keyword))]).toEqual([name, []])
        if (node.type !== "object") continue
        expect([name, node.required, node.additionalProperties]).toEqual([
          name,
          Object.keys(node.properties ?? {}),
          false
        ])
      }
    }
  })
)

it.scopedLive("null stands for what is left out, and for null where the tool takes that", () =>
  Effect.gen(function* () {
    const seen: Array<unknown> = []
    const opened = yield* openSession([...builtins, nested(seen)])
    const strict = { toolkit: SessionToolkit.make(opened.session, { strict: true }) }
    fs.writeFileSync(`${opened.directory}/a.txt`, "hello")
    const { toolResults } = yield* generate(strict, [
      toolCall("read", { path: "a.txt", offset: null, limit: 2 }),
      toolCall("read", { path: null, offset: null, limit: null }),
      toolCall("nested", { name: "Ada", note: null, inner: null, list: null }),
      toolCall("nested", { name: "Ada", note: "x", inner: { a: null }, list: [{ b: null }, { b: "c" }] }),
      toolCall("nested", null),
      toolCall("nested", { name: "Ada", other: null })
    ])
    expect(toolResults.map(({ result }) => [result.status, result.error?.message])).toEqual([
      ["completed", undefined],
      ["invalid", expect.stringContaining("`path`: expected")],
      ["completed", undefined],
      ["completed", undefined],
      ["invalid", "input: expected a JSON object, got null"],
      ["invalid", expect.stringContaining("unknown field `other`")]
    ])
    expect(toolResults[0]?.result.result).toMatchObject({ content: "he" })
    expect(seen).toEqual([
      { name: "Ada", note: null },
      { name: "Ada", note: "x", inner: {}, list: [{}, { b: "c" }] }
    ])
  })
)
