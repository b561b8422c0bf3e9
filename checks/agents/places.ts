/** What is looked at for files that an agent wrote outside of its private home. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

/** Where a file or a folder is, and when it changed last, in milliseconds since 1970. */
interface Entry {
  readonly path: string
  readonly changed: number
  /** In bytes on the disk, shared among the names of a file. */
  readonly size: number
}

/** A path and all below it; nothing where there is none. Links are not followed. */
const entriesOf = (at: string): ReadonlyArray<Entry> => {
  const found = fs.lstatSync(at, { throwIfNoEntry: false })
  if (found === undefined) return []
  const below = found.isDirectory() ? fs.readdirSync(at).flatMap((name) => entriesOf(path.join(at, name))) : []
  return [
    { path: at, changed: found.ctimeMs, size: (found.blocks * 512) / (found.isFile() ? found.nlink : 1) },
    ...below
  ]
}

/** What a directory takes on the disk, in bytes. */
export const sizeOf = (directory: string): number => entriesOf(directory).reduce((sum, { size }) => sum + size, 0)

/** The paths below a directory, relative to it. */
export const pathsBelow = (directory: string): ReadonlyArray<string> =>
  entriesOf(directory)
    .slice(1)
    .map((entry) => path.relative(directory, entry.path))

/** What of some places changed after a moment in milliseconds since 1970. */
export const changedSince = (moment: number, places: ReadonlyArray<string>): ReadonlyArray<string> =>
  places
    .flatMap(entriesOf)
    .filter(({ changed }) => changed > moment)
    .map((entry) => entry.path)

/** The agents' state in the home directory of whoever runs this. */
export const stateOfUser: ReadonlyArray<string> = [...new Set([os.homedir(), os.userInfo().homedir])].flatMap((home) =>
  [".claude", ".claude.json", ".codex", ".pi"].map((name) => path.join(home, name))
)

/** What the agents keep in directories for temporary files that are everybody's, whatever TMPDIR says. */
export const sharedTemporary = (): ReadonlyArray<string> =>
  ["/tmp", "/var/tmp", "/dev/shm"].flatMap((directory) =>
    fs
      .readdirSync(directory)
      .filter((name) => /claude|codex|cc-socks|node-compile-cache|^pi-|jiti/i.test(name))
      .map((name) => path.join(directory, name))
  )

export const modeOf = (at: string): number => fs.statSync(at).mode & 0o7777
