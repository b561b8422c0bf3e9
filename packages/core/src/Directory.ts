/**
 * A contained directory as a capability. Whoever holds one can reach what lies in it and nothing else: every path is
 * walked from the directory's own identity, one component at a time, and a link that would leave it is refused. Source:
 * design, "Containment".
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Display from "./Display.ts"
import { ErrorKind, ToolError } from "./ToolError.ts"

/** Why a directory could not do what it was asked. The kinds are those of the contract. */
export class DirectoryError extends Schema.TaggedError<DirectoryError>()("DirectoryError", {
  kind: ErrorKind.pipe(
    Schema.pickLiteral(
      "invalid_input",
      "limit",
      "outside_workspace",
      "not_found",
      "already_exists",
      "not_a_file",
      "not_a_directory",
      "stale",
      "changed",
      "permission",
      "io"
    )
  ),
  /** The path as it was asked for. */
  path: Schema.String,
  /** What was found, and what would be right. */
  detail: Schema.String
}) {
  override get message(): string {
    return `${shown([this.path])}: ${this.detail}`
  }
}

/** A path in the directory, given as components, as messages show it. */
export const shown = (components: ReadonlyArray<string>): string => Display.bounded(components.join("/"), 200)

/** The same failure in the words of the contract. */
export const toToolError = (error: DirectoryError): ToolError =>
  new ToolError({ kind: error.kind, message: error.message })

/** Which file it is, whatever its name: device and inode, as decimal digits. */
export const Identity = Schema.Struct({ dev: Schema.String, ino: Schema.String })

export type Identity = typeof Identity.Type

/** Whether two identities are of the same file. */
export const isSame = (a: Identity, b: Identity): boolean => a.dev === b.dev && a.ino === b.ino

/** A file as it was at a moment: which it is, and a text that any change of its content or its mode makes another. */
export const Version = Schema.Struct({ identity: Identity, version: Schema.String })

export type Version = typeof Version.Type

/** A regular file, as it was when it was looked at. */
export interface FileInfo {
  /** Where it lies in the directory, all links followed: components joined by `/`. */
  readonly location: string
  /** The texts of the links that led there, in the order in which they were followed. */
  readonly links: ReadonlyArray<string>
  readonly identity: Identity
  /** Differs after any change of the content or the mode; see {@link Version}. */
  readonly version: string
  /** The size that the system reports, in bytes; some files hold more than they report. */
  readonly size: number
  /** The permission bits, 0 to 0o7777. */
  readonly mode: number
}

/** A part of a file. */
export interface FileRange {
  readonly file: FileInfo
  /** The bytes from the offset on; fewer than asked for only where the file ends. */
  readonly bytes: Uint8Array
  /** The length of the whole file: what was found by reading where that is more than the size that is reported. */
  readonly totalBytes: number
}

export interface ReadRange {
  /** Bytes to skip. */
  readonly offset: number
  /** The most bytes to return. */
  readonly length: number
  /** Refuse with `changed` unless the file is still this one. */
  readonly expected?: Pick<FileInfo, "location" | "identity">
}

/** Where a write would go. */
export interface WriteTarget {
  /** Where the path leads: for `replace` all links followed, for `create` those of the parents. */
  readonly location: string
  /** The texts of the links that led there, in the order in which they were followed. */
  readonly links: ReadonlyArray<string>
  /** The file that would be replaced; none for `create`. */
  readonly existing: FileInfo | undefined
  /** The directory that the file would come into, or the nearest one to it that is there. */
  readonly parent: Identity
}

/** `create` makes a file where nothing is; `replace` takes the place of a regular file. */
export type WriteMode = "create" | "replace"

export interface WriteRequest {
  readonly mode: WriteMode
  readonly content: Uint8Array
  /** Refuse with `changed` unless the write still goes where it was found to go, and meets the file that was there. */
  readonly expected: {
    readonly location: string
    readonly existing: Version | undefined
    readonly parent: Identity
  }
  /** For `replace`: refuse with `stale` unless the file's content has this SHA-256 (lower-case hex). */
  readonly expectedSha256: string | undefined
  /**
   * Runs in the moment after the new content is in place: the write cannot be undone or interrupted from here on, while
   * its durability is still being waited for.
   */
  readonly onInstalled: Effect.Effect<void>
}

/** What a name in a directory stands for. A link is not followed; `other` is a FIFO, a socket or a device. */
export interface DirectoryEntry {
  readonly name: string
  readonly kind: "file" | "directory" | "link" | "other"
  /** Whether the system's name is UTF-8. Where it is not, `name` only resembles it, and leads to nothing. */
  readonly isText: boolean
}

export interface Directory {
  /** The absolute path, all links followed, as it was when the directory was opened. */
  readonly path: string
  readonly identity: Identity
  /**
   * A path that names this directory itself to the system while it is open, whatever its name is by now: what a program
   * is started in. Fails with `not_found` where the directory is deleted.
   */
  readonly handle: Effect.Effect<string, DirectoryError>
  /**
   * Opens a directory below this one, or this one itself (`.`), following links that stay inside. The path may be
   * absolute, by any spelling that the system takes to a place in this one. What is opened contains its paths in turn.
   */
  readonly directory: (path: string) => Effect.Effect<Directory, DirectoryError, Scope.Scope>
  /** Finds a regular file by its relative path, following links that stay inside. */
  readonly file: (path: string) => Effect.Effect<FileInfo, DirectoryError>
  /** Reads a part of a regular file. Never blocks on a FIFO or a device: they are `not_a_file`. */
  readonly read: (path: string, range: ReadRange) => Effect.Effect<FileRange, DirectoryError>
  /**
   * The names in a directory, without `.` and `..`, in the order of their bytes, which for UTF-8 is that of its code
   * points. Fails with `limit` where there are more than `max`.
   */
  readonly list: (path: string, max: number) => Effect.Effect<ReadonlyArray<DirectoryEntry>, DirectoryError>
  /** The SHA-256 of a whole regular file as lower-case hex, read in pieces. */
  readonly sha256: (
    path: string,
    expected: Pick<FileInfo, "location" | "identity">
  ) => Effect.Effect<string, DirectoryError>
  /** Finds where a write would go, and everything that can be known to make it fail, without a side effect. */
  readonly target: (path: string, mode: WriteMode) => Effect.Effect<WriteTarget, DirectoryError>
  /**
   * Writes a whole file: readers see the old content or the new, never a mixture, also after a crash. Missing parents of
   * a `create` are made. A replaced file keeps its permission bits (0777) and, for root, its owner. After a failure or an
   * interruption nothing is changed and nothing is left. Writers of one process take turns at a file.
   */
  readonly write: (path: string, request: WriteRequest) => Effect.Effect<void, DirectoryError>
}

/** Opens directories by absolute path. A platform provides it. */
export class Directories extends Context.Tag("@scv/core/Directories")<
  Directories,
  {
    /** How well paths are contained: `descriptors` without a race, `portable` with one. */
    readonly containment: "descriptors" | "portable"
    /** Opens a directory for as long as the scope is open. The path itself may lead through links. */
    readonly open: (path: string) => Effect.Effect<Directory, DirectoryError, Scope.Scope>
  }
>() {}
