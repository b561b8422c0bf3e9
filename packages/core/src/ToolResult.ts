import * as Schema from "effect/Schema"
import { ErrorKind, ToolStatus } from "./ToolError.ts"

/**
 * The envelope: the answer to one call, the same on every surface. `result` has the shape of the tool's output schema;
 * which of `result` and `error` is there follows from `status`. Source: design, "Words on the wire".
 */
export const ToolResult = Schema.Struct({
  call_id: Schema.String,
  tool: Schema.String,
  status: ToolStatus,
  result: Schema.optionalWith(Schema.Unknown, { exact: true }),
  error: Schema.optionalWith(Schema.Struct({ kind: ErrorKind, message: Schema.String }), { exact: true })
})

export type ToolResult = typeof ToolResult.Type
