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

/** A regular file, as it was when it was looked at. */
export interface FileInfo {
  /** Where it lies in the directory, all links followed: components joined by `/`. */
  readonly location: string
  /** The texts of the links that led there, in the order in which they were followed. */
  readonly links: ReadonlyArray<string>
  readonly identity: Identity
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

export interface Directory {
  /** The absolute path, all links followed, as it was when the directory was opened. */
  readonly path: string
  readonly identity: Identity
  /** Finds a regular file by its relative path, following links that stay inside. */
  readonly file: (path: string) => Effect.Effect<FileInfo, DirectoryError>
  /** Reads a part of a regular file. Never blocks on a FIFO or a device: they are `not_a_file`. */
  readonly read: (path: string, range: ReadRange) => Effect.Effect<FileRange, DirectoryError>
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
