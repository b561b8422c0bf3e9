/**
 * One file a call under way, so that the next start can end what is left where even the watcher was killed. Source:
 * design, "Process lifecycle, decided".
 */
import * as fs from "node:fs"
import * as path from "node:path"
import { isLiving, type Owner, ownerOfThis } from "./owner.ts"
import type { ProcessTable } from "./processTable.ts"

export interface Records {
  readonly add: (tag: string) => void
  readonly remove: (tag: string) => void
}

/** Without a place to keep them, none are kept. */
export const none: Records = { add: () => {}, remove: () => {} }

const tagPattern = /^[A-Z][A-Z0-9_]*[0-9a-f]{16}$/

/** Records in a directory, which is made where it is missing. One that cannot be written to keeps none. */
export const make = (directory: string): Records => {
  const fileOf = (tag: string) => path.join(directory, tag)
  return {
    add: (tag) => {
      const record = JSON.stringify(ownerOfThis())
      try {
        fs.writeFileSync(fileOf(tag), record, { mode: 0o600 })
      } catch {
        try {
          fs.mkdirSync(directory, { recursive: true, mode: 0o700 })
          fs.writeFileSync(fileOf(tag), record, { mode: 0o600 })
        } catch {
          // A home that is read-only or full: the watcher remains.
        }
      }
    },
    remove: (tag) => {
      try {
        fs.rmSync(fileOf(tag), { force: true })
      } catch {
        // As above.
      }
    }
  }
}

const ownerIn = (file: string): Owner | undefined => {
  try {
    const { namespace, pid, start } = JSON.parse(fs.readFileSync(file, "utf8"))
    const isOwner = [namespace, pid, start].every((field) => typeof field === "string")
    return isOwner ? { namespace, pid, start } : undefined
  } catch {
    return undefined
  }
}

/** How often a tag is looked for again while something is found to kill. */
const maxLooks = 20

const endTagged = async (table: ProcessTable, tags: ReadonlyArray<string>): Promise<void> => {
  for (let look = 0; look < maxLooks; look++) {
    const entries = await table.list()
    const tagged = entries.filter(
      ({ isAlive, pid }) => isAlive && pid !== process.pid && tags.some((tag) => table.hasTag(pid, tag))
    )
    if (tagged.length === 0) return
    for (const { pid } of tagged) {
      try {
        process.kill(pid, "SIGKILL")
      } catch {
        // Gone by itself.
      }
    }
  }
}

/** Ends what is left of calls whose runtime is no more, and forgets them. */
export const sweep = async (directory: string, table: ProcessTable): Promise<void> => {
  let names: ReadonlyArray<string>
  try {
    names = fs.readdirSync(directory)
  } catch {
    return
  }
  const orphans = names.filter((name) => {
    if (!tagPattern.test(name)) return false
    const owner = ownerIn(path.join(directory, name))
    return owner !== undefined && !isLiving(owner)
  })
  if (orphans.length === 0) return
  await endTagged(table, orphans)
  for (const name of orphans) fs.rmSync(path.join(directory, name), { force: true })
}
