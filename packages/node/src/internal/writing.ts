/**
 * Atomic, durable writes: a temporary file in the destination directory, flushed, then installed by link(2) or rename(2),
 * and the directory flushed after it. A reader sees the old file or the new one, never a part, also after a crash.
 */
import * as fs from "node:fs"
import { Directory } from "@scv/core"
import * as Effect from "effect/Effect"
import { attempt } from "./attempt.ts"
import { flush, writeAll } from "./descriptor.ts"
import { codeOf, toDirectoryError } from "./errno.ts"
import { directoryIdentity, infoOf, isVersion, type lookByPath } from "./file.ts"
import { openFile, sha256Of } from "./reading.ts"
import { freshName, leftOvers } from "./temporary.ts"
import type { Turns } from "./turns.ts"
import { type Reach, type Root, type Steps, walk } from "./walk.ts"

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_RDONLY, O_WRONLY, W_OK, X_OK } = fs.constants

/** What a write needs of the directory that it goes through. */
export interface Base<Held> {
  readonly reach: Reach<Held>
  readonly root: Root<Held>
  readonly look: typeof lookByPath
  readonly turns: Turns
  /** The directories that were swept of what killed writers left, by identity. */
  readonly swept: Set<string>
}

const refuse = (kind: Directory.DirectoryError["kind"], path: string, detail: string) =>
  new Directory.DirectoryError({ kind, path, detail })

const requireAbsent = <Held>({ reach }: Base<Held>, held: Held, name: string, path: string): void => {
  if (fs.lstatSync(reach.at(held, name), { throwIfNoEntry: false }) === undefined) return
  throw refuse("already_exists", path, "exists already; use mode `replace` to replace a file")
}

/** `Directory.target`: where a write would go. */
export const target = <Held>(base: Base<Held>, path: string, mode: Directory.WriteMode): Directory.WriteTarget => {
  const { look, reach, root } = base
  const requireWritable = (held: Held) => fs.accessSync(reach.at(held, "."), W_OK | X_OK)
  let parent: Directory.Identity | undefined
  const arrive = (held: Held): void => {
    requireWritable(held)
    parent = directoryIdentity(reach, held)
  }
  const replaced: Steps<Held, fs.BigIntStats> = {
    last: (held, name) => {
      const stat = look(reach.at(held, name), "write", path)
      if (typeof stat !== "symbol") arrive(held)
      return stat
    }
  }
  const created: Steps<Held, "absent"> = {
    last: (held, name) => {
      requireAbsent(base, held, name, path)
      arrive(held)
      return "absent"
    },
    missing: (held) => {
      arrive(held)
      return "absent"
    }
  }
  const found = walk<Held, fs.BigIntStats | "absent">(reach, root, path, mode === "create" ? created : replaced)
  if (parent === undefined) throw new Error("a walk arrived nowhere")
  return {
    location: found.location,
    links: found.links,
    existing: found.value === "absent" ? undefined : infoOf(found, found.value),
    parent
  }
}

/** A directory that a write made on its way. */
interface Made<Held> {
  readonly parent: Held
  readonly name: string
}

/** The place that a write goes to. Its directories are held until it is released. */
interface Place<Held> {
  readonly parent: Held
  readonly name: string
  readonly made: ReadonlyArray<Made<Held>>
}

const releasePlace = <Held>({ reach }: Base<Held>, { made, parent }: Place<Held>): void => {
  reach.release(parent)
  for (const { parent } of made) reach.release(parent)
}

/** Takes back the directories that were made for a write that came to nothing, the deepest first. */
const unmake = <Held>({ reach }: Base<Held>, made: ReadonlyArray<Made<Held>>): void => {
  for (const { name, parent } of made.toReversed()) {
    try {
      fs.rmdirSync(reach.at(parent, name))
    } catch {
      // Somebody else uses it by now.
      return
    }
  }
}

/** Walks to the place, making missing parents for a `create`. Does nothing else, and nothing at all where it throws. */
const find = <Held>(base: Base<Held>, path: string, { expected, mode }: Directory.WriteRequest): Place<Held> => {
  const { look, reach, root } = base
  const made: Array<Made<Held>> = []
  let place: Place<Held> | undefined
  const moved = () => refuse("changed", path, "leads somewhere else than before; call again")
  /** The first directory that was there before is still the same one. */
  const requireParent = (held: Held): void => {
    if (made.length > 0 || Directory.isSame(directoryIdentity(reach, held), expected.parent)) return
    throw moved()
  }
  const arrive = (held: Held, name: string) => {
    requireParent(held)
    place = { parent: reach.keep(held), name, made }
    return true as const
  }
  const steps: Steps<Held, true> =
    mode === "replace"
      ? {
          last: (held, name) => {
            const stat = look(reach.at(held, name), "write", path)
            return typeof stat === "symbol" ? stat : arrive(held, name)
          }
        }
      : {
          last: (held, name) => {
            requireAbsent(base, held, name, path)
            return arrive(held, name)
          },
          missing: (held, name) => {
            requireParent(held)
            try {
              fs.mkdirSync(reach.at(held, name))
            } catch (error) {
              if (codeOf(error) === "EEXIST") return undefined
              throw error
            }
            made.push({ parent: reach.keep(held), name })
            return undefined
          }
        }
  try {
    const { location } = walk(reach, root, path, steps)
    if (location !== expected.location || place === undefined) {
      throw moved()
    }
    return place
  } catch (error) {
    unmake(base, made)
    if (place !== undefined) reach.release(place.parent)
    for (const { parent } of made) reach.release(parent)
    throw error
  }
}

