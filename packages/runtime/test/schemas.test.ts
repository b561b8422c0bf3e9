import { expect, it } from "@effect/vitest"
import { Approval, type Tool } from "@scv/core"
import { builtins, LocalSession } from "@scv/runtime"
import { Ajv2020 } from "ajv/dist/2020.js"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** What a model provider takes as a tool: its documentation, and what its service refuses with an error. */
interface Provider {
  readonly name: RegExp
  readonly description: number
  readonly property: RegExp
  /** The words of a schema. Undefined: all of the standard. */
  readonly keywords: ReadonlySet<string> | undefined
}

const providers: Record<string, Provider> = {
  // Function calling, and Structured Outputs, "Supported schemas". Strict mode is more than this: see docs/ai.md.
  OpenAI: { name: /^[a-zA-Z0-9_-]{1,64}$/, description: 1024, property: /./, keywords: undefined },
  // Messages API, `tools`; the service's own pattern for the names of properties.
  Anthropic: {
    name: /^[a-zA-Z0-9_-]{1,64}$/,
    description: Number.POSITIVE_INFINITY,
    property: /^[a-zA-Z0-9_.-]{1,64}$/,
    keywords: undefined
  },
  // FunctionDeclaration and Schema; `additionalProperties` where the schema is given as `parametersJsonSchema`.
  Gemini: {
    name: /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/,
    description: Number.POSITIVE_INFINITY,
    property: /^[a-zA-Z_][a-zA-Z0-9_]{0,63}$/,
    keywords: new Set([
      "additionalProperties",
      "anyOf",
      "default",
      "description",
      "enum",
      "format",
      "items",
      "maxItems",
      "maxLength",
      "maximum",
      "minItems",
      "minLength",
      "minimum",
      "nullable",
      "pattern",
      "properties",
      "required",
      "title",
      "type"
    ])
  }
}

interface Node {
  readonly type?: unknown
  readonly enum?: ReadonlyArray<unknown>
  readonly properties?: Readonly<Record<string, Node>>
  readonly items?: Node
  readonly anyOf?: ReadonlyArray<Node>
  readonly additionalProperties?: unknown
  readonly required?: ReadonlyArray<string>
}

const nodesOf = (node: Node): ReadonlyArray<Node> => [
  node,
  ...[...Object.values(node.properties ?? {}), ...(node.items === undefined ? [] : [node.items])].flatMap(nodesOf),
  ...(node.anyOf ?? []).flatMap(nodesOf)
]

const faultsOf = (tool: Tool.Tool, provider: Provider): ReadonlyArray<string> => {
  const faults: Array<string> = []
  const check = (holds: boolean, fault: string) => {
    if (!holds) faults.push(fault)
  }
  const root = tool.inputSchema as Node
  check(provider.name.test(tool.name), "its name")
  check(tool.description.length > 0 && tool.description.length <= provider.description, "its description")
  check(root.type === "object" && root.properties !== undefined, "it is no object with properties")
  for (const word of ["anyOf", "oneOf", "allOf", "not", "enum"]) check(!(word in root), `${word} at the top`)
  for (const node of nodesOf(root)) {
    for (const word of Object.keys(node)) check(provider.keywords?.has(word) !== false, `the keyword ${word}`)
    for (const name of Object.keys(node.properties ?? {})) check(provider.property.test(name), `the property ${name}`)
    check(typeof node.type === "string" || node.anyOf !== undefined, "a value without one type")
    check(node.type !== "array" || node.items !== undefined, "an array without items")
    check(node.type !== "object" || node.additionalProperties === false, "an open object")
    check(
      node.enum === undefined || (node.type === "string" && node.enum.every((word) => typeof word === "string")),
      "an enum of something else than text"
    )
    for (const name of node.required ?? []) check(name in (node.properties ?? {}), `${name} is required and not there`)
  }
  return faults
}

const toolsHere = Effect.gen(function* () {
  const services = Layer.merge(LocalSession.single({ workspace: "." }, builtins), Approval.denying("only listed"))
  return (yield* Effect.provide(LocalSession.make(), yield* Layer.build(services))).tools
})

it.scopedLive("a strict validator of draft 2020-12 takes the schemas of every tool", () =>
  Effect.gen(function* () {
    const tools = yield* toolsHere
    expect(tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["read", "write", "bash", "agent_codex", "agent_claude", "agent_pi", "read_skill"])
    )
    const ajv = new Ajv2020({ strict: true, allErrors: true })
    for (const { inputSchema, name, outputSchema } of tools) {
      for (const schema of [inputSchema, outputSchema]) {
        expect([name, ajv.validateSchema(schema), ajv.errors]).toEqual([name, true, null])
        ajv.compile(schema)
      }
    }
  })
)

it.scopedLive.each(Object.entries(providers))("%s takes the input of every tool", ([, provider]) =>
  Effect.gen(function* () {
    for (const tool of yield* toolsHere) expect([tool.name, faultsOf(tool, provider)]).toEqual([tool.name, []])
  })
)
