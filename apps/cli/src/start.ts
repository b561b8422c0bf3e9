/** Gives the process to a command: its signals cancel it, and its exit code is the process's. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { broken, interrupted, lost } from "./ExitCode.ts"
import * as Signals from "./Signals.ts"
import * as Stdio from "./Stdio.ts"

type Command = Effect.Effect<number, never, Stdio.Stdio | Signals.Signals>

const attended = (command: Command) =>
  Effect.gen(function* () {
    const signalled = yield* Deferred.make<void>()
    const interrupt = Effect.asVoid(Deferred.succeed(signalled, undefined))
    return yield* Effect.gen(function* () {
      const running = yield* Effect.fork(command)
      yield* Effect.forkScoped(Effect.zipRight(Deferred.await(signalled), Fiber.interrupt(running)))
      const exit = yield* Fiber.await(running)
      const code = exit._tag === "Success" ? exit.value : interrupted
      const stdio = yield* Stdio.Stdio
      return code === 0 && (yield* stdio.hasLost) ? lost : code
    }).pipe(Effect.provide(Layer.merge(Stdio.layer, Signals.layer(interrupt))))
  })

/** Runs a command to its end, and the process with it. */
export const start = (command: Command): void => {
  // Should the process ever run out of things to wait for without an answer, that is no success.
  process.exitCode = broken
  Effect.runCallback(Effect.scoped(attended(command)), {
    onExit: (exit) => process.exit(exit._tag === "Success" ? exit.value : broken)
  })
}
