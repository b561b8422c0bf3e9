/** Programs on the standard streams of this process. */
import { type ChildProcess, spawn } from "node:child_process"
import { ProcessGroup, type ProcessSpawner, TerminalProcess } from "@scv/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { spawnError } from "./internal/spawnError.ts"

type Ended = Effect.Effect<ProcessSpawner.ExitStatus, ProcessSpawner.SpawnError>

/** Starts a program and tells how it ended. */
const start = (
  { args, cwd, environment, program }: Parameters<(typeof TerminalProcess.TerminalProcess.Service)["run"]>[0],
  resume: (ended: Ended) => void
): ChildProcess | undefined => {
  try {
    const child = spawn(program, args, { cwd, env: environment, stdio: "inherit" })
    child.once("error", (error) => resume(Effect.fail(spawnError(program, error))))
    child.once("exit", (code, signal) => resume(Effect.succeed({ code, signal })))
    return child
  } catch (error) {
    resume(Effect.fail(spawnError(program, error)))
    return undefined
  }
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null

const untilEnded = (child: ChildProcess): Effect.Effect<void> =>
  Effect.async((resume) => {
    if (hasEnded(child)) resume(Effect.void)
    else child.once("exit", () => resume(Effect.void))
  })

/** Until it is reaped, the number is the child's. */
const end = (child: ChildProcess): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (const [signal, patience] of [
      ["SIGTERM", ProcessGroup.grace],
      ["SIGKILL", ProcessGroup.maxReap]
    ] as const) {
      if (hasEnded(child)) return
      child.kill(signal)
      yield* Effect.timeoutOption(Effect.interruptible(untilEnded(child)), patience)
    }
  })

/** Programs at this process's terminal. */
export const layer: Layer.Layer<TerminalProcess.TerminalProcess> = Layer.succeed(TerminalProcess.TerminalProcess, {
  run: (request) =>
    Effect.async((resume) => {
      const child = start(request, resume)
      return child === undefined ? Effect.void : end(child)
    })
})
