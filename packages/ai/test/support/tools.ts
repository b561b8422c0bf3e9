import { InputSchema, Tool } from "@scv/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const Name = Schema.Struct({ name: Schema.String })
const Greeting = Schema.Struct({ greeting: Schema.String })

type Greet = Tool.Definition<
  typeof Name.Type,
  typeof Name.Encoded,
  typeof Name.Type,
  typeof Name.Encoded,
  typeof Greeting.Type,
  typeof Greeting.Encoded,
  never
>

/** A tool that SCV has never heard of. */
export const greet = (options: Partial<Greet> = {}) =>
  Tool.make({
    name: "greet",
    description: "Greets somebody.",
    risk: "read_only",
    input: InputSchema.struct({ name: InputSchema.required(InputSchema.nonEmpty, "whom to greet") }),
    plan: Name,
    output: Greeting,
    prepare: ({ name }) => Effect.succeed({ summary: `greet ${name}`, plan: { name } }),
    run: ({ name }) => Effect.succeed({ greeting: `hello ${name}` }),
    ...options
  })
