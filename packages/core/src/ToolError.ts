import * as Schema from "effect/Schema"

/** How a call ended. Source: design, "Words on the wire". */
export const ToolStatus = Schema.Literal("completed", "failed", "invalid", "denied", "timed_out", "cancelled")

export type ToolStatus = typeof ToolStatus.Type

const statusByKind = {
  invalid_input: "invalid",
  unknown_tool: "invalid",
  limit: "invalid",
  too_large: "invalid",
  outside_workspace: "invalid",
  unavailable: "invalid",
  config: "invalid",
  denied: "denied",
  cancelled: "cancelled",
  timeout: "timed_out",
  not_found: "failed",
  already_exists: "failed",
  not_a_file: "failed",
  not_a_directory: "failed",
  not_utf8: "failed",
  stale: "failed",
  changed: "failed",
  permission: "failed",
  io: "failed",
  internal: "failed"
} as const satisfies Record<string, ToolStatus>

/** Why a call did not complete, as a word that a program can branch on. */
export type ErrorKind = keyof typeof statusByKind

export const ErrorKind = Schema.Literal(...(Object.keys(statusByKind) as [ErrorKind, ...Array<ErrorKind>]))

/** The status that follows from a kind, whichever phase of the call found it. */
export const statusOf = (kind: ErrorKind): ToolStatus => statusByKind[kind]

/**
 * The one error of the contract. `message` is one line that names the field or the workspace-relative path, says what
 * was found and what would be right.
 */
export class ToolError extends Schema.TaggedError<ToolError>()("ToolError", {
  kind: ErrorKind,
  message: Schema.String
}) {}
