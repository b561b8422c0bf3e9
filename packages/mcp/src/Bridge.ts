import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import * as RuntimeFlags from "effect/RuntimeFlags"

/** Runs effects for code that knows promises alone. */
export interface Bridge {
  /** Interrupted by the signal; it settles after the finalizers. */
  readonly promise: <A, E>(effect: Effect.Effect<A, E>, signal?: AbortSignal) => Promise<A>
  readonly start: (effect: Effect.Effect<unknown>) => void
}

/** A bridge out of here. What it runs can be interrupted, also where here cannot: in an HTTP server's handler, say. */
export const make: Effect.Effect<Bridge> = Effect.map(Effect.runtime<never>(), (here) => {
  const runtime = Runtime.enableRuntimeFlag(here, RuntimeFlags.Interruption)
  return {
    promise: (effect, signal) => Runtime.runPromise(runtime)(effect, signal === undefined ? {} : { signal }),
    start: (effect) => {
      Runtime.runFork(runtime)(effect)
    }
  }
})
