/** TERM, INT and HUP: the first asks the daemon to stop, each one after that to be quick about it. */
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import type { Stopping } from "./Daemon.ts"

const names = ["SIGTERM", "SIGINT", "SIGHUP"] as const

// Unhandled, it kills the process in the middle of a write over a file size limit; handled, the write fails with EFBIG.
const overLimit = "SIGXFSZ"

/** The signals of this process. */
export const stopping: Effect.Effect<Stopping, never, Scope.Scope> = Effect.gen(function* () {
  const queue = yield* Queue.unbounded<void>()
  const onSignal = () => {
    queue.unsafeOffer(undefined)
  }
  const ignore = () => {}
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      for (const name of names) process.on(name, onSignal)
      process.on(overLimit, ignore)
      // Whoever read the log is gone; the daemon is not.
      for (const stream of [process.stdout, process.stderr]) stream.on("error", ignore)
    }),
    () =>
      Effect.sync(() => {
        for (const name of names) process.off(name, onSignal)
        process.off(overLimit, ignore)
      })
  )
  return { requested: Queue.take(queue), hurried: Queue.take(queue) }
})
