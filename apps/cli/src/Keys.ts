/** Single keys from the terminal, without a line end. */
import * as fs from "node:fs"
import { performance } from "node:perf_hooks"
import * as tty from "node:tty"
import * as Effect from "effect/Effect"
import * as Mailbox from "effect/Mailbox"
import type * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"

export interface Keys {
  readonly keys: Stream.Stream<string>
  /** Forgets what was typed until now and not taken yet. */
  readonly discard: Effect.Effect<void>
}

/** How long after a question was shown a key may still have been meant for what was there before, in milliseconds. */
const reaction = 300

/** Listens until the scope closes, and leaves the terminal as it was. */
export const listen: Effect.Effect<Keys, never, Scope.Scope> = Effect.gen(function* () {
  const typed = yield* Mailbox.make<string>()
  let deafUntil = 0
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      const input = new tty.ReadStream(fs.openSync("/dev/tty", "r"))
      input.setRawMode(true)
      input.setEncoding("utf8")
      input.on("data", (text: string) => {
        const isLeaving = text.includes("\u0003")
        // What is pasted is many keys in one piece, and no answer.
        if (isLeaving || (text.length === 1 && performance.now() >= deafUntil)) {
          typed.unsafeOffer(isLeaving ? "\u0003" : text.toLowerCase())
        }
      })
      for (const event of ["end", "close", "error"] as const) input.once(event, () => typed.unsafeOffer("\u0004"))
      return input
    }),
    (input) =>
      Effect.sync(() => {
        input.removeAllListeners("close")
        if (!input.destroyed) input.setRawMode(false)
        input.destroy()
      })
  )
  return {
    keys: Mailbox.toStream(typed),
    discard: Effect.zipRight(
      Effect.sync(() => {
        deafUntil = performance.now() + reaction
      }),
      Effect.asVoid(typed.clear)
    )
  }
})