/** Removes what killed writers left in a directory, the first time that this process writes there. */
const sweep = <Held>({ reach, swept }: Base<Held>, parent: Held, key: string): void => {
  if (swept.has(key)) return
  swept.add(key)
  try {
    for (const name of leftOvers(fs.readdirSync(reach.at(parent, "."))))
      fs.rmSync(reach.at(parent, name), { force: true })
  } catch {
    // A directory that cannot be listed is written to all the same.
  }
}

/** What is at the place; for a `replace` it must be what it was before, and have the content that was expected. */
const observe = <Held>(
  { look, reach }: Base<Held>,
  place: Place<Held>,
  path: string,
  request: Directory.WriteRequest
) =>
  Effect.gen(function* () {
    if (request.mode === "create") return undefined
    const at = reach.at(place.parent, place.name)
    const stat = yield* attempt(path, () => look(at, "write", path))
    const { existing } = request.expected
    if (typeof stat === "symbol" || (existing !== undefined && !isVersion(stat, existing))) {
      return yield* refuse("changed", path, "was changed after it was looked at; call again")
    }
    if (request.expectedSha256 !== undefined) {
      const found = yield* sha256Of(
        attempt(path, () => openFile(at, path)),
        path
      )
      if (found !== request.expectedSha256) {
        return yield* refuse(
          "stale",
          path,
          `its content is not the expected one: its sha256 is ${found}; read it again`
        )
      }
    }
    return stat
  })

/** Gives a temporary file the mode, and as root the owner, of the file whose place it takes. */
const adopt = (fd: number, stat: fs.BigIntStats): void => {
  if (process.geteuid?.() === 0) fs.fchownSync(fd, Number(stat.uid), Number(stat.gid))
  // After the owner: a change of owner can clear bits of the mode.
  fs.fchmodSync(fd, Number(stat.mode & 0o777n))
}

const noHardLinks = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"])

/** Puts the temporary file in place. All in one go: no other writer of this process can come between. */
const install = <Held>(
  { reach }: Base<Held>,
  { name, parent }: Place<Held>,
  temporary: string,
  path: string,
  replaced: fs.BigIntStats | undefined
): void => {
  const from = reach.at(parent, temporary)
  const to = reach.at(parent, name)
  if (replaced !== undefined) {
    const now = fs.lstatSync(to, { bigint: true, throwIfNoEntry: false })
    if (now === undefined) throw refuse("not_found", path, "no such file any more")
    if (now.ino !== replaced.ino || now.dev !== replaced.dev || now.ctimeNs !== replaced.ctimeNs) {
      throw refuse("changed", path, "was changed while it was being written; call again")
    }
    fs.renameSync(from, to)
    return
  }
  try {
    fs.linkSync(from, to)
  } catch (error) {
    if (!noHardLinks.has(codeOf(error) ?? "")) throw error
    // No hard links here: whoever makes the empty file may rename over it.
    fs.closeSync(fs.openSync(to, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, 0o600))
    fs.renameSync(from, to)
    return
  }
  try {
    fs.unlinkSync(from)
  } catch {
    // The file is in place under its name; the second one goes with the left-overs.
  }
}

/** Flushes a directory. What is in place stays in place, whether or not the device says that it keeps it. */
const flushDirectory = (at: string): Effect.Effect<void> =>
  Effect.acquireUseRelease(
    Effect.try(() => fs.openSync(at, O_RDONLY | O_DIRECTORY)),
    flush,
    (fd) => Effect.sync(() => fs.closeSync(fd))
  ).pipe(Effect.ignore)

const writeAt = <Held>(base: Base<Held>, place: Place<Held>, path: string, request: Directory.WriteRequest) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const { reach } = base
      const replaced = yield* restore(observe(base, place, path, request))
      const temporary = freshName()
      const at = reach.at(place.parent, temporary)
      // A new file gets the ordinary mode of one; what replaces a file is private until it has that file's mode.
      const flags = O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY
      const fd = yield* attempt(path, () => fs.openSync(at, flags, replaced === undefined ? 0o666 : 0o600))
      yield* restore(
        Effect.gen(function* () {
          yield* writeAll(fd, request.content)
          yield* Effect.try({
            try: () => replaced !== undefined && adopt(fd, replaced),
            catch: (error) => error
          })
          yield* flush(fd)
        })
      ).pipe(
        Effect.mapError((error) => toDirectoryError(error, path)),
        Effect.ensuring(Effect.sync(() => fs.closeSync(fd))),
        Effect.zipRight(attempt(path, () => install(base, place, temporary, path, replaced))),
        Effect.onError(() => Effect.sync(() => fs.rmSync(at, { force: true })))
      )
      yield* request.onInstalled
      yield* flushDirectory(reach.at(place.parent, "."))
      for (const { parent } of place.made) yield* flushDirectory(reach.at(parent, "."))
    })
  )

/** `Directory.write` below a root. */
export const write = <Held>(
  base: Base<Held>,
  path: string,
  request: Directory.WriteRequest
): Effect.Effect<void, Directory.DirectoryError> =>
  Effect.acquireUseRelease(
    attempt(path, () => find(base, path, request)),
    (place) =>
      Effect.gen(function* () {
        const { dev, ino } = yield* attempt(path, () => directoryIdentity(base.reach, place.parent))
        sweep(base, place.parent, `${dev}:${ino}`)
        yield* base.turns(`${dev}:${ino}/${place.name}`, writeAt(base, place, path, request))
      }).pipe(Effect.onError(() => Effect.sync(() => unmake(base, place.made)))),
    (place) => Effect.sync(() => releasePlace(base, place))
  )
