/** What every tool that runs programs has in common: its timeout, and its failure to start. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as ProcessSpawner from "./ProcessSpawner.ts"
import { ToolError } from "./ToolError.ts"

/**
 * The field `timeout_seconds`: an integer of at least 1. Its JSON Schema advertises the ceiling as `maximum`; more than
 * that is refused by {@link timeoutWithin}, with a kind of its own.
 */
export const timeoutSeconds = (ceiling: number) =>
  Schema.Number.pipe(
    Schema.filter((value) => Number.isInteger(value) && value >= 1, {
      jsonSchema: { type: "integer", minimum: 1, maximum: ceiling }
    }),
    Schema.annotations({
      message: ({ actual }) => ({
        message: `expected an integer between 1 and ${ceiling}, got ${JSON.stringify(actual)?.slice(0, 60)}`,
        override: true
      })
    })
  )

/** The timeout of a call in seconds: its own, at most the ceiling, else the default. */
export const timeoutWithin = (
  ceiling: number,
  asked: number | undefined,
  byDefault: number
): Effect.Effect<number, ToolError> => {
  if (asked === undefined) return Effect.succeed(Math.min(byDefault, ceiling))
  return asked <= ceiling
    ? Effect.succeed(asked)
    : Effect.fail(
        new ToolError({ kind: "limit", message: `\`timeout_seconds\`: ${asked} is above the ceiling of ${ceiling}` })
      )
}

/** The bytes from which on a text cannot be one argument of a program. Source: execve(2), MAX_ARG_STRLEN. */
export const maxArgument = 131_072

/** A program that does not start, in the words of the contract. */
export const toToolError = ({ kind, message }: ProcessSpawner.SpawnError): ToolError => new ToolError({ kind, message })
