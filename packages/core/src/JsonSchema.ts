/**
 * JSON Schema (draft 2020-12) of a tool's input or output, in the form that every client takes: inlined, without `$ref`
 * or `$defs`, closed objects, no titles.
 */
import * as Effect from "effect/Effect"
import * as EffectJsonSchema from "effect/JSONSchema"
import * as Schema from "effect/Schema"
import type { Json, JsonObject } from "./Json.ts"

/** A schema that JSON Schema cannot express without references, or that is no object. */
export class UnusableSchema extends Schema.TaggedError<UnusableSchema>()("UnusableSchema", {
  message: Schema.String
}) {}

// `title` is noise from the library's own checks; a property may be called "title", so names are not touched.
const tidy = (node: Json, isProperties = false): Json => {
  if (Array.isArray(node)) return node.map((item) => tidy(item))
  if (typeof node !== "object" || node === null) return node
  const entries = Object.entries(node).flatMap(([key, value]): Array<[string, Json]> => {
    if (isProperties) return [[key, tidy(value)]]
    if (key === "title") return []
    if (key === "$id" && typeof value === "string" && value.startsWith("/schemas/")) return []
    if (key === "required" && Array.isArray(value) && value.length === 0) return []
    return [[key, tidy(value, key === "properties")]]
  })
  return Object.fromEntries(entries)
}

const mentions = (node: Json, key: string): boolean => {
  if (Array.isArray(node)) return node.some((item) => mentions(item, key))
  if (typeof node !== "object" || node === null) return false
  return Object.entries(node).some(([name, value]) => name === key || mentions(value, key))
}

/** The JSON Schema of what a schema takes as input (its encoded side). Fails where it is no object or needs `$ref`. */
export const of = <A, I, R>(schema: Schema.Schema<A, I, R>): Effect.Effect<JsonObject, UnusableSchema> =>
  Effect.try({
    try: () => {
      const definitions: Record<string, EffectJsonSchema.JsonSchema7> = {}
      const emitted = EffectJsonSchema.fromAST(schema.ast, {
        definitions,
        target: "jsonSchema2020-12",
        topLevelReferenceStrategy: "skip"
      })
      return tidy(emitted as unknown as Json)
    },
    catch: (error) => new UnusableSchema({ message: String(error).split("\n", 1)[0] ?? "" })
  }).pipe(
    Effect.filterOrFail(
      (json): json is JsonObject =>
        typeof json === "object" && json !== null && "type" in json && json.type === "object",
      () => new UnusableSchema({ message: "the schema is no object" })
    ),
    Effect.filterOrFail(
      (json) => !mentions(json, "$ref"),
      () => new UnusableSchema({ message: "the schema needs $ref: it is recursive" })
    )
  )
