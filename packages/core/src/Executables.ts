import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** A program that cannot be started here. */
export class NoExecutable extends Schema.TaggedError<NoExecutable>()("NoExecutable", {
  /** The command as it was asked for. */
  command: Schema.String,
  /** What was looked for, and what would be right. */
  reason: Schema.String
}) {
  override get message(): string {
    return this.reason
  }
}

/** Finds programs as the server's own environment would. A platform provides it. */
export class Executables extends Context.Tag("@scv/core/Executables")<
  Executables,
  {
    /**
     * The absolute path of an executable file. A name is looked up in `PATH`, of which only absolute elements count, so
     * that no program of a working directory is ever taken for it; else the command must be an absolute path.
     */
    readonly find: (command: string) => Effect.Effect<string, NoExecutable>
  }
>() {}
