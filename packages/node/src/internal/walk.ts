/**
 * The contained walk: a relative path is followed one component at a time from a directory that is held, never through
 * a link that the kernel would follow. A link is read and its text walked like the rest, so whatever another process
 * swaps in meanwhile can change which file inside is meant, and can never lead outside. All calls are synchronous: they
 * touch metadata only. Source: design, "Containment"; the same rules as openat2(2) with RESOLVE_BENEATH.
 */
import * as fs from "node:fs"
import { Directory, Utf8 } from "@scv/core"
import { codeOf } from "./errno.ts"

/** How a platform holds a directory and reaches the names in it. */
export interface Reach<Held> {
  /** A path that names an entry of a held directory. */
  readonly at: (held: Held, name: string) => string
  /** Holds a sub-directory. Throws ELOOP or ENOTDIR for a link and ENOTDIR for anything else but a directory. */
  readonly enter: (held: Held, name: string) => Held
  /** Holds a directory once more, so that it outlives the walk. */
  readonly keep: (held: Held) => Held
  /** The absolute path of a held directory, as it is now. */
  readonly pathOf: (held: Held) => string
  readonly release: (held: Held) => void
}

/** O_PATH of open(2), which Node does not name; the same number on every Linux architecture that Node supports. */
export const O_PATH = 0o10000000

const { O_DIRECTORY, O_NOFOLLOW } = fs.constants

/** By descriptor: `/proc/self/fd/N/name` is what openat(2) does. Linux only, without a race. */
export const byDescriptor: Reach<number> = {
  at: (held, name) => `/proc/self/fd/${held}/${name}`,
  enter: (held, name) => fs.openSync(`/proc/self/fd/${held}/${name}`, O_PATH | O_DIRECTORY | O_NOFOLLOW),
  keep: (held) => fs.openSync(`/proc/self/fd/${held}/.`, O_PATH | O_DIRECTORY),
  pathOf: (held) => fs.readlinkSync(`/proc/self/fd/${held}`),
  release: fs.closeSync
}

const refusal = (code: string): Error => Object.assign(new Error(code), { code })

/** By path: anywhere, with a race between a check and the use of what it checked. */
export const byPath: Reach<string> = {
  at: (held, name) => `${held}/${name}`,
  enter: (held, name) => {
    const path = `${held}/${name}`
    const stat = fs.lstatSync(path)
    if (stat.isSymbolicLink()) throw refusal("ELOOP")
    if (!stat.isDirectory()) throw refusal("ENOTDIR")
    return path
  },
  keep: (held) => held,
  pathOf: (held) => held,
  release: () => {}
}

/** Where a walk begins and what it must not leave. */
export interface Root<Held> {
  readonly held: Held
  /** The absolute spellings under which the directory is known, none ending in a slash unless it is `/`. */
  readonly spellings: ReadonlyArray<string>
}

/** What the last step answers when it finds a link in the place of what it wants. */
export const isLink = Symbol("isLink")

/** Links that one path may lead through, as in the kernel. */
const maxLinks = 40

/** Times that a component may be a link when opened and none when read, before the walk gives up. */
const maxRaces = 64

/** The part of an absolute path below a directory of that spelling, or undefined where it lies elsewhere. */
export const below = (spelling: string, path: string): string | undefined => {
  if (spelling === "/") return path.replace(/^\/+/, "")
  if (path === spelling) return ""
  return path.startsWith(`${spelling}/`) ? path.slice(spelling.length + 1) : undefined
}

/** An absolute path as one from the root, by its spelling alone; undefined where that is none of the root's. */
export const fromRoot = ({ spellings }: Root<unknown>, absolute: string): string | undefined => {
  // Only what changes no meaning: `..` behind a link is not what it looks like.
  const plain = absolute.replace(/\/(?:\.?\/)+/g, "/")
  return spellings.map((spelling) => below(spelling, plain)).find((rest) => rest !== undefined)
}

/** What a walk does at its end and on the way. Both may throw system errors. */
export interface Steps<Held, A> {
  /**
   * At the last component: must not follow a link, and answers {@link isLink} or throws ELOOP for one. Where it is left
   * out, that one is entered like those before it.
   */
  readonly last?: (held: Held, name: string) => A | typeof isLink
  /**
   * At a component, not the last, that is not there: answers with what the whole walk comes to, or with undefined
   * after it has made the directory. Default: the path is not found.
   */
  readonly missing?: (held: Held, name: string) => A | undefined
  /** At the end of a path that leads to a directory. Default: it is no file. */
  readonly directory?: (held: Held) => A
}

