/** Contained directories through Node's file system. See `internal/walk.ts` for how a path is kept inside. */
import * as fs from "node:fs"
import * as path from "node:path"
import { Directory } from "@scv/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { toDirectoryError } from "./internal/errno.ts"
import { below, byDescriptor, byPath, isLink, O_PATH, type Reach, type Root, walk } from "./internal/walk.ts"

const { O_DIRECTORY, O_NOCTTY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = fs.constants

type Containment = (typeof Directory.Directories.Service)["containment"]

/** Up to this many bytes a file is read in one synchronous call, which is faster than a trip to a thread. */
const smallRead = 65_536

/** How far, in bytes, a file that holds more than it reports is counted. */
const maxCounted = 64 * 1024 * 1024

const identityOf = (stat: fs.BigIntStats): Directory.Identity => ({ dev: String(stat.dev), ino: String(stat.ino) })

const kindOf = (stat: fs.BigIntStats): string => {
  if (stat.isDirectory()) return "a directory"
  if (stat.isFIFO()) return "a FIFO"
  if (stat.isSocket()) return "a socket"
  return "a device"
}

const infoOf = (
  { links, location }: { readonly location: string; readonly links: ReadonlyArray<string> },
  stat: fs.BigIntStats
): Directory.FileInfo => ({
  location,
  links,
  identity: identityOf(stat),
  size: Number(stat.size),
  mode: Number(stat.mode & 0o7777n)
})

const requireFile = (stat: fs.BigIntStats, asked: string): void => {
  if (stat.isFile()) return
  const detail = `is ${kindOf(stat)}, not a regular file`
  throw new Directory.DirectoryError({ kind: "not_a_file", path: asked, detail })
}

/** Runs synchronous file system code; what it throws of the system's errors becomes a typed one. */
const attempt = <A>(asked: string, run: () => A): Effect.Effect<A, Directory.DirectoryError> =>
  Effect.suspend(() => {
    try {
      return Effect.succeed(run())
    } catch (error) {
      return Effect.fail(toDirectoryError(error, asked))
    }
  })

/** Looks at a name without opening what it stands for: an open of a FIFO or a device can have effects. */
const look = (containment: Containment, at: string, asked: string): fs.BigIntStats | typeof isLink => {
  if (containment === "portable") {
    const stat = fs.lstatSync(at, { bigint: true })
    if (stat.isSymbolicLink()) return isLink
    requireFile(stat, asked)
    fs.accessSync(at, fs.constants.R_OK)
    return stat
  }
  const fd = fs.openSync(at, O_PATH | O_NOFOLLOW)
  try {
    const stat = fs.fstatSync(fd, { bigint: true })
    if (stat.isSymbolicLink()) return isLink
    requireFile(stat, asked)
    fs.accessSync(`/proc/self/fd/${fd}`, fs.constants.R_OK)
    return stat
  } finally {
    fs.closeSync(fd)
  }
}

interface Opened {
  readonly fd: number
  readonly stat: fs.BigIntStats
}

const openForReading = (at: string, asked: string): Opened => {
  const fd = fs.openSync(at, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
  try {
    const stat = fs.fstatSync(fd, { bigint: true })
    requireFile(stat, asked)
    return { fd, stat }
  } catch (error) {
    fs.closeSync(fd)
    throw error
  }
}

// Not interruptible: a descriptor must not be closed, and its number given to another file, under a read.
const readOnce = (fd: number, buffer: Buffer, filled: number, position: number) =>
  Effect.async<number, NodeJS.ErrnoException>((resume) => {
    fs.read(fd, buffer, filled, buffer.length - filled, position, (error, count) =>
      resume(error === null ? Effect.succeed(count) : Effect.fail(error))
    )
  }).pipe(Effect.uninterruptible)

/** Fills a buffer from a position, as far as the file goes. */
const fill = (fd: number, buffer: Buffer, position: number): Effect.Effect<number, NodeJS.ErrnoException> =>
  Effect.gen(function* () {
    let filled = 0
    while (filled < buffer.length) {
      const count = yield* readOnce(fd, buffer, filled, position + filled)
      if (count === 0) break
      filled += count
    }
    return filled
  })

/** Reads on until there are `length` bytes or the file ends, however long it said it was. */
const complete = (fd: number, begun: Buffer, begunCount: number, offset: number, length: number): Buffer => {
  let buffer = begun
  let filled = begunCount
  while (filled < length) {
    if (filled === buffer.length) {
      buffer = Buffer.concat([buffer], Math.min(length, Math.max(2 * filled, 4096)))
    }
    const count = fs.readSync(fd, buffer, filled, buffer.length - filled, offset + filled)
    if (count === 0) break
    filled += count
  }
  return buffer.subarray(0, filled)
}

/** Where a file ends, found by reading on from a position. */
const endFrom = (fd: number, position: number): number => {
  const block = Buffer.allocUnsafe(smallRead)
  let end = position
  while (end - position < maxCounted) {
    const count = fs.readSync(fd, block, 0, block.length, end)
    if (count === 0) break
    end += count
  }
  return end
}

/** The length of a file from which `count` bytes of the `length` wanted were read at `offset`. */
const totalOf = (fd: number, size: number, { length, offset }: Directory.ReadRange, count: number): number => {
  if (count > 0 && count < length) return offset + count
  if (count > 0) return size > offset + count ? size : endFrom(fd, offset + count)
  // Nothing lies at the offset: the size is right, unless none is reported or the file was just cut.
  const now = Number(fs.fstatSync(fd, { bigint: true }).size)
  return now === 0 ? endFrom(fd, 0) : Math.min(now, offset)
}

const makeDirectory = <Held>(
  containment: Containment,
  reach: Reach<Held>,
  root: Root<Held>,
  identity: Directory.Identity,
  realPath: string
): Directory.Directory => {
  /** Refuses what can be no relative path before anything is touched. */
  const checkForm = (asked: string): void => {
    const refuse = (kind: "invalid_input" | "outside_workspace", detail: string) =>
      new Directory.DirectoryError({ kind, path: asked, detail })
    if (asked === "") throw refuse("invalid_input", "expected a path, got nothing")
    if (asked.includes("\0")) throw refuse("invalid_input", "expected a path without NUL")
    if (!asked.startsWith("/")) return
    const normal = withoutTrailingSlash(path.posix.normalize(asked))
    const inside = root.spellings.map((spelling) => below(spelling, normal)).find((rest) => rest !== undefined)
    if (inside === undefined) throw refuse("outside_workspace", "is outside of the workspace; give a path inside it")
    throw refuse("invalid_input", `expected a path relative to the workspace: ${Directory.shown([inside || "."])}`)
  }

  const requireExpected = (
    asked: string,
    file: Directory.FileInfo,
    expected: Directory.ReadRange["expected"]
  ): void => {
    if (expected === undefined) return
    if (expected.location === file.location && Directory.isSame(expected.identity, file.identity)) return
    const detail = "is not the file any more that was looked at before; call again"
    throw new Directory.DirectoryError({ kind: "changed", path: asked, detail })
  }

  /** Opens a file; a small selection is read at once, of a large one the reading is left to be done. */
  const begin = (asked: string, range: Directory.ReadRange) => {
    checkForm(asked)
    const found = walk(reach, root, asked, (at) => openForReading(at, asked))
    const { fd, stat } = found.value
    let isHandedOn = false
    try {
      const file = infoOf(found, stat)
      requireExpected(asked, file, range.expected)
      // One byte more than is reported shows that the file ends there.
      const buffer = Buffer.allocUnsafe(Math.min(range.length, Math.max(0, file.size - range.offset) + 1))
      const end = (count: number): Directory.FileRange => {
        const bytes = complete(fd, buffer, count, range.offset, range.length)
        return { file, bytes, totalBytes: totalOf(fd, file.size, range, bytes.length) }
      }
      if (buffer.length <= smallRead) return { range: end(0) }
      isHandedOn = true
      return { fd, buffer, end }
    } finally {
      if (!isHandedOn) fs.closeSync(fd)
    }
  }

  const read = (
    asked: string,
    range: Directory.ReadRange
  ): Effect.Effect<Directory.FileRange, Directory.DirectoryError> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(
        attempt(asked, () => begin(asked, range)),
        (begun) => {
          if (begun.range !== undefined) return Effect.succeed(begun.range)
          const { buffer, end, fd } = begun
          return restore(fill(fd, buffer, range.offset)).pipe(
            Effect.mapError((error) => toDirectoryError(error, asked)),
            Effect.flatMap((count) => attempt(asked, () => end(count))),
            Effect.ensuring(Effect.sync(() => fs.closeSync(fd)))
          )
        }
      )
    )

  return {
    path: realPath,
    identity,
    file: (asked) =>
      attempt(asked, () => {
        checkForm(asked)
        const found = walk(reach, root, asked, (at) => look(containment, at, asked))
        return infoOf(found, found.value)
      }),
    read
  }
}

const withoutTrailingSlash = (absolute: string): string => absolute.replace(/(?<=.)\/+$/, "")

const spellingsOf = (realPath: string, asked: string): ReadonlyArray<string> => [
  ...new Set([realPath, withoutTrailingSlash(asked)])
]

const noDirectory = (error: Directory.DirectoryError): Directory.DirectoryError => {
  const detail = { not_found: "no such directory", not_a_directory: "is a file, not a directory" } as const
  return error.kind === "not_found" || error.kind === "not_a_directory"
    ? new Directory.DirectoryError({ kind: error.kind, path: error.path, detail: detail[error.kind] })
    : error
}

const openByDescriptor = (asked: string) =>
  Effect.acquireRelease(
    attempt(asked, () => fs.openSync(asked, O_PATH | O_DIRECTORY)),
    (fd) => Effect.sync(() => fs.closeSync(fd))
  ).pipe(
    Effect.flatMap((fd) =>
      attempt(asked, () => {
        // The descriptor's own path, since a link in the one that was asked for may mean another directory by now.
        const realPath = fs.readlinkSync(`/proc/self/fd/${fd}`)
        const root = { held: fd, spellings: spellingsOf(realPath, asked) }
        const identity = identityOf(fs.fstatSync(fd, { bigint: true }))
        return makeDirectory("descriptors", byDescriptor, root, identity, realPath)
      })
    )
  )

const openByPath = (asked: string) =>
  attempt(asked, () => {
    const realPath = fs.realpathSync.native(asked)
    const stat = fs.statSync(realPath, { bigint: true })
    if (!stat.isDirectory()) {
      throw new Directory.DirectoryError({ kind: "not_a_directory", path: asked, detail: "" })
    }
    const root = { held: realPath, spellings: spellingsOf(realPath, asked) }
    return makeDirectory("portable", byPath, root, identityOf(stat), realPath)
  })

/**
 * Whether this machine can walk by descriptor: `/proc/self/fd` must be there and mean what it means on Linux, which it
 * does not on other systems, without /proc, or in a foreign process namespace.
 */
const probe = (): Containment => {
  if (process.platform !== "linux") return "portable"
  let fd: number | undefined
  try {
    fd = fs.openSync("/", O_PATH | O_DIRECTORY)
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
    return { containment, open: (asked) => Effect.mapError(open(asked), noDirectory) }
  })
