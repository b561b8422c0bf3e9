/** Directories of mode 0700 on this machine. */
import * as fs from "node:fs"
import * as path from "node:path"
import { PrivateDirectories } from "@scv/core"
import * as Layer from "effect/Layer"
import { attempt } from "./internal/attempt.ts"
import { codeOf } from "./internal/errno.ts"

const mode = 0o700

const make = (at: string): void => {
  fs.mkdirSync(at, { recursive: true, mode })
}

const close = (at: string): void => {
  if ((fs.statSync(at).mode & 0o7777) !== mode) fs.chmodSync(at, mode)
}

/** What a link leads to; undefined for what is no link. */
const targetOf = (at: string): string | undefined => {
  try {
    return fs.readlinkSync(at)
  } catch {
    return undefined
  }
}

const link = (at: string, target: string): void => {
  if (!fs.existsSync(target)) return
  make(path.dirname(at))
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

/** Private directories on this machine. */
export const layer: Layer.Layer<PrivateDirectories.PrivateDirectories> = Layer.succeed(
  PrivateDirectories.PrivateDirectories,
  {
    ensure: (directory) =>
      attempt(directory.path, () => {
        make(directory.path)
        close(directory.path)
        for (const name of directory.below) make(path.join(directory.path, name))
        for (const [name, target] of Object.entries(directory.links)) link(path.join(directory.path, name), target)
      })
  }
)
