/** What the system says of a file, in the words of core. */
import * as fs from "node:fs"
import { Directory } from "@scv/core"
import { type Arrival, isLink, O_PATH, type Reach } from "./walk.ts"

export const identityOf = (stat: fs.BigIntStats): Directory.Identity => ({
  dev: String(stat.dev),
  ino: String(stat.ino)
})

export const directoryIdentity = <Held>(reach: Reach<Held>, held: Held): Directory.Identity =>
  identityOf(fs.statSync(reach.at(held, "."), { bigint: true }))

/** The change time moves with every change of content, mode, owner and links, and nobody can set it. */
export const versionOf = (stat: fs.BigIntStats): string => `${stat.size}:${stat.mtimeNs}:${stat.ctimeNs}`

export const infoOf = ({ links, location }: Arrival<unknown>, stat: fs.BigIntStats): Directory.FileInfo => ({
  location,
  links,
  identity: identityOf(stat),
  version: versionOf(stat),
  size: Number(stat.size),
  mode: Number(stat.mode & 0o7777n)
})

/** Whether a file is still what it was. */
export const isVersion = (stat: fs.BigIntStats, { identity, version }: Directory.Version): boolean =>
  Directory.isSame(identityOf(stat), identity) && versionOf(stat) === version

const kindOf = (stat: fs.BigIntStats): string => {
  if (stat.isDirectory()) return "a directory"
  if (stat.isFIFO()) return "a FIFO"
  if (stat.isSocket()) return "a socket"
  return "a device"
}

/** Throws `not_a_file` for anything but a regular file. */
export const requireFile = (stat: fs.BigIntStats, path: string): void => {
  if (stat.isFile()) return
  throw new Directory.DirectoryError({ kind: "not_a_file", path, detail: `is ${kindOf(stat)}, not a regular file` })
}

/** What somebody wants to do to a file. */
type Access = "read" | "write"

const requireAccess = (at: string, stat: fs.BigIntStats, access: Access, path: string): void => {
  requireFile(stat, path)
  if (access === "write" && (stat.mode & 0o222n) === 0n) {
    const detail = "is read-only: nobody has permission to write it"
    throw new Directory.DirectoryError({ kind: "permission", path, detail })
  }
  fs.accessSync(at, access === "read" ? fs.constants.R_OK : fs.constants.W_OK)
}

type Look = (at: string, access: Access, path: string) => fs.BigIntStats | typeof isLink

/**
 * Looks at a name that should be a regular file to which there is access, without opening what it stands for: to open a
 * FIFO or a device can have effects. `path` is for messages.
 */
export const lookByDescriptor: Look = (at, access, path) => {
  const fd = fs.openSync(at, O_PATH | fs.constants.O_NOFOLLOW)
  try {
    const stat = fs.fstatSync(fd, { bigint: true })
    if (stat.isSymbolicLink()) return isLink
    requireAccess(`/proc/self/fd/${fd}`, stat, access, path)
    return stat
  } finally {
    fs.closeSync(fd)
  }
}

/** The same where there are no such descriptors. */
export const lookByPath: Look = (at, access, path) => {
  const stat = fs.lstatSync(at, { bigint: true })
  if (stat.isSymbolicLink()) return isLink
  requireAccess(at, stat, access, path)
  return stat
}
