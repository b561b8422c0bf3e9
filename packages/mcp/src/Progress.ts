/** Progress notifications of one call: at a bounded rate, and often enough that no client takes the call for dead. */
import { Display } from "@scv/core"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"

/** The least time between two notifications. */
export const spacing = Duration.millis(250)

/** The most time between two. Clients are known to give up after 60 seconds without one, some of them sooner. */
export const heartbeat = Duration.seconds(5)

const maxMessage = 200

/** The last line of a text that holds anything, as one safe line. */
const lastLine = (text: string): string => {
  const lines = text.trimEnd().split("\n")
  return Display.bounded((lines.at(-1) ?? "").trimEnd(), maxMessage)
}

/** Tells how far the call is; of what comes faster than {@link spacing}, the latest is told. */
export type Tell = (message: string) => Effect.Effect<void>

/** Sends through `notify` until the scope closes; `progress` counts the notifications, since no total is known. */
export const make = (
  notify: (progress: number, message: string) => Effect.Effect<void>
): Effect.Effect<Tell, never, Scope.Scope> =>
  Effect.gen(function* () {
    const latest = yield* Queue.sliding<string>(1)
    let message = ""
    let count = 0
    const next = Effect.gen(function* () {
      const told = yield* Effect.timeoutOption(Queue.take(latest), heartbeat)
      if (Option.isSome(told)) message = told.value
      yield* notify(++count, message)
      yield* Effect.sleep(spacing)
    })
    yield* Effect.forkScoped(Effect.forever(next))
    return (told) => {
      const line = lastLine(told)
      return line === "" ? Effect.void : Effect.asVoid(Queue.offer(latest, line))
    }
  })
