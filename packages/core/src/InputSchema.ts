/**
 * Schemas for the input of a tool, and decoding that answers bad input with one clear line. Inputs are closed objects:
 * an unknown property is an error. Every failure is a {@link ToolError} of kind `invalid_input`.
 */
import * as Effect from "effect/Effect"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import type * as AST from "effect/SchemaAST"
import * as Display from "./Display.ts"
import { suggestion } from "./Nearest.ts"
import { ToolError } from "./ToolError.ts"

const shown = (value: unknown): string => {
  if (value === undefined) return "nothing"
  if (Array.isArray(value)) return "an array"
  if (typeof value === "object" && value !== null) return "an object"
  if (typeof value === "string") return Display.bounded(JSON.stringify(value), 60)
  return Display.bounded(String(value), 60)
}

const expecting = (phrase: string) => ({
  message: (issue: ParseResult.ParseIssue) => ({
    message: `expected ${phrase}, got ${shown(issue.actual)}`,
    override: true
  })
})

/** A non-empty text. */
export const nonEmpty = Schema.String.pipe(
  Schema.minLength(1),
  Schema.annotations({ title: "nonEmpty", ...expecting("a non-empty string") })
)

/** Any text. */
export const text = Schema.String.annotations(expecting("a string"))

/** A non-empty text without NUL, as the system's calls need for a path, a command or an argument. */
export const systemText = Schema.String.pipe(
  Schema.minLength(1),
  Schema.filter((value) => !value.includes("\0"), { jsonSchema: {} }),
  Schema.annotations({
    message: (issue) => ({
      message:
        typeof issue.actual === "string" && issue.actual.includes("\0")
          ? "expected text without NUL, got a NUL character"
          : `expected a non-empty string, got ${shown(issue.actual)}`,
      override: true
    })
  })
)

/** A whole number of at least `min`, however large. */
export const count = (min: number) =>
  Schema.Number.pipe(
    Schema.filter((value) => Number.isInteger(value) && value >= min, {
      jsonSchema: { type: "integer", minimum: min }
    }),
    Schema.annotations(expecting(`an integer of at least ${min}`))
  )

/** A safe integer of at least `min` and, where given, at most `max`. */
export const integer = (min: number, max?: number) =>
  Schema.Number.pipe(
    Schema.int(),
    max === undefined ? Schema.greaterThanOrEqualTo(min) : Schema.between(min, max),
    Schema.annotations(
      expecting(max === undefined ? `an integer of at least ${min}` : `an integer between ${min} and ${max}`)
    )
  )

/** One of the given words. */
export const oneOf = <const Words extends readonly [string, ...Array<string>]>(...words: Words) =>
  Schema.Literal(...words).annotations(expecting(words.map((word) => JSON.stringify(word)).join(" or ")))

/** A property that must be there; the description is for the model that fills it in. */
export const required = <A, I>(schema: Schema.Schema<A, I>, description: string) =>
  Schema.propertySignature(schema).annotations({ description })

/** A property that may be left out; `undefined` and `null` are not taken for absence. */
export const optional = <A, I>(schema: Schema.Schema<A, I>, description: string) =>
  Schema.optionalWith(schema, { exact: true }).annotations({ description })

const closed = { parseOptions: { onExcessProperty: "error" } } as const

/** An object without any property. A struct of no fields would take any value but null. */
const empty = Schema.Record({ key: Schema.String, value: Schema.Never }).annotations({
  ...closed,
  jsonSchema: { type: "object", properties: {}, additionalProperties: false }
})

/** A closed object of the given properties. */
export const struct = <Fields extends Schema.Struct.Fields>(fields: Fields): Schema.Struct<Fields> =>
  Object.keys(fields).length === 0
    ? (empty as unknown as Schema.Struct<Fields>)
    : Schema.Struct(fields).annotations(closed)

/** The deepest nesting of arrays and objects that an input may have. */
export const maxDepth = 64

/** The most values (of any kind, at any depth) that an input may hold. */
export const maxValues = 1_000_000

