import * as Effect from "effect/Effect"

/** Lets those who want the same thing have it one after the other. Nothing is kept of a thing that nobody wants. */
export const make = () => {
  const turns = new Map<string, { readonly semaphore: Effect.Semaphore; wanted: number }>()

  return <A, E, R>(key: string, effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.acquireUseRelease(
      Effect.sync(() => {
        const turn = turns.get(key) ?? { semaphore: Effect.unsafeMakeSemaphore(1), wanted: 0 }
        turn.wanted++
        turns.set(key, turn)
        return turn
      }),
      ({ semaphore }) => semaphore.withPermits(1)(effect),
      (turn) =>
        Effect.sync(() => {
          if (--turn.wanted === 0) turns.delete(key)
        })
    )
}

export type Turns = ReturnType<typeof make>
