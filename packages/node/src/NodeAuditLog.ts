/** The audit log as files in a directory of this machine. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { AuditEntry, type AuditLog, type Directory, Lines, Utf8 } from "@scv/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { attempt } from "./internal/attempt.ts"
import { appender, type Bounds, list, lookAtDirectory, openToRead, readPiece } from "./internal/auditFiles.ts"

export type { Bounds } from "./internal/auditFiles.ts"

/** The files that all sessions of a process append to; each brings the bounds that are in force for it. */
export class AuditFiles extends Context.Tag("@scv/node/AuditFiles")<
  AuditFiles,
  { readonly log: (bounds: Bounds) => typeof AuditLog.AuditLog.Service }
>() {}

const userName = (): string | undefined => {
  try {
    return os.userInfo().username
  } catch {
    // The user database does not know the number.
    return undefined
  }
}

const identity = (): AuditEntry.ProcessIdentity => {
  const uid = process.getuid?.()
  const user = userName()
  return {
    pid: process.pid,
    ppid: process.ppid,
    ...(uid === undefined ? {} : { uid }),
    ...(user === undefined ? {} : { user })
  }
}

/** Files in a directory at an absolute path, which is made, private to the user, with the first entry. */
export const layer = (directory: string): Layer.Layer<AuditFiles> =>
  Layer.scoped(
    AuditFiles,
    Effect.gen(function* () {
      const { append } = yield* Effect.acquireRelease(
        Effect.sync(() => appender(directory)),
        ({ close }) => Effect.sync(close)
      )
      let lost = 0

      const failed = ({ detail, path }: Directory.DirectoryError): Effect.Effect<void> =>
        Effect.suspend(() =>
          // Said once, until it works again.
          lost++ === 0
            ? Effect.logError(
                `NOT RECORDED: the audit log cannot be written: ${path}: ${detail}; calls go on without it`
              )
            : Effect.void
        )

      const worked: Effect.Effect<void> = Effect.suspend(() => {
        if (lost === 0) return Effect.void
        const missing = lost
        lost = 0
        return Effect.logWarning(`the audit log is written again; ${missing} entries before this are missing from it`)
      })

      const record = (entry: AuditEntry.AuditEntry, bounds: Bounds): Effect.Effect<void> =>
        attempt(directory, () => append(AuditEntry.line(entry), entry.time, bounds)).pipe(
          Effect.matchEffect({ onFailure: failed, onSuccess: () => worked })
        )

      return {
        log: (bounds: Bounds) => ({ process: identity(), record: (entry) => record(entry, bounds) })
      }
    })
  )

/** A line of the log: an entry and the bytes of its line, or none where it cannot be read; `isTorn` where one is lost. */
export interface AuditLine {
  readonly entry: AuditEntry.AuditEntry | undefined
  readonly bytes: number
  readonly isTorn: boolean
}

const lineOf = (line: Lines.Line): ReadonlyArray<AuditLine> => {
  if ("tooLong" in line) return [{ entry: undefined, bytes: line.tooLong, isTorn: true }]
  const text = Utf8.decode(line.bytes)
  return text.trim() === "" ? [] : [{ ...AuditEntry.parse(text), bytes: line.bytes.length }]
}

const linesIn = (file: string): Stream.Stream<AuditLine, Directory.DirectoryError> =>
  Stream.acquireRelease(
    attempt(file, () => openToRead(file)),
    (fd) => Effect.sync(() => fs.closeSync(fd))
  ).pipe(
    Stream.flatMap((fd) => {
      const { end, push } = Lines.framer(AuditEntry.maxLine)
      const piece = Effect.suspend(() => attempt(file, () => readPiece(fd)))
      const pieces = Stream.repeatEffectOption(
        Effect.filterOrFail(
          Effect.mapError(piece, Option.some),
          (bytes) => bytes.length > 0,
          () => Option.none()
        )
      )
      return Stream.concat(
        Stream.mapConcat(pieces, (bytes) => push(bytes).flatMap(lineOf)),
        Stream.suspend(() => Stream.fromIterable(end().flatMap(lineOf)))
      )
    })
  )

const files = (directory: string) =>
  attempt(directory, () => list(directory)).pipe(
    Effect.catchIf(
      ({ kind }) => kind === "not_found",
      () => Effect.succeed([])
    )
  )

/**
 * The log in a directory, oldest first, in bounded memory; nothing where there is none. With `since`, a day (YYYY-MM-DD,
 * UTC), what was written on earlier ones is left out. Fails where a file cannot be read.
 */
export const read = (directory: string, since = ""): Stream.Stream<AuditLine, Directory.DirectoryError> =>
  Stream.unwrap(
    Effect.map(files(directory), (found) =>
      Stream.flatMap(Stream.fromIterable(found.filter(({ day }) => day >= since)), ({ name }) =>
        linesIn(path.join(directory, name))
      )
    )
  )

/** What there is of a log. */
export interface AuditState {
  readonly files: number
  readonly bytes: number
  /** Why no entry could be kept now, where none could. */
  readonly fault: string | undefined
}

/** The nearest directory that exists, to a path or above it. */
const nearest = (at: string): string => (fs.existsSync(at) || path.dirname(at) === at ? at : nearest(path.dirname(at)))

/** Looks at a log without changing it. */
export const inspect = (directory: string): Effect.Effect<AuditState> =>
  Effect.gen(function* () {
    const found = yield* files(directory)
    const sizes = yield* attempt(directory, () =>
      found.map(({ name }) => fs.lstatSync(path.join(directory, name)).size)
    )
    const fault = yield* attempt(directory, () => {
      const exists = lookAtDirectory(directory)
      const newest = found.at(-1)
      if (newest !== undefined) fs.closeSync(openToRead(path.join(directory, newest.name)))
      const at = newest === undefined ? nearest(directory) : path.join(directory, newest.name)
      for (const needed of exists ? [directory, at] : [at]) fs.accessSync(needed, fs.constants.W_OK)
      return fs.statfsSync(at, { bigint: true }).bavail === 0n ? "no space left on the device" : undefined
    }).pipe(Effect.catchAll(({ detail }) => Effect.succeed(detail)))
    return { files: found.length, bytes: sizes.reduce((sum, size) => sum + size, 0), fault }
  }).pipe(Effect.catchAll(({ detail }) => Effect.succeed({ files: 0, bytes: 0, fault: detail })))
