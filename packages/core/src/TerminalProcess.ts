import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { ExitStatus, SpawnError, SpawnRequest } from "./ProcessSpawner.ts"

/** Runs programs that talk to the person at the terminal. A platform provides it. */
export class TerminalProcess extends Context.Tag("@scv/core/TerminalProcess")<
  TerminalProcess,
  {
    /**
     * Runs a program on the standard streams of this process and in its group, so that the terminal is its own, and
     * waits for its end. Interruption sends TERM, and KILL after two seconds.
     */
    readonly run: (
      request: Pick<SpawnRequest, "program" | "args" | "cwd" | "environment">
    ) => Effect.Effect<ExitStatus, SpawnError>
  }
>() {}
