import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"

/**
 * Names for the variables by which the processes of a call are known. The name holds an id, not the value, so that a
 * nested call does not overwrite that of the outer one.
 */
export class CallTag extends Context.Tag("@scv/core/CallTag")<
  CallTag,
  {
    /** A name that no other call on this machine has. */
    readonly fresh: Effect.Effect<string>
  }
>() {}

/** What every such name begins with. */
export const prefix = "SCV_CALL_"
