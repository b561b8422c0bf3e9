/** Lists the names in a directory. */
import { isUtf8 } from "node:buffer"
import * as fs from "node:fs"
import { Directory } from "@scv/core"
import { type Reach, type Root, walkInto } from "./walk.ts"

/** How many names are asked of the system at once. */
const bufferSize = 1024

const kindOf = (entry: fs.Dirent<Buffer>): Directory.DirectoryEntry["kind"] => {
  if (entry.isSymbolicLink()) return "link"
  if (entry.isDirectory()) return "directory"
  return entry.isFile() ? "file" : "other"
}

/** `Directory.list` below a root. Throws like the walk. */
export const list = <Held>(
  reach: Reach<Held>,
  root: Root<Held>,
  path: string,
  max: number
): ReadonlyArray<Directory.DirectoryEntry> => {
  const { value: held } = walkInto(reach, root, path)
  const found: Array<fs.Dirent<Buffer>> = []
  try {
    // The types of Node do not know that a directory can be read as bytes.
    const options = { encoding: "buffer" as BufferEncoding, bufferSize }
    const opened = fs.opendirSync(reach.at(held, "."), options)
    try {
      for (let entry = opened.readSync(); entry !== null; entry = opened.readSync()) {
        if (found.length === max) {
          throw new Directory.DirectoryError({ kind: "limit", path, detail: `holds more than ${max} names` })
        }
        found.push(entry as unknown as fs.Dirent<Buffer>)
      }
    } finally {
      opened.closeSync()
    }
  } finally {
    reach.release(held)
  }
  return found
    .sort((a, b) => Buffer.compare(a.name, b.name))
    .map((entry) => ({ name: entry.name.toString(), kind: kindOf(entry), isText: isUtf8(entry.name) }))
}
