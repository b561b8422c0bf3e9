/**
 * Schemas for the values of keys. The encoded side is what the TOML parser gives: an integer is a bigint, a number is a
 * float, a date is a Date. A fault is one line that says what was expected and which type was found, never the value,
 * which may be a secret.
 */
import { Approval } from "@scv/core"
import type { ParseIssue } from "effect/ParseResult"
import * as Schema from "effect/Schema"

const simpleType = (value: unknown): string => {
  if (typeof value === "string") {
    if (value.includes("\0")) return "a string with a NUL character"
    return value === "" ? "an empty string" : "a string"
  }
  if (typeof value === "bigint") return "an integer"
  if (typeof value === "number") return "a float"
  if (typeof value === "boolean") return "a boolean"
  if (value instanceof Date) return "a date or time"
  return Array.isArray(value) ? "an array" : "a table"
}

/** The type of a TOML value, with its article; of an array also the types of its elements. */
export const typeOf = (value: unknown): string => {
  if (!Array.isArray(value)) return simpleType(value)
  return value.length === 0 ? "an empty array" : `an array of: ${[...new Set(value.map(simpleType))].join(", ")}`
}

/** A value as the TOML parser gives it. */
export const asToml = (value: unknown): unknown => (Number.isSafeInteger(value) ? BigInt(value as number) : value)

const expecting = (phrase: string, found: (value: unknown) => string = typeOf) => ({
  description: phrase,
  message: ({ actual }: ParseIssue) => ({ message: `expected ${phrase}, got ${found(actual)}`, override: true })
})

/** An integer from `min` to `max`. */
export const integer = (min: number, max: number) =>
  Schema.transform(Schema.BigIntFromSelf, Schema.Number.pipe(Schema.int(), Schema.between(min, max)), {
    strict: true,
    decode: Number,
    encode: BigInt
  }).annotations(
    expecting(`an integer between ${min} and ${max}`, (value) =>
      typeof value === "bigint" ? `a ${value > max ? "larger" : "smaller"} one` : typeOf(value)
    )
  )

export const boolean = Schema.Boolean.annotations(expecting("true or false"))

export const policy = Approval.ApprovalPolicy.annotations(
  expecting(Approval.ApprovalPolicy.literals.map((word) => JSON.stringify(word)).join(", "), (value) =>
    typeof value === "string" ? "another string" : typeOf(value)
  )
)

const string = (pattern: RegExp, phrase: string) =>
  Schema.String.pipe(Schema.pattern(pattern), Schema.annotations(expecting(phrase)))

const strings = (pattern: RegExp, one: string, phrase: string) =>
  Schema.Array(Schema.String.pipe(Schema.pattern(pattern, { description: one }))).annotations(expecting(phrase))

/** What a process can be started with. */
export const command = string(/^[^\0]+$/, "a non-empty string without NUL")

/** What a process can be given. */
export const args = strings(/^[^\0]*$/, "a string without NUL", "an array of strings without NUL")

/** Arguments of which one or more hold what stands for a value; none at all, where no value can be given. */
export const template = (placeholder: string) =>
  Schema.Array(Schema.String.pipe(Schema.pattern(/^[^\0]*$/, { description: "a string without NUL" }))).pipe(
    Schema.filter((given) => given.length === 0 || given.some((arg) => arg.includes(placeholder)), { jsonSchema: {} }),
    Schema.annotations(
      expecting(`an array of strings without NUL, one of them with \`${placeholder}\`, or an empty array`)
    )
  )

export const absolutePath = string(/^\/[^\0]*$/, "an absolute path")

// Components that are neither empty nor `.` nor `..`.
const below = /^(?!\.{1,2}(?:\/|$))[^/\0]+(?:\/(?!\.{1,2}(?:\/|$))[^/\0]+)*$/

export const pathInside = string(below, "a path inside the workspace, relative and without `..`")

export const namesInHome = strings(
  below,
  "a name below the home directory",
  "an array of names below the home directory, relative and without `..`"
)
