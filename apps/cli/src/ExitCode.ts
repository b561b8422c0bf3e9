import type { ToolResult } from "@scv/core"
import * as Context from "effect/Context"
import type * as Ref from "effect/Ref"

/** What the process answers to its parent. Source: design, "Words on the wire". */
export const exitCodes: Record<ToolResult["status"], number> = {
  completed: 0,
  failed: 1,
  invalid: 2,
  denied: 3,
  timed_out: 124,
  cancelled: 130
}

/** A usage, configuration or workspace that cannot be used. */
export const unusable = 2

/** Ended by INT, TERM or HUP. */
export const interrupted = 130

/** A fault of the command itself (EX_SOFTWARE of sysexits.h). */
export const broken = 70

/** The answer could not be written (EX_IOERR of sysexits.h). */
export const lost = 74

/** The exit code that the command has come to; 0 until somebody says otherwise. */
export class ExitCode extends Context.Tag("scv/ExitCode")<ExitCode, Ref.Ref<number>>() {}
