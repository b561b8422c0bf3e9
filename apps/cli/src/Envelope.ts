import { Display, type ErrorKind, statusOf, type ToolResult } from "@scv/core"

/** The envelope of a call that never reached a session. */
export const refusal = (tool: string, kind: ErrorKind, message: string): ToolResult => ({
  call_id: "1",
  tool: Display.bounded(tool, 64),
  status: statusOf(kind),
  error: { kind, message: Display.bounded(message, 2000) }
})
