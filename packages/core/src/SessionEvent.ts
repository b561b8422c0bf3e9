import * as Schema from "effect/Schema"
import { ApprovalRequest, Decision } from "./Approval.ts"
import { ToolResult } from "./ToolResult.ts"
import { ToolRisk } from "./ToolRisk.ts"

const event = <Name extends string, Fields extends Schema.Struct.Fields>(name: Name, fields: Fields) =>
  Schema.Struct({
    /** Counts the events of a session from 1, without a gap. */
    seq: Schema.Number,
    event: Schema.Literal(name),
    /** The call that it is about. */
    id: Schema.String,
    ...fields
  })

const { call_id: _, ...question } = ApprovalRequest.fields

/** What happens to the calls of a session, in order. Source: design, "`scv`". */
export const SessionEvent = Schema.Union(
  event("proposed", { tool: Schema.String }),
  event("approval_requested", question),
  event("approval_resolved", { approval_id: Schema.String, ...Decision.fields }),
  event("started", { tool: Schema.String, risk: ToolRisk }),
  event("progress", { text: Schema.String }),
  event("completed", { result: ToolResult })
)

export type SessionEvent = typeof SessionEvent.Type
