/**
 * The input of a tool as OpenAI's strict mode takes it: no property may be left out there, so null stands for one that is,
 * and only some keywords are known. Source: OpenAI, "Structured Outputs", "Supported schemas".
 */
import type { JsonObject } from "@scv/core"

const keywords = new Set([
  "type",
  "description",
  "enum",
  "const",
  "properties",
  "required",
  "additionalProperties",
  "items",
  "anyOf",
  "pattern",
  "format",
  "multipleOf",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "minItems",
  "maxItems"
])

const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const propertiesOf = ({ properties }: JsonObject): JsonObject => (isObject(properties) ? properties : {})

const isRequired = ({ required }: JsonObject, name: string): boolean =>
  Array.isArray(required) && required.includes(name)

const takesNull = (schema: JsonObject): boolean =>
  schema.type === "null" || (Array.isArray(schema.anyOf) && schema.anyOf.some((one) => isObject(one) && takesNull(one)))

const orNull = (schema: JsonObject): JsonObject => {
  if (takesNull(schema)) return schema
  const { description, ...rest } = schema
  return { ...(description === undefined ? {} : { description }), anyOf: [rest, { type: "null" }] }
}

/** The schema to show. What it leaves out of another one is judged by the session all the same. */
export const shown = (schema: JsonObject): JsonObject => {
  const strict = Object.entries(schema).filter(([keyword]) => keywords.has(keyword))
  const properties = Object.entries(propertiesOf(schema)).map(([name, property]) => {
    const inner = isObject(property) ? shown(property) : {}
    return [name, isRequired(schema, name) ? inner : orNull(inner)] as const
  })
  return {
    ...Object.fromEntries(strict),
    ...(isObject(schema.items) ? { items: shown(schema.items) } : {}),
    ...(Array.isArray(schema.anyOf) ? { anyOf: schema.anyOf.map((one) => (isObject(one) ? shown(one) : one)) } : {}),
    ...(schema.type === "object"
      ? { properties: Object.fromEntries(properties), required: properties.map(([name]) => name) }
      : {})
  }
}

/** What a model sent by the strict schema, as the tool's own one has it. */
export const taken = (schema: JsonObject, input: unknown): unknown => {
  if (Array.isArray(input)) {
    const { items } = schema
    return isObject(items) ? input.map((one) => taken(items, one)) : input
  }
  if (!isObject(input)) return input
  const properties = propertiesOf(schema)
  return Object.fromEntries(
    Object.entries(input).flatMap(([name, value]) => {
      const property = Object.hasOwn(properties, name) ? properties[name] : undefined
      if (!isObject(property)) return [[name, value]]
      const isLeftOut = value === null && !isRequired(schema, name) && !takesNull(property)
      return isLeftOut ? [] : [[name, taken(property, value)]]
    })
  )
}
