/**
 * The files of the audit log: `2025-01-31.1.jsonl`, `2025-01-31.2.jsonl` and so on, by day (UTC) and by size. Nothing is
 * ever renamed or written anew, so any number of processes can append at once.
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { Directory } from "@scv/core"
import { codeOf } from "./errno.ts"
import { requireFile } from "./file.ts"

export interface Bounds {
  /** The most bytes of all files together. */
  readonly maxBytes: number
  /** The days that a file is kept beyond its own. */
  readonly keepDays: number
}

/** The most bytes of one file, unless a single line is longer. */
const fileBytes = ({ maxBytes }: Bounds): number => Math.min(16 * 1024 * 1024, Math.floor(maxBytes / 8))

export interface AuditFile {
  readonly name: string
  readonly day: string
  readonly number: number
}

const nameOf = (day: string, number: number): string => `${day}.${number}.jsonl`

const pattern = /^(\d{4}-\d{2}-\d{2})\.([1-9]\d{0,8})\.jsonl$/

/** The files that there are, oldest first. */
export const list = (directory: string): ReadonlyArray<AuditFile> =>
  fs
    .readdirSync(directory)
    .flatMap((name): ReadonlyArray<AuditFile> => {
      const [, day, number] = pattern.exec(name) ?? []
      return day === undefined ? [] : [{ name, day, number: Number(number) }]
    })
    .sort((a, b) => (a.day === b.day ? a.number - b.number : a.day < b.day ? -1 : 1))

const newline = Buffer.from("\n")

/** Bits that let others in. */
const others = 0o077

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR } = fs.constants

/** What is there in the place of the directory; undefined where nothing is. Throws for a link and for a file. */
export const lookAtDirectory = (directory: string): fs.Stats | undefined => {
  const stat = fs.lstatSync(directory, { throwIfNoEntry: false })
  if (stat === undefined || stat.isDirectory()) return stat
  const detail = stat.isSymbolicLink() ? "is a link, and none is followed here" : "is not a directory"
  throw new Directory.DirectoryError({ kind: "not_a_directory", path: directory, detail })
}

/** Makes the directory where it is missing, private to the user, and takes it from others where it is not. */
const requireDirectory = (directory: string): void => {
  const stat = lookAtDirectory(directory)
  if (stat === undefined) fs.mkdirSync(directory, { recursive: true, mode: 0o700 })
  else if ((stat.mode & others) !== 0) fs.chmodSync(directory, 0o700)
}

/** Opens a file of the log, which no link may stand for, and gives its size. It must be closed. */
const openFile = (file: string, flags: number): { readonly fd: number; readonly size: number } => {
  let fd: number
  try {
    fd = fs.openSync(file, flags | O_NOFOLLOW | O_NONBLOCK, 0o600)
  } catch (error) {
    if (codeOf(error) !== "ELOOP") throw error
    throw new Directory.DirectoryError({ kind: "io", path: file, detail: "is a link, and none is followed here" })
  }
  try {
    const stat = fs.fstatSync(fd, { bigint: true })
    requireFile(stat, file)
    if ((flags & O_APPEND) !== 0 && (Number(stat.mode) & others) !== 0) fs.fchmodSync(fd, 0o600)
    return { fd, size: Number(stat.size) }
  } catch (error) {
    fs.closeSync(fd)
    throw error
  }
}

/** Opens a file of the log for reading. */
export const openToRead = (file: string): number => openFile(file, O_RDONLY).fd

/** Deletes what is older than the bounds allow, and the oldest of what is more, so that one more file has room. */
const prune = (directory: string, bounds: Bounds, today: string): void => {
  const oldest = new Date(Date.parse(today) - bounds.keepDays * 86_400_000).toISOString().slice(0, 10)
  let room = bounds.maxBytes - fileBytes(bounds)
  for (const { day, name } of list(directory).toReversed()) {
    const file = path.join(directory, name)
    try {
      room -= fs.lstatSync(file).size
      if (room < 0 || day < oldest) fs.rmSync(file, { force: true })
    } catch (error) {
      // Another process was faster, or the file is another user's: the newer entries matter more.
      if (codeOf(error) === undefined) throw error
    }
  }
}

interface Opened {
  readonly fd: number
  readonly day: string
  /** Whether its last line has no end, because the disk was full in the middle of it. */
  isTorn: boolean
}

const isTorn = (fd: number, size: number): boolean => {
  const last = Buffer.alloc(1)
  return size > 0 && fs.readSync(fd, last, 0, 1, size - 1) === 1 && !last.equals(newline)
}

const hasRoom = (size: number, length: number, bounds: Bounds): boolean =>
  size === 0 || size + length <= fileBytes(bounds)

/** Opens the newest file of a day, or the one after it where that is full. */
const openNewest = (directory: string, day: string, length: number, bounds: Bounds): Opened => {
  requireDirectory(directory)
  const newest = list(directory).findLast((file) => file.day === day)
  for (let number = newest?.number ?? 1; ; number++) {
    const { fd, size } = openFile(path.join(directory, nameOf(day, number)), O_RDWR | O_APPEND | O_CREAT)
    try {
      if (hasRoom(size, length, bounds)) {
        if (size === 0) prune(directory, bounds, day)
        return { fd, day, isTorn: isTorn(fd, size) }
      }
    } catch (error) {
      fs.closeSync(fd)
      throw error
    }
    fs.closeSync(fd)
  }
}

/** What appends to the log in a directory; opens nothing before the first line. It must be closed. */
export const appender = (directory: string) => {
  let opened: Opened | undefined

  const close = (): void => {
    const last = opened
    opened = undefined
    if (last !== undefined) fs.closeSync(last.fd)
  }

  /** The file for a line, which is another one when a day begins, the file is full, or somebody took it away. */
  const current = (day: string, length: number, bounds: Bounds): Opened => {
    if (opened !== undefined) {
      const { nlink, size } = fs.fstatSync(opened.fd)
      if (opened.day >= day && nlink > 0 && hasRoom(size, length, bounds)) return opened
      close()
    }
    opened = openNewest(directory, day, length, bounds)
    return opened
  }

  /** One write(2), which O_APPEND puts behind all others; whether all of it went through. */
  const write = (fd: number, bytes: Uint8Array): boolean => fs.writeSync(fd, bytes) === bytes.length

  return {
    /** Appends a line with its end, written at a time (ISO 8601, UTC). Throws errors of the system. */
    append: (line: string, time: string, bounds: Bounds): void => {
      const bytes = Buffer.from(line)
      try {
        const file = current(time.slice(0, 10), bytes.length, bounds)
        const isWhole = write(file.fd, file.isTorn ? Buffer.concat([newline, bytes]) : bytes)
        file.isTorn = false
        // What went through stays as a broken line; the whole one comes on a line of its own.
        if (!isWhole && !write(file.fd, Buffer.concat([newline, bytes]))) {
          throw Object.assign(new Error("short write"), { code: "ENOSPC" })
        }
      } catch (error) {
        // The next line finds out anew what there is.
        close()
        throw error
      }
    },
    close
  }
}

/** The bytes of a piece that is read at once. */
const pieceBytes = 65_536

/** The next bytes of an open file, none at its end. */
export const readPiece = (fd: number): Uint8Array => {
  const piece = Buffer.allocUnsafe(pieceBytes)
  return piece.subarray(0, fs.readSync(fd, piece, 0, pieceBytes, null))
}
