/** The three standard streams. Stdout carries only answers; everything else goes to stderr. */
import * as fs from "node:fs"
import type { Readable } from "node:stream"
import * as tty from "node:tty"
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

type Loss = NodeJS.ErrnoException

const lossOf = (error: unknown): Loss => (error instanceof Error ? error : new Error(String(error)))

/** Whether a descriptor is a terminal. Node loads all of its streams to tell; most of what is none is told without. */
const isTerminal = (fd: number): boolean => {
  try {
    return fs.fstatSync(fd).isCharacterDevice() && tty.isatty(fd)
  } catch {
    // A stream that was closed for us.
    return false
  }
}

/**
 * Writes bytes to a descriptor, as Node's own streams do: to the end, before anything else runs. What a full pipe that must
 * not block does not take is left over.
 */
const writeOut = (fd: number, bytes: Uint8Array): Uint8Array => {
  let rest = bytes
  while (rest.length > 0) {
    try {
      rest = rest.subarray(fs.writeSync(fd, rest))
    } catch (error) {
      if (lossOf(error).code !== "EAGAIN") throw error
      return rest
    }
  }
  return rest
}

/** The streams of this process. Node's own are only made for what needs them, since they take long to load. */
export const layer: Layer.Layer<Stdio> = Layer.effect(
  Stdio,
  Effect.gen(function* () {
    const readerGone = yield* Deferred.make<void>()
    let hasLost = false
    const onLoss = ({ code }: Loss): void => {
      if (code !== "EPIPE") hasLost = true
      Deferred.unsafeDone(readerGone, Effect.void)
    }

    const writer = (fd: number, name: "stdout" | "stderr", onError: (error: Loss) => void) => {
      let waiting = 0

      /** Lets Node's stream wait until a full pipe has room. */
      const later = (rest: Uint8Array): Effect.Effect<void> =>
        Effect.async<void>((resume) => {
          const stream = process[name]
          // A reader that goes away would otherwise end the process before it has cleaned up.
          if (stream.listenerCount("error") === 0) stream.on("error", () => {})
          waiting++
          stream.write(rest, (error) => {
            waiting--
            if (error !== null && error !== undefined) onError(error)
            resume(Effect.void)
          })
        })

      return (text: string): Effect.Effect<void> =>
        Effect.suspend(() => {
          const bytes = Buffer.from(text)
          try {
            const rest = waiting > 0 ? bytes : writeOut(fd, bytes)
            return rest.length === 0 ? Effect.void : later(rest)
          } catch (error) {
            onError(lossOf(error))
            return Effect.void
          }
        })
    }

    const noColor = (process.env.NO_COLOR ?? "") !== "" || process.env.TERM === "dumb"
    return {
      out: writer(1, "stdout", onLoss),
      err: writer(2, "stderr", () => {}),
      // Only touched by the commands that read it: opening it would keep a background job from running.
      get input() {
        return process.stdin
      },
      get isInteractive() {
        return isTerminal(2) && isTerminal(0)
      },
      get isWatched() {
        return isTerminal(2)
      },
      hasColor: (stream) => !noColor && isTerminal(stream === "out" ? 1 : 2),
      readerGone: Deferred.await(readerGone),
      hasLost: Effect.sync(() => hasLost)
    }
  })
)
