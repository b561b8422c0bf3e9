/** Copying the user's own setup of an agent into its private home. */
import type { Directory, PrivateDirectories } from "@scv/core"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** A setup that cannot be copied: one line, which holds nothing of its content. */
export class ImportError extends Schema.TaggedError<ImportError>()("ImportError", {
  message: Schema.String
}) {}

/** What became of an import. Each text is one line and holds no secret. */
export interface ImportReport {
  readonly copied: ReadonlyArray<{ readonly file: string; readonly what: string }>
  /** What was left out, and what will not work as it does for the user. */
  readonly notes: ReadonlyArray<string>
}

export interface Importer {
  /** Where the user's own setup lies by default: a path, which may be relative to the current directory. */
  readonly source: (environment: Readonly<Record<string, string>>, userHome: string) => string
  /**
   * Copies from one directory to another, both absolute, of which the second exists. All is validated before anything is
   * written; copies are atomic and have mode 0600; the source is only read.
   */
  readonly copy: (
    from: string,
    to: string
  ) => Effect.Effect<
    ImportReport,
    ImportError | Directory.DirectoryError,
    Directory.Directories | PrivateDirectories.PrivateDirectories
  >
}
