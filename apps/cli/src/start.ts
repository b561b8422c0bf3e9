import { builtins } from "@scv/runtime"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { run } from "./Cli.ts"
import type { Remote } from "./commands/remote.ts"
import { broken, interrupted, lost } from "./ExitCode.ts"
import * as Signals from "./Signals.ts"
import * as Stdio from "./Stdio.ts"

const main = (remote: Remote | undefined) =>
  Effect.gen(function* () {
    const signalled = yield* Deferred.make<void>()
    const interrupt = Effect.asVoid(Deferred.succeed(signalled, undefined))
    return yield* Effect.gen(function* () {
      const command = yield* Effect.fork(run(process.argv, builtins, remote))
      yield* Effect.forkScoped(Effect.zipRight(Deferred.await(signalled), Fiber.interrupt(command)))
      const exit = yield* Fiber.await(command)
      const code = exit._tag === "Success" ? exit.value : interrupted
      const stdio = yield* Stdio.Stdio
      return code === 0 && (yield* stdio.hasLost) ? lost : code
    }).pipe(Effect.provide(Layer.merge(Stdio.layer, Signals.layer(interrupt))))
  })

/** Lets the command have this process, and ends it. */
export const start = (remote: Remote | undefined): void => {
  // Should the process ever run out of things to wait for without an answer, that is no success.
  process.exitCode = broken
  Effect.runCallback(Effect.scoped(main(remote)), {
    onExit: (exit) => process.exit(exit._tag === "Success" ? exit.value : broken)
  })
}
