/** Directories of mode 0700 on this machine. */
import * as fs from "node:fs"
import * as path from "node:path"
import { Directory, PrivateDirectories } from "@scv/core"
import * as Layer from "effect/Layer"
import { attempt } from "./internal/attempt.ts"
import { codeOf, toDirectoryError } from "./internal/errno.ts"
import { freshName, leftOvers } from "./internal/temporary.ts"
import { byPath, type Steps, walk } from "./internal/walk.ts"

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_RDONLY, O_WRONLY } = fs.constants

const mode = 0o700

/** Makes one directory, of which the umask takes nothing away. Answers with whether it was missing. */
const makeOne = (at: string): boolean => {
  try {
    fs.mkdirSync(at, { mode })
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false
    throw error
  }
  fs.chmodSync(at, mode)
  return true
}

const make = (at: string): void => {
  try {
    if (makeOne(at)) return
  } catch (error) {
    if (codeOf(error) !== "ENOENT" || at === path.dirname(at)) throw error
    make(path.dirname(at))
    makeOne(at)
  }
}

const noDirectory = (at: string, detail = "is a file, not a directory") =>
  new Directory.DirectoryError({ kind: "not_a_directory", path: at, detail })

const close = (at: string): void => {
  const stat = fs.statSync(at)
  if (!stat.isDirectory()) throw noDirectory(at)
  if ((stat.mode & 0o7777) !== mode) fs.chmodSync(at, mode)
}

/**
 * Makes what is missing of a directory below `root`, and answers with where it is. Links in it may be of the making of
 * whoever lives there, so that what is made stays inside. By path, not by descriptor: who could win a race against this
 * has the power of the user already.
 */
const makeBelow = (root: string, name: string): string => {
  const asked = path.join(root, name)
  const steps: Steps<string, true> = {
    directory: () => true,
    missing: (held, next) => {
      makeOne(byPath.at(held, next))
      return undefined
    }
  }
  try {
    return path.join(root, walk(byPath, { held: root, spellings: [root] }, name, steps).location)
  } catch (error) {
    const { detail, kind } = toDirectoryError(error, asked)
    if (kind === "outside_workspace") throw noDirectory(asked, `a link on the way leads out of ${root}; remove it`)
    throw new Directory.DirectoryError({ kind, path: asked, detail })
  }
}

/** What a link leads to; undefined for what is no link. */
const targetOf = (at: string): string | undefined => {
  try {
    return fs.readlinkSync(at)
  } catch {
    return undefined
  }
}

const link = (root: string, name: string, target: string): void => {
  if (!fs.existsSync(target)) return
  const at = path.join(makeBelow(root, path.dirname(name)), path.basename(name))
  const found = targetOf(at)
  if (found === target) return
  if (found !== undefined) fs.rmSync(at, { force: true })
  try {
    fs.symlinkSync(target, at)
  } catch (error) {
    // What has the name and is no link is the directory's own.
    if (codeOf(error) !== "EEXIST") throw error
  }
}

const flushed = (at: string, flags: number, use: (fd: number) => void): void => {
  const fd = fs.openSync(at, flags, 0o600)
  try {
    use(fd)
    fs.fsyncSync(fd)
  } finally {
    fs.closeSync(fd)
  }
}

const requireReplaceable = (root: string, name: string): void => {
  if (fs.lstatSync(path.join(root, name), { throwIfNoEntry: false })?.isDirectory() !== true) return
  throw new Directory.DirectoryError({ kind: "not_a_file", path: name, detail: "is a directory, not a file" })
}

const put = (root: string, files: Readonly<Record<string, Uint8Array>>): void => {
  // What a killed one left may hold a key.
  for (const name of leftOvers(fs.readdirSync(root))) fs.rmSync(path.join(root, name), { force: true })
  for (const name of Object.keys(files)) requireReplaceable(root, name)
  const written: Array<readonly [temporary: string, name: string]> = []
  try {
    for (const [name, content] of Object.entries(files)) {
      const temporary = path.join(root, freshName())
      written.push([temporary, name])
      flushed(temporary, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY, (fd) => {
        fs.fchmodSync(fd, 0o600)
        fs.writeFileSync(fd, content)
      })
    }
    for (const [temporary, name] of written) fs.renameSync(temporary, path.join(root, name))
  } catch (error) {
    for (const [temporary] of written) fs.rmSync(temporary, { force: true })
    throw error
  }
  try {
    flushed(root, O_RDONLY | O_DIRECTORY, () => {})
  } catch {
    // What is in place stays in place, whether or not the device says that it keeps it.
  }
}

/** Private directories on this machine. */
export const layer: Layer.Layer<PrivateDirectories.PrivateDirectories> = Layer.succeed(
  PrivateDirectories.PrivateDirectories,
  {
    ensure: (directory) =>
      attempt(directory.path, () => {
        make(directory.path)
        close(directory.path)
        const root = fs.realpathSync.native(directory.path)
        for (const name of directory.below) makeBelow(root, name)
        for (const [name, target] of Object.entries(directory.links)) link(root, name, target)
      }),
    put: (at, files) => attempt(at, () => put(at, files))
  }
)
