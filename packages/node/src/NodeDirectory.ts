/** Contained directories through Node's file system. See `internal/walk.ts` for how a path is kept inside. */
import * as fs from "node:fs"
import * as path from "node:path"
import { Directory } from "@scv/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { attempt } from "./internal/attempt.ts"
import { directoryIdentity, infoOf, lookByDescriptor, lookByPath } from "./internal/file.ts"
import { list } from "./internal/listing.ts"
import { read, sha256 } from "./internal/reading.ts"
import * as Turns from "./internal/turns.ts"
import { below, byDescriptor, byPath, fromRoot, O_PATH, type Root, walk, walkInto } from "./internal/walk.ts"
import { type Base, target, write } from "./internal/writing.ts"

type Containment = (typeof Directory.Directories.Service)["containment"]

const withoutTrailingSlash = (absolute: string): string => absolute.replace(/(?<=.)\/+$/, "")

const refusal = (asked: string) => (kind: "invalid_input" | "outside_workspace", detail: string) =>
  new Directory.DirectoryError({ kind, path: asked, detail })

/** Refuses what is no path. */
const checkPath = (asked: string): void => {
  if (asked === "") throw refusal(asked)("invalid_input", "expected a path, got nothing")
  if (asked.includes("\0")) throw refusal(asked)("invalid_input", "expected a path without NUL")
}

const outside = (asked: string) =>
  refusal(asked)("outside_workspace", "is outside of the workspace; give a path inside it")

/** Refuses what can be no relative path, before anything is touched. */
const checkForm = ({ spellings }: Root<unknown>, asked: string): void => {
  checkPath(asked)
  if (!asked.startsWith("/")) return
  const normal = withoutTrailingSlash(path.posix.normalize(asked))
  const inside = spellings.map((spelling) => below(spelling, normal)).find((rest) => rest !== undefined)
  if (inside === undefined) throw outside(asked)
  throw refusal(asked)(
    "invalid_input",
    `expected a path relative to the workspace: ${Directory.shown([inside || "."])}`
  )
}

const noDirectory = (error: Directory.DirectoryError): Directory.DirectoryError => {
  const detail = { not_found: "no such directory", not_a_directory: "is a file, not a directory" } as const
  return error.kind === "not_found" || error.kind === "not_a_directory"
    ? new Directory.DirectoryError({ kind: error.kind, path: error.path, detail: detail[error.kind] })
    : error
}

/** What a directory needs besides being held. */
type Means<Held> = Omit<Base<Held>, "root">

/** Where an absolute path leads, all links followed; undefined where it leads to nothing. */
const realPathOf = (absolute: string): string | undefined => {
  try {
    return fs.realpathSync.native(absolute)
  } catch {
    return undefined
  }
}

/**
 * A path to a directory, which may be absolute, as a relative one. An absolute one is wherever the system says that it
 * leads; the walk that follows trusts neither the system nor the spelling.
 */
const relativeTo = (root: Root<unknown>, realPath: string, asked: string): string => {
  checkPath(asked)
  if (!asked.startsWith("/")) return asked
  const real = realPathOf(asked)
  const inside = (real === undefined ? undefined : below(realPath, real)) ?? fromRoot(root, asked)
  if (inside === undefined) throw outside(asked)
  return inside || "."
}

