/** How a call ended, as its envelope says it. Source: design, "Words on the wire". */
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Display from "./Display.ts"
import * as ResultLimit from "./ResultLimit.ts"
import type { Outcome } from "./Tool.ts"
import { type ErrorKind, statusOf, type ToolError } from "./ToolError.ts"
import type { ToolResult } from "./ToolResult.ts"

/** The envelope without its address. */
export type Ending = Omit<ToolResult, "call_id" | "tool">

/** What is known of a call at its end. */
export interface EndedCall {
  readonly tool: string
  readonly outputLimitBytes: number
  /** Seconds of the deadline that it was under. */
  readonly timeoutSeconds: number
  /** What ended it first, where it did not end by itself. */
  readonly cause: "cancelled" | "timed_out" | undefined
  /** What it came to, where it came to its end. */
  readonly outcome: Outcome | undefined
  readonly partial: Outcome | undefined
  readonly committed: Outcome | undefined
}

/** The longest message of an error, in characters. */
const maxMessage = 2000

/** An error, its message made one line that is safe to show. */
export const ofError = (kind: ErrorKind, message: string): Ending => ({
  status: statusOf(kind),
  error: { kind, message: Display.bounded(message, maxMessage) }
})

const ofOutcome = ({ outputLimitBytes, tool }: EndedCall, { output, succeeded }: Outcome): Ending => {
  const result = ResultLimit.bound(output, outputLimitBytes)
  return result === undefined
    ? ofError("internal", `${tool}: its result holds more than ${outputLimitBytes} bytes`)
    : { status: succeeded ? "completed" : "failed", result }
}

/** A call that was cancelled or ran out of time, with what it had by then. */
export const ofInterruption = (call: EndedCall, cause: "cancelled" | "timed_out"): Ending => {
  const kept = call.partial === undefined ? undefined : ofOutcome(call, call.partial)
  const result = kept !== undefined && "result" in kept ? { result: kept.result } : {}
  if (cause === "cancelled") return { ...ofError("cancelled", "the call was cancelled"), ...result }
  return "result" in result
    ? { status: "timed_out", ...result }
    : ofError("timeout", `no answer within ${call.timeoutSeconds} s`)
}

/** Whether a call broke: it has no answer, and nobody ended it. */
export const isBroken = (
  { cause }: EndedCall,
  exit: Exit.Exit<void, ToolError>
): exit is Exit.Failure<void, ToolError> =>
  Exit.isFailure(exit) && cause === undefined && Option.isNone(Cause.failureOption(exit.cause))

/** The end of a call that ran. */
export const ofExit = (call: EndedCall, exit: Exit.Exit<void, ToolError>): Ending => {
  if (call.outcome !== undefined) return ofOutcome(call, call.outcome)
  if (call.committed !== undefined) return ofOutcome(call, call.committed)
  if (call.cause !== undefined) return ofInterruption(call, call.cause)
  const failure = Exit.isFailure(exit) ? Cause.failureOption(exit.cause) : Option.none()
  return Option.isSome(failure)
    ? ofError(failure.value.kind, failure.value.message)
    : ofError("internal", `${call.tool}: the tool broke; this is a fault in it, not in the call`)
}
