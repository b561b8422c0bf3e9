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
     * Makes what is missing of a directory and of what belongs below it. The directory has mode 0700 afterwards, whatever
     * it had. A link is made where its target is there and nothing has its name; one that leads elsewhere is replaced.
     */
    readonly ensure: (directory: PrivateDirectory) => Effect.Effect<void, DirectoryError>
  }
>() {}
