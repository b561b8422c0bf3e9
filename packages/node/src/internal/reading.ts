/** Reads parts of regular files, and never trusts the size that a file reports. */
import { createHash } from "node:crypto"
import * as fs from "node:fs"
import { Directory } from "@scv/core"
import * as Effect from "effect/Effect"
import { attempt } from "./attempt.ts"
import { fill } from "./descriptor.ts"
import { toDirectoryError } from "./errno.ts"
import { infoOf, requireFile } from "./file.ts"
import { type Reach, type Root, walk } from "./walk.ts"

const { O_NOCTTY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = fs.constants

/** Up to this many bytes a file is read in synchronous calls, which are faster than a trip to a thread. */
const smallRead = 65_536

/** The least that is asked for, where the caller wants as much. */
const smallestRead = 4096

/** How far, in bytes, a file that holds more than it reports is counted. */
const maxCounted = 64 * 1024 * 1024

/** Opens a regular file without following a link and without blocking. `path` is for messages. */
export const openFile = (at: string, path: string): { readonly fd: number; readonly stat: fs.BigIntStats } => {
  const fd = fs.openSync(at, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
  try {
    const stat = fs.fstatSync(fd, { bigint: true })
    requireFile(stat, path)
    return { fd, stat }
  } catch (error) {
    fs.closeSync(fd)
    throw error
  }
}

/** Reads on until there are `length` bytes or the file ends, however long it said it was. */
const complete = (fd: number, begun: Buffer, begunCount: number, { length, offset }: Directory.ReadRange): Buffer => {
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

/** Where a file ends that does not say so itself, found by reading all of it. */
const countedEnd = (fd: number): number => {
  const block = Buffer.allocUnsafe(smallRead)
  let end = 0
  while (end < maxCounted) {
    const count = fs.readSync(fd, block, 0, block.length, end)
    if (count === 0) break
    end += count
  }
  return end
}

/** The length of a file: what it reports, where its last byte is there, else what is found by reading it. */
const lengthOf = (fd: number): number => {
  const size = Number(fs.fstatSync(fd, { bigint: true }).size)
  return size > 0 && fs.readSync(fd, Buffer.allocUnsafe(1), 0, 1, size - 1) === 1 ? size : countedEnd(fd)
}

/** The length of a file from which `count` bytes of the `length` wanted were read at `offset`. */
const totalOf = (fd: number, { length, offset }: Directory.ReadRange, count: number): number => {
  if (count > 0 && count < length) return offset + count
  return count > 0 ? Math.max(lengthOf(fd), offset + count) : lengthOf(fd)
}

const requireExpected = (path: string, file: Directory.FileInfo, expected: Directory.ReadRange["expected"]): void => {
  if (expected === undefined) return
  if (expected.location === file.location && Directory.isSame(expected.identity, file.identity)) return
  const detail = "is not the file any more that was looked at before; call again"
  throw new Directory.DirectoryError({ kind: "changed", path, detail })
}

/** Opens a file; a small selection is read at once, of a large one the reading is left to be done. */
const begin = <Held>(reach: Reach<Held>, root: Root<Held>, path: string, range: Directory.ReadRange) => {
  const found = walk(reach, root, path, { last: (held, name) => openFile(reach.at(held, name), path) })
  const { fd, stat } = found.value
  let isHandedOn = false
  try {
    const file = infoOf(found, stat)
    requireExpected(path, file, range.expected)
    // A byte more than is reported shows that the file ends there. A first read is never small, since files that report
    // no size may answer one read alone.
    const expected = Math.max(file.size - range.offset + 1, smallestRead)
    const buffer = Buffer.allocUnsafe(Math.min(range.length, expected))
    const end = (count: number): Directory.FileRange => {
      const bytes = complete(fd, buffer, count, range)
      return { file, bytes, totalBytes: totalOf(fd, range, bytes.length) }
    }
    if (buffer.length <= smallRead) return { range: end(0) }
    isHandedOn = true
    return { fd, buffer, end }
  } finally {
    if (!isHandedOn) fs.closeSync(fd)
  }
}

/** `Directory.read` below a root. */
export const read = <Held>(
  reach: Reach<Held>,
  root: Root<Held>,
  path: string,
  range: Directory.ReadRange
): Effect.Effect<Directory.FileRange, Directory.DirectoryError> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(
      attempt(path, () => begin(reach, root, path, range)),
      (begun) => {
        if (begun.range !== undefined) return Effect.succeed(begun.range)
        const { buffer, end, fd } = begun
        return restore(fill(fd, buffer, range.offset)).pipe(
          Effect.mapError((error) => toDirectoryError(error, path)),
          Effect.flatMap((count) => attempt(path, () => end(count))),
          Effect.ensuring(Effect.sync(() => fs.closeSync(fd)))
        )
      }
    )
  )

const hashBlock = 262_144

/** The SHA-256 of a file that is opened, hashed in pieces, and closed. */
export const sha256Of = (
  opened: Effect.Effect<{ readonly fd: number }, Directory.DirectoryError>,
  path: string
): Effect.Effect<string, Directory.DirectoryError> =>
  Effect.acquireUseRelease(
    opened,
    ({ fd }) =>
      Effect.gen(function* () {
        const hash = createHash("sha256")
        const buffer = Buffer.allocUnsafe(hashBlock)
        for (let position = 0; ; ) {
          const count = yield* Effect.mapError(fill(fd, buffer, position), (error) => toDirectoryError(error, path))
          hash.update(buffer.subarray(0, count))
          position += count
          if (count < buffer.length) return hash.digest("hex")
        }
      }),
    ({ fd }) => Effect.sync(() => fs.closeSync(fd))
  )

/** `Directory.sha256` below a root. */
export const sha256 = <Held>(
  reach: Reach<Held>,
  root: Root<Held>,
  path: string,
  expected: Pick<Directory.FileInfo, "location" | "identity">
): Effect.Effect<string, Directory.DirectoryError> =>
  sha256Of(
    attempt(path, () => {
      const found = walk(reach, root, path, { last: (held, name) => openFile(reach.at(held, name), path) })
      try {
        requireExpected(path, infoOf(found, found.value.stat), expected)
        return found.value
      } catch (error) {
        fs.closeSync(found.value.fd)
        throw error
      }
    }),
    path
  )
