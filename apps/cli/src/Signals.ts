/** INT, TERM and HUP, each a request to end what is under way and then the process. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

export class Signals extends Context.Tag("scv/Signals")<
  Signals,
  {
    /** Lets each signal run `handler` while `effect` runs. Outside, a signal interrupts the whole command. */
    readonly handledBy: (
      handler: Effect.Effect<void>
    ) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    /** Whether one has come. */
    readonly hasCome: Effect.Effect<boolean>
  }
>() {}

const names = ["SIGINT", "SIGTERM", "SIGHUP"] as const

// Unhandled, it kills the process in the middle of a write over a file size limit; handled, the write fails with EFBIG.
const overLimit = "SIGXFSZ"

/** The signals of this process; `interrupt` is what they do where no command handles them. */
export const layer = (interrupt: Effect.Effect<void>): Layer.Layer<Signals> =>
  Layer.scoped(
    Signals,
    Effect.gen(function* () {
      let current = interrupt
      let count = 0
      const ignore = () => {}
      const onSignal = () => {
        count++
        Effect.runFork(current)
      }
      yield* Effect.acquireRelease(
        Effect.sync(() => {
          for (const name of names) process.on(name, onSignal)
          process.on(overLimit, ignore)
        }),
        () =>
          Effect.sync(() => {
            for (const name of names) process.off(name, onSignal)
            process.off(overLimit, ignore)
          })
      )
      return {
        handledBy: (handler) => (effect) =>
          Effect.acquireUseRelease(
            Effect.sync(() => {
              const outer = current
              current = handler
              return outer
            }),
            () => effect,
            (outer) =>
              Effect.sync(() => {
                current = outer
              })
          ),
        hasCome: Effect.sync(() => count > 0)
      }
    })
  )
