/**
 * The temporary files of writes. Their names say which process made them, so that what a killed one left behind can be
 * told from what a living one is working on.
 */
import { randomBytes } from "node:crypto"
import { isLiving, ownerOfThis } from "./owner.ts"

const pattern = /^\.scv-write-(\d+)-(\d+)-(\d+)-[0-9a-f]{16}$/

/** A name that no other write has. */
export const freshName = (): string => {
  const { namespace, pid, start } = ownerOfThis()
  return `.scv-write-${namespace}-${pid}-${start}-${randomBytes(8).toString("hex")}`
}

/** The names among those of a directory that a process left behind which is no more. */
export const leftOvers = (names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.filter((name) => {
    const [, namespace, pid, start] = pattern.exec(name) ?? []
    return namespace !== undefined && pid !== undefined && start !== undefined && !isLiving({ namespace, pid, start })
  })
