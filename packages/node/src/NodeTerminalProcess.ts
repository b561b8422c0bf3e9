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

/** Until it is reaped, the number is the child's. */
const end = (child: ChildProcess): Effect.Effect<void> =>
  Effect.async<void>((resume) => {
    if (hasEnded(child)) return resume(Effect.void)
    child.once("exit", () => resume(Effect.void))
    child.kill("SIGTERM")
  }).pipe(
    Effect.interruptible,
    Effect.timeoutTo({
      duration: ProcessGroup.grace,
      onSuccess: () => undefined,
      onTimeout: () => {
        child.kill("SIGKILL")
      }
    })
  )

/** Programs at this process's terminal. */
export const layer: Layer.Layer<TerminalProcess.TerminalProcess> = Layer.succeed(TerminalProcess.TerminalProcess, {
  run: (request) =>
    Effect.async((resume) => {
      const child = start(request, resume)
      return child === undefined ? Effect.void : end(child)
    })
})
