import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Tool } from "./Tool.ts"
import { ToolName } from "./ToolName.ts"
import { ToolRisk } from "./ToolRisk.ts"

const json = Schema.Record({ key: Schema.String, value: Schema.Unknown })

/** A tool as every surface lists it. Source: design, "`scv`". */
export const ToolDescription = Schema.Struct({
  name: ToolName,
  risk: ToolRisk,
  description: Schema.String,
  available: Schema.Boolean,
  /** Why it is not available, where it is not. */
  reason: Schema.optionalWith(Schema.String, { exact: true }),
  /** JSON Schema, draft 2020-12. */
  input_schema: json,
  output_schema: json
})

export type ToolDescription = typeof ToolDescription.Type

export const describe = (tool: Tool): Effect.Effect<ToolDescription> =>
  Effect.map(tool.unavailable, (reason) => ({
    name: tool.name,
    risk: tool.risk,
    description: tool.description,
    available: Option.isNone(reason),
    ...(Option.isSome(reason) ? { reason: reason.value } : {}),
    input_schema: tool.inputSchema,
    output_schema: tool.outputSchema
  }))
