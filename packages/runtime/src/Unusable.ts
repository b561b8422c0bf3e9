import * as Schema from "effect/Schema"

/** A flag, configuration or workspace that cannot be used: one line, exit code 2. */
export class Unusable extends Schema.TaggedError<Unusable>()("Unusable", {
  kind: Schema.Literal("invalid_input", "config"),
  message: Schema.String
}) {}
