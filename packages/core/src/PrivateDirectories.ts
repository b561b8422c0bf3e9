import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { DirectoryError } from "./Directory.ts"

export interface PrivateDirectory {
  /** Its absolute path. */
  readonly path: string
  /** Directories below it, by relative path. */
  readonly below: ReadonlyArray<string>
  /** Links below it, by relative path, each to an absolute one. */
  readonly links: Readonly<Record<string, string>>
}

/** Directories that nobody but the user can enter. A platform provides it. */
export class PrivateDirectories extends Context.Tag("@scv/core/PrivateDirectories")<
  PrivateDirectories,
  {
    /**
     * Makes what is missing of a directory and of what belongs below it, whatever the umask. The directory has mode 0700
     * afterwards, whatever it had. A link is made where its target is there and nothing has its name; one that leads
     * elsewhere is replaced. Nothing is made outside: fails with `not_a_directory` where a link on the way to something
     * below leads out of the directory, or where a file is in the way.
     */
    readonly ensure: (directory: PrivateDirectory) => Effect.Effect<void, DirectoryError>
    /**
     * Puts files into such a directory, by name, each atomically and with mode 0600, in place of whatever had the name: a
     * link is replaced, never followed. Nothing is put where one of them cannot be, which a directory is a reason for
     * (`not_a_file`).
     */
    readonly put: (path: string, files: Readonly<Record<string, Uint8Array>>) => Effect.Effect<void, DirectoryError>
  }
>() {}