/** A directory that is held, known by its own path and by the given spellings. Throws system errors. */
const makeDirectory = <Held>(means: Means<Held>, held: Held, spellings: ReadonlyArray<string>): Directory.Directory => {
  const { look, reach } = means
  // The directory's own path, since a link in the one that was asked for may mean another directory by now.
  const realPath = reach.pathOf(held)
  const root: Root<Held> = { held, spellings: [...new Set([realPath, ...spellings.map(withoutTrailingSlash)])] }
  const base: Base<Held> = { ...means, root }

  /** Checks the form of a path, then goes on. */
  const checked = <A>(
    asked: string,
    next: Effect.Effect<A, Directory.DirectoryError>
  ): Effect.Effect<A, Directory.DirectoryError> =>
    Effect.zipRight(
      attempt(asked, () => checkForm(root, asked)),
      next
    )

  return {
    path: realPath,
    identity: directoryIdentity(reach, held),
    handle: attempt(realPath, () => {
      const at = reach.at(root.held, ".")
      // A deleted directory can still be entered by its descriptor, and has no links any more.
      if (fs.statSync(at).nlink > 0) return at
      throw new Directory.DirectoryError({ kind: "not_found", path: realPath, detail: "the directory was deleted" })
    }),
    file: (asked) =>
      attempt(asked, () => {
        checkForm(root, asked)
        const found = walk(reach, root, asked, { last: (at, name) => look(reach.at(at, name), "read", asked) })
        return infoOf(found, found.value)
      }),
    sha256: (asked, expected) => checked(asked, sha256(reach, root, asked, expected)),
    list: (asked, max) =>
      attempt(asked, () => {
        checkForm(root, asked)
        return list(reach, root, asked, max)
      }),
    directory: (asked) =>
      Effect.acquireRelease(
        attempt(asked, () => walkInto(reach, root, relativeTo(root, reach.pathOf(held), asked))),
        ({ value }) => Effect.sync(() => reach.release(value))
      ).pipe(
        Effect.flatMap(({ location, value }) =>
          attempt(asked, () =>
            makeDirectory(
              means,
              value,
              root.spellings.map((spelling) => path.posix.join(spelling, location))
            )
          )
        ),
        Effect.mapError((error) => noDirectory(new Directory.DirectoryError({ ...error, path: asked })))
      ),
    read: (asked, range) => checked(asked, read(reach, root, asked, range)),
    target: (asked, mode) =>
      attempt(asked, () => {
        checkForm(root, asked)
        return target(base, asked, mode)
      }),
    write: (asked, request) => checked(asked, write(base, asked, request))
  }
}

/** What all directories of a layer have in common. */
type Shared = Pick<Base<unknown>, "turns" | "swept">

const openByDescriptor = (shared: Shared, asked: string) =>
  Effect.acquireRelease(
    attempt(asked, () => fs.openSync(asked, O_PATH | fs.constants.O_DIRECTORY)),
    (fd) => Effect.sync(() => fs.closeSync(fd))
  ).pipe(
    Effect.flatMap((fd) =>
      attempt(asked, () => makeDirectory({ reach: byDescriptor, look: lookByDescriptor, ...shared }, fd, [asked]))
    )
  )

const openByPath = (shared: Shared, asked: string) =>
  attempt(asked, () => {
    const realPath = fs.realpathSync.native(asked)
    if (!fs.statSync(realPath).isDirectory()) {
      throw new Directory.DirectoryError({ kind: "not_a_directory", path: asked, detail: "" })
    }
    return makeDirectory({ reach: byPath, look: lookByPath, ...shared }, realPath, [asked])
  })

/**
 * Whether this machine can walk by descriptor: `/proc/self/fd` must be there and mean what it means on Linux, which it
 * does not on other systems, without /proc, or in a foreign process namespace.
 */
const probe = (): Containment => {
  if (process.platform !== "linux") return "portable"
  let fd: number | undefined
  try {
    fd = fs.openSync("/", O_PATH | fs.constants.O_DIRECTORY)
    const held = fs.fstatSync(fd, { bigint: true })
    const reached = fs.statSync(`/proc/self/fd/${fd}/.`, { bigint: true })
    return held.dev === reached.dev && held.ino === reached.ino ? "descriptors" : "portable"
  } catch {
    return "portable"
  } finally {
    if (fd !== undefined) fs.closeSync(fd)
  }
}

/**
 * Directories of this machine. Without `containment` the machine is probed: `descriptors` where it can walk by
 * descriptor, else `portable`, which is contained against mistakes and not against a race.
 */
export const layer = (options: { readonly containment?: Containment } = {}): Layer.Layer<Directory.Directories> =>
  Layer.sync(Directory.Directories, () => {
    const containment = options.containment ?? probe()
    const open = containment === "descriptors" ? openByDescriptor : openByPath
    const shared: Shared = { turns: Turns.make(), swept: new Set() }
    return { containment, open: (asked) => Effect.mapError(open(shared, asked), noDirectory) }
  })
