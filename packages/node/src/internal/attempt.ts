import type { Directory } from "@scv/core"
import * as Effect from "effect/Effect"
import { toDirectoryError } from "./errno.ts"

/** Runs synchronous file system code about a path; what it throws of the system's errors becomes a typed one. */
export const attempt = <A>(path: string, run: () => A): Effect.Effect<A, Directory.DirectoryError> =>
  Effect.suspend(() => {
    try {
      return Effect.succeed(run())
    } catch (error) {
      return Effect.fail(toDirectoryError(error, path))
    }
  })
