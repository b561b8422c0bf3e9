import { Display } from "@scv/core"
import * as Schema from "effect/Schema"

/** What is wrong in one place. No field holds a value of the configuration, which may be a secret. */
export class ConfigError extends Schema.TaggedError<ConfigError>()("ConfigError", {
  /** The absolute path of the file, or `command line`. */
  file: Schema.String,
  /** Counted from 1. */
  line: Schema.optionalWith(Schema.Number, { exact: true }),
  /** The dotted name of the key or of the table. */
  key: Schema.optionalWith(Schema.String, { exact: true }),
  /** What was found, and what would be right. */
  reason: Schema.String
}) {
  /** One line: `FILE:LINE: KEY: reason`. */
  override get message(): string {
    const place = this.line === undefined ? this.file : `${this.file}:${this.line}`
    const key = this.key === undefined ? "" : `${Display.bounded(this.key, 80)}: `
    return Display.inline(`${place}: ${key}${this.reason}`)
  }
}

/** How many errors one message holds. */
const maxShown = 10

/** Everything that is wrong in all files, so that it can be mended at once. */
export class ConfigErrors extends Schema.TaggedError<ConfigErrors>()("ConfigErrors", {
  errors: Schema.NonEmptyArray(ConfigError)
}) {
  /** One line with the first errors of all. */
  override get message(): string {
    const rest = this.errors.length - maxShown
    const shown = this.errors.slice(0, maxShown).map((error) => error.message)
    return [...shown, ...(rest > 0 ? [`and ${rest} more`] : [])].join("; ")
  }
}
