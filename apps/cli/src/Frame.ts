/** What every command has around it: its exit code, its log on stderr, one line for what cannot be used. */
import { Display } from "@scv/core"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Ref from "effect/Ref"
import { broken, ExitCode, exitCodes, interrupted, unusable } from "./ExitCode.ts"
import { Stdio } from "./Stdio.ts"

/** What is logged goes to stderr, and nothing of it can redraw the terminal. */
const logger = (stdio: typeof Stdio.Service) =>
  Logger.replace(
    Logger.defaultLogger,
    Logger.make(({ cause, message }) => {
      const said = Array.isArray(message) ? message.map(String).join(" ") : String(message)
      const why = Cause.isEmpty(cause) ? "" : `\n${Cause.pretty(cause)}`
      Effect.runFork(stdio.err(`scv: ${Display.lines(said + why)}\n`))
    })
  )

/** Says on stderr what cannot be used. */
export const complain = (message: string): Effect.Effect<void, never, Stdio> =>
  Effect.flatMap(Stdio, (stdio) => stdio.err(`scv: ${Display.bounded(message, 2000)}\n`))

/** What the daemon refuses can be used; it came too late, or is about nothing that there is. */
const isRefusal = (error: object): boolean => "_tag" in error && error._tag === "Failure"

/** The exit code that a command comes to. Its errors are what it cannot use. */
export const exitCodeOf = <R>(
  command: Effect.Effect<void, { readonly message: string }, R | ExitCode>
): Effect.Effect<number, never, Exclude<R, ExitCode> | Stdio> =>
  Effect.gen(function* () {
    const stdio = yield* Stdio
    const exitCode = yield* Ref.make(0)
    return yield* command.pipe(
      Effect.zipRight(Ref.get(exitCode)),
      Effect.catchAll((error) => Effect.as(complain(error.message), isRefusal(error) ? exitCodes.failed : unusable)),
      Effect.catchAllCause((cause) =>
        Cause.isInterruptedOnly(cause)
          ? Effect.succeed(interrupted)
          : Effect.as(Effect.logError("a fault of scv itself", cause), broken)
      ),
      Effect.provideService(ExitCode, exitCode),
      Effect.provide(logger(stdio))
    )
  }) as Effect.Effect<number, never, Exclude<R, ExitCode> | Stdio>
