import * as fs from "node:fs"
import * as path from "node:path"
import { Home } from "@scv/core"
import * as Layer from "effect/Layer"

/** Links that one path may lead through, as in the kernel. */
const maxLinks = 40

const readLink = (at: string): string | undefined => {
  try {
    return fs.readlinkSync(at)
  } catch {
    return undefined
  }
}

/**
 * Where an absolute path leads, as the kernel walks it: links are followed, also those that lead to nothing yet, and
 * `..` means the parent of where they lead.
 */
export const resolve = (absolute: string): string => {
  const todo = absolute.split("/").reverse()
  let at = "/"
  let links = maxLinks
  for (let name = todo.pop(); name !== undefined; name = todo.pop()) {
    if (name === "" || name === ".") continue
    if (name === "..") {
      at = path.dirname(at)
      continue
    }
    const next = path.join(at, name)
    const target = links > 0 ? readLink(next) : undefined
    if (target === undefined) {
      at = next
      continue
    }
    links--
    if (target.startsWith("/")) at = "/"
    todo.push(...target.split("/").reverse())
  }
  return at
}

/** SCV's own directory at an absolute path, which need not exist, and further files that configure SCV. */
export const layer = (absolute: string, files: ReadonlyArray<string> = []): Layer.Layer<Home.Home> =>
  Layer.sync(Home.Home, () => ({ path: resolve(absolute), files: files.map(resolve) }))
