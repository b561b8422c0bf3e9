import type * as Effect from "effect/Effect"

/** What `run` gets beside the plan. `Output` is what the tool's output schema describes. */
export interface CallContext<in Output> {
  /** The call's id, unique among the live calls of its session. */
  readonly callId: string
  /** When the deadline falls, in milliseconds since the epoch by the Effect clock. */
  readonly deadline: number
  /** Tells whoever watches how far the call is. */
  readonly progress: (text: string) => Effect.Effect<void>
  /** Keeps what there is so far: the answer carries it when the call is cancelled or runs out of time. */
  readonly partial: (output: Output) => Effect.Effect<void>
  /** Marks the point of no return: from here on the call is completed with this output, however it ends. */
  readonly commit: (output: Output) => Effect.Effect<void>
  /** Completes when a release under way must take no more time: at a second cancel and at the deadline. */
  readonly hurry: Effect.Effect<void>
  /** Whether it has completed. */
  readonly isHurried: Effect.Effect<boolean>
}
