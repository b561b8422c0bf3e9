/**
 * The primitive that a platform provides for running programs. The rules of how they end are in `ProcessGroup`. Source:
 * design, "Process lifecycle, decided".
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { ErrorKind } from "./ToolError.ts"

export type Signal = "TERM" | "KILL" | "CONT"

/** How a process ended: by itself with a code, or by a signal, which has its system name. */
export interface ExitStatus {
  readonly code: number | null
  readonly signal: string | null
}

/** A live process that belongs to a call. A number alone names none, since it is given again. */
export interface Member {
  readonly pid: number
  /** When it started, in a form of the platform's own. */
  readonly start: string
  /** Whether it is in the group that was made for the call, or has left it. */
  readonly inGroup: boolean
  /** What it runs, read when it is asked for: text of the process's own making. */
  readonly command: string
}

export interface SpawnRequest {
  /** The absolute path of the program. */
  readonly program: string
  readonly args: ReadonlyArray<string>
  /** Names the directory to start in; see `Directory.handle`. */
  readonly cwd: string
  /** All variables that it gets. */
  readonly environment: Readonly<Record<string, string>>
  /** The name of a further variable, by which descendants are known wherever they go. */
  readonly tag: string
  /** Takes the output of both streams as it comes. The bytes are only good during the call. */
  readonly onOutput: (bytes: Uint8Array) => void
}

/** A program that runs, as the leader of a group and a session of its own. */
export interface Process {
  readonly pid: number
  /** Whether both streams come in the order in which they were written. */
  readonly keepsOrder: boolean
  /** Waits for the end of the leader. What it wrote has been delivered by then. */
  readonly exit: Effect.Effect<ExitStatus>
  /** Waits until nobody holds the output open any more. */
  readonly outputEnd: Effect.Effect<void>
  /** Whether that is so already. */
  readonly hasOutputEnded: Effect.Effect<boolean>
  /** The live processes of the group, and the known descendants outside it; zombies are not alive. */
  readonly members: Effect.Effect<ReadonlyArray<Member>>
  /**
   * Sends a signal to the group, where one of the given members is in it and its number can mean no other one, and to
   * each of the given members outside it that still is who it was.
   */
  readonly signal: (signal: Signal, members: ReadonlyArray<Member>) => Effect.Effect<void>
}

/** Why a program could not be started. */
export class SpawnError extends Schema.TaggedError<SpawnError>()("SpawnError", {
  kind: ErrorKind.pipe(Schema.pickLiteral("unavailable", "limit", "changed", "permission", "io")),
  message: Schema.String
}) {}

export class ProcessSpawner extends Context.Tag("@scv/core/ProcessSpawner")<
  ProcessSpawner,
  {
    /**
     * Starts a program with nothing to read. When the scope closes its output is no longer taken, and the platform
     * forgets it; ending it is the caller's, before that.
     */
    readonly spawn: (request: SpawnRequest) => Effect.Effect<Process, SpawnError, Scope.Scope>
  }
>() {}