/** The end of a walk: where it is, as components joined by `/`, and the texts of the links that led there. */
export interface Arrival<A> {
  readonly location: string
  readonly links: ReadonlyArray<string>
  readonly value: A
}

/** Walks a path to its last component. Throws system errors and {@link Directory.DirectoryError}. */
export const walk = <Held, A>(
  reach: Reach<Held>,
  root: Root<Held>,
  path: string,
  { directory, last, missing }: Steps<Held, A>
): Arrival<A> => {
  const fail = (kind: Directory.DirectoryError["kind"], detail: string) =>
    new Directory.DirectoryError({ kind, path, detail })
  const todo = path.split("/").reverse()
  const held: Array<Held> = [root.held]
  const names: Array<string> = []
  const links: Array<string> = []
  let races = maxRaces

  const leave = () => {
    reach.release(held.pop()!)
    names.pop()
  }

  /** A target that is no UTF-8 would be walked as another name. */
  const textOf = (target: Uint8Array): string => {
    const text = Utf8.decodeStrict(target)
    if (text === undefined) throw fail("io", "leads through a link to a name that is not UTF-8")
    return text
  }

  const follow = (target: string) => {
    if (links.push(target) > maxLinks) throw fail("io", `more than ${maxLinks} links on the way`)
    if (!target.startsWith("/")) {
      todo.push(...target.split("/").reverse())
      return
    }
    const inside = fromRoot(root, target)
    if (inside === undefined) throw fail("outside_workspace", "leads through a link out of the workspace")
    while (held.length > 1) leave()
    todo.push(...inside.split("/").reverse())
  }

  /** What is left of a path below a directory that is not there: only names can follow. */
  const onward = (rest: ReadonlyArray<string>): ReadonlyArray<string> => {
    const components = rest.toReversed().filter((name) => name !== "" && name !== ".")
    if (components.includes("..")) throw fail("not_found", "goes back from a directory that does not exist")
    if (rest[0] === "" || rest[0] === ".") throw fail("not_a_file", "names a directory, not a file")
    if (components.some((name) => Buffer.byteLength(name) > 255)) throw refusal("ENAMETOOLONG")
    return components
  }

  /** What became of a component that could not be opened for what it should be. */
  const explain = (name: string, isLast: boolean, error: unknown) => {
    const at = reach.at(held.at(-1)!, name)
    let target: string
    try {
      target = textOf(fs.readlinkSync(at, "buffer"))
    } catch (unread) {
      if (unread instanceof Directory.DirectoryError) throw unread
      const code = codeOf(unread)
      if (code !== "EINVAL" && code !== "ENOENT") throw error
      const found = fs.lstatSync(at, { throwIfNoEntry: false })
      if (found !== undefined && !found.isSymbolicLink() && !found.isDirectory() && !isLast) {
        throw fail("not_a_directory", `${Directory.shown([...names, name])} is a file, not a directory`)
      }
      if (--races < 0) throw fail("changed", "a part of the path is being exchanged all the time")
      todo.push(name)
      return
    }
    follow(target)
  }

  try {
    for (;;) {
      const name = todo.pop()
      if (name === undefined) {
        if (directory === undefined) throw fail("not_a_file", "is a directory, not a file")
        return { location: names.join("/"), links, value: directory(held.at(-1)!) }
      }
      if (name === "" || name === ".") continue
      if (name === "..") {
        if (held.length === 1) throw fail("outside_workspace", "leads out of the workspace")
        leave()
        continue
      }
      const isLast = last !== undefined && todo.length === 0
      try {
        if (isLast) {
          const value = last(held.at(-1)!, name)
          if (value !== isLink) return { location: [...names, name].join("/"), links, value }
        } else {
          held.push(reach.enter(held.at(-1)!, name))
          names.push(name)
          continue
        }
      } catch (error) {
        const code = codeOf(error)
        if (code === "ENOENT" && !isLast) {
          const value = missing?.(held.at(-1)!, name)
          if (value !== undefined) return { location: [...names, name, ...onward(todo)].join("/"), links, value }
          if (missing !== undefined) {
            todo.push(name)
            continue
          }
          throw fail("not_found", `no such file: ${Directory.shown([...names, name])} does not exist`)
        }
        if (code !== "ELOOP" && code !== "ENOTDIR") throw error
        explain(name, isLast, error)
        continue
      }
      explain(name, isLast, refusal("ELOOP"))
    }
  } finally {
    while (held.length > 1) reach.release(held.pop()!)
  }
}

/** Walks a path to a directory and holds that, for whoever called to release. Throws like {@link walk}. */
export const walkInto = <Held>(reach: Reach<Held>, root: Root<Held>, path: string): Arrival<Held> =>
  walk(reach, root, path, { directory: reach.keep })