/** Inputs of more values than this are told of their first fault only: to name them all would take seconds. */
const maxExplained = 1000

/** The first place in a JSON value that no text or system can carry, else how many values it holds. */
const survey = (input: unknown): string | number => {
  const todo: Array<{ readonly value: unknown; readonly at: string; readonly depth: number }> = [
    { value: input, at: "", depth: 0 }
  ]
  let values = 0
  for (let item = todo.pop(); item !== undefined; item = todo.pop()) {
    const { at, depth, value } = item
    if (++values > maxValues) return `input: expected at most ${maxValues} values`
    if (typeof value === "string") {
      if (!value.isWellFormed()) return `${field(at)}: expected Unicode text, got an unpaired surrogate`
    } else if (typeof value === "object" && value !== null) {
      if (depth >= maxDepth) return `${field(at)}: nested deeper than ${maxDepth} levels`
      for (const key of Object.keys(value)) {
        if (!key.isWellFormed()) return `${field(at)}: expected Unicode names, got an unpaired surrogate in one`
        todo.push({
          value: (value as Record<string, unknown>)[key],
          at: at === "" ? key : `${at}.${key}`,
          depth: depth + 1
        })
      }
    }
  }
  return values
}

const field = (at: string): string => (at === "" ? "input" : `\`${Display.bounded(at, 80)}\``)

const knownNames = (ast: AST.AST, path: ReadonlyArray<PropertyKey>): ReadonlyArray<string> => {
  if (path.length > 0) {
    if (ast._tag !== "TypeLiteral") return []
    const property = ast.propertySignatures.find((p) => p.name === path[0])
    return property === undefined ? [] : knownNames(property.type, path.slice(1))
  }
  return ast._tag === "TypeLiteral" ? ast.propertySignatures.map((p) => String(p.name)) : []
}

const describe = (ast: AST.AST, issue: ParseResult.ArrayFormatterIssue): string => {
  const at = issue.path.map(String).join(".")
  if (issue._tag === "Missing") return `${field(at)} is missing`
  if (issue._tag === "Unexpected") {
    const names = knownNames(ast, issue.path.slice(0, -1))
    const known = names.length === 0 ? "" : `; known: ${names.join(", ")}`
    return `unknown field ${field(at)}${suggestion(String(issue.path.at(-1)), names)}${known}`
  }
  return `${field(at)}: ${issue.message.replace(/\s*\n\s*/g, " ")}`
}

/** How many faults one message names. */
const maxFaults = 4

const invalid = (message: string): ToolError => new ToolError({ kind: "invalid_input", message })

/**
 * A decoder for a schema that was made by {@link struct}. The error names each field that is wrong, what was expected
 * and what was found, in one line.
 */
export const decoder = <A, I>(schema: Schema.Schema<A, I>): ((input: unknown) => Effect.Effect<A, ToolError>) => {
  const decodeAll = ParseResult.decodeUnknownEither(schema, { onExcessProperty: "error", errors: "all" })
  const decodeFirst = ParseResult.decodeUnknownEither(schema, { onExcessProperty: "error", errors: "first" })
  return (input) => {
    if (typeof input !== "object" || input === null || Array.isArray(input)) {
      return Effect.fail(invalid(`input: expected a JSON object, got ${shown(input)}`))
    }
    const surveyed = survey(input)
    if (typeof surveyed === "string") return Effect.fail(invalid(surveyed))
    const decoded = (surveyed <= maxExplained ? decodeAll : decodeFirst)(input)
    if (decoded._tag === "Right") return Effect.succeed(decoded.right)
    const issues = ParseResult.ArrayFormatter.formatIssueSync(decoded.left)
    const faults = [...new Set(issues.map((issue) => describe(schema.ast, issue)))]
    const more = faults.length > maxFaults ? `; and ${faults.length - maxFaults} more` : ""
    return Effect.fail(invalid(faults.slice(0, maxFaults).join("; ") + more))
  }
}
