/** The three standard streams. Stdout carries only answers; everything else goes to stderr. */
import type { Readable, Writable } from "node:stream"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

export class Stdio extends Context.Tag("scv/Stdio")<
  Stdio,
  {
    /** Writes a text and waits until it is handed to the system. */
    readonly out: (text: string) => Effect.Effect<void>
    readonly err: (text: string) => Effect.Effect<void>
    readonly input: Readable
    /** Whether a person can be asked: stdin and stderr are a terminal. */
    readonly isInteractive: boolean
    /** Whether somebody watches stderr as it comes. */
    readonly isWatched: boolean
    readonly hasColor: (stream: "out" | "err") => boolean
    /** Waits until nobody can read stdout any more. */
    readonly readerGone: Effect.Effect<void>
    /** Whether an answer was lost to anything but a reader that went away, such as a full disk. */
    readonly hasLost: Effect.Effect<boolean>
  }
>() {}

/** The streams of this process. */
export const layer: Layer.Layer<Stdio> = Layer.effect(
  Stdio,
  Effect.gen(function* () {
    const readerGone = yield* Deferred.make<void>()
    let hasLost = false
    const onLoss = (error: NodeJS.ErrnoException): void => {
      if (error.code !== "EPIPE") hasLost = true
      Deferred.unsafeDone(readerGone, Effect.void)
    }
    const writer =
      (stream: Writable, onError: (error: NodeJS.ErrnoException) => void) =>
      (text: string): Effect.Effect<void> =>
        Effect.async<void>((resume) => {
          stream.write(text, (error) => {
            if (error !== null && error !== undefined) onError(error)
            resume(Effect.void)
          })
        })
    // A closed pipe or a terminal that is gone would otherwise end the process before it has cleaned up.
    for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {})
    const noColor = (process.env.NO_COLOR ?? "") !== "" || process.env.TERM === "dumb"
    return {
      out: writer(process.stdout, onLoss),
      err: writer(process.stderr, () => {}),
      // Only touched by the commands that read it: opening it would keep a background job from running.
      get input() {
        return process.stdin
      },
      get isInteractive() {
        return process.stderr.isTTY === true && process.stdin.isTTY === true
      },
      get isWatched() {
        return process.stderr.isTTY === true
      },
      hasColor: (stream) => !noColor && (stream === "out" ? process.stdout : process.stderr).isTTY === true,
      readerGone: Deferred.await(readerGone),
      hasLost: Effect.sync(() => hasLost)
    }
  })
)
