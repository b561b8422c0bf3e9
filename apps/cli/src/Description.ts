import type { Json, Tool } from "@scv/core"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

/** A tool as `scv tools --json` and `scv session` list it. */
export const describe = (tool: Tool.Tool): Effect.Effect<{ readonly [key: string]: Json }> =>
  Effect.map(tool.unavailable, (reason) => ({
    name: tool.name,
    risk: tool.risk,
    description: tool.description,
    available: Option.isNone(reason),
    ...(Option.isSome(reason) ? { reason: reason.value } : {}),
    input_schema: tool.inputSchema,
    output_schema: tool.outputSchema
  }))
