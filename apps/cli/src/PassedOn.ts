import * as Context from "effect/Context"

/** The arguments after `--`, for a command that hands them on to another program. */
export class PassedOn extends Context.Tag("scv/PassedOn")<PassedOn, ReadonlyArray<string>>() {}
