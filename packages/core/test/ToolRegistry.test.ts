import { assert, describe, it } from "@effect/vitest"
import { InputSchema, Tool, ToolRegistry } from "@scv/core"
import * as Ajv from "ajv/dist/2020.js"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { textTool } from "./support/session.ts"

describe("ToolRegistry", () => {
  it.effect("refuses two tools of one name with a typed error", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        Effect.provide(ToolRegistry.ToolRegistry, ToolRegistry.layer([textTool({}), textTool({})]))
      )
      assert.deepInclude({ ...error }, { _tag: "DuplicateTool", tool: "echo" })
    })
  )

  it.effect("finds a tool by its name alone", () =>
    Effect.gen(function* () {
      const registry = yield* ToolRegistry.make([yield* textTool({})])
      assert.strictEqual((yield* registry.get("echo")).name, "echo")
      for (const name of ["", "ECHO", "__proto__", "constructor", "x".repeat(100_000)]) {
        assert.strictEqual((yield* Effect.flip(registry.get(name))).kind, "unknown_tool")
      }
    })
  )
})

describe("Tool.make", () => {
  it.effect("refuses a name that some client could not carry", () =>
    Effect.gen(function* () {
      for (const name of ["", "1a", "a b", "a.b", "ä", "x".repeat(65)]) {
        assert.strictEqual((yield* Effect.flip(textTool({ name })))._tag, "UnusableTool", name)
      }
    })
  )

  interface Tree {
    readonly children: ReadonlyArray<Tree>
  }
  const Tree = Schema.Struct({
    children: Schema.Array(Schema.suspend((): Schema.Schema<Tree> => Tree))
  }).annotations({ identifier: "Tree" })

  it.effect("refuses a schema that cannot be said without references, or is no object", () =>
    Effect.gen(function* () {
      const recursive = textTool({ input: Tree as never })
      const bare = textTool({ output: Schema.String as never })
      assert.match((yield* Effect.flip(recursive)).message, /recursive/)
      assert.match((yield* Effect.flip(bare)).message, /no object/)
    })
  )

  it.effect("describes its input in JSON Schema as every client takes it", () =>
    Effect.gen(function* () {
      const input = InputSchema.struct({
        title: InputSchema.required(InputSchema.nonEmpty, "A title."),
        seconds: InputSchema.optional(InputSchema.integer(1, 1800), "Seconds."),
        mode: InputSchema.optional(InputSchema.oneOf("create", "replace"), "A mode.")
      })
      const { inputSchema, outputSchema } = yield* textTool({ input: input as never })
      assert.deepStrictEqual(inputSchema, {
        type: "object",
        required: ["title"],
        properties: {
          title: { type: "string", description: "A title.", minLength: 1 },
          seconds: { type: "integer", description: "Seconds.", minimum: 1, maximum: 1800 },
          mode: { type: "string", enum: ["create", "replace"], description: "A mode." }
        },
        additionalProperties: false
      })
      const ajv = new Ajv.Ajv2020({ strict: true })
      const validate = ajv.compile(inputSchema)
      assert.isTrue(validate({ title: "a", seconds: 5 }))
      assert.isFalse(validate({ title: "a", second: 5 }))
      ajv.compile(outputSchema)
    })
  )

  it.effect("takes the services of its author's own from the context", () =>
    Effect.gen(function* () {
      class Greeting extends Effect.Tag("Greeting")<Greeting, { readonly word: string }>() {}
      const tool = yield* Tool.make({
        name: "greet",
        description: "Greets.",
        risk: "read_only",
        input: InputSchema.struct({}),
        plan: Schema.Struct({}),
        output: Schema.Struct({ word: Schema.String }),
        prepare: () => Effect.succeed({ summary: "greet", plan: {} }),
        run: () => Effect.map(Greeting, ({ word }) => ({ word }))
      }).pipe(Effect.provideService(Greeting, { word: "hello" }))
      const prepared = yield* Effect.flatten(tool.decode({}))
      const nothing = () => Effect.void
      const { output } = yield* prepared.run({
        callId: "1",
        deadline: 0,
        progress: nothing,
        partial: nothing,
        commit: nothing,
        hurry: Effect.never,
        isHurried: Effect.succeed(false)
      })
      assert.deepStrictEqual(output, { word: "hello" })
    })
  )
})
