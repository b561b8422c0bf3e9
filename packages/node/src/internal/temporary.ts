/**
 * The temporary files of writes. Their names say which process made them, so that what a killed one left behind can be
 * told from what a living one is working on.
 */
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"

interface Owner {
  /** The process namespace: in another one the numbers mean other processes. */
  readonly namespace: string
  readonly pid: string
  /** When it started, in the kernel's ticks since boot: a number can be given to another process. */
  readonly start: string
}

const startOf = (pid: string): string => {
  const stat = fs.readFileSync(`/proc/${pid}/stat`, "latin1")
  // Field 22 of proc_pid_stat(5); the second field may hold anything, also blanks and parentheses.
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? ""
}

let self: Owner | undefined

const ownerOfThis = (): Owner => {
  if (self !== undefined) return self
  const pid = String(process.pid)
  try {
    const namespace = String(fs.statSync("/proc/self/ns/pid", { bigint: true }).ino)
    self = { namespace, pid, start: startOf(pid) }
  } catch {
    self = { namespace: "0", pid, start: "0" }
  }
  return self
}

const pattern = /^\.scv-write-(\d+)-(\d+)-(\d+)-[0-9a-f]{16}$/

/** A name that no other write has. */
export const freshName = (): string => {
  const { namespace, pid, start } = ownerOfThis()
  return `.scv-write-${namespace}-${pid}-${start}-${randomBytes(8).toString("hex")}`
}

const isDead = ({ namespace, pid, start }: Owner): boolean => {
  if (namespace !== ownerOfThis().namespace) return false
  try {
    if (namespace !== "0") return startOf(pid) !== start
    process.kill(Number(pid), 0)
    return false
  } catch (error) {
    return error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ESRCH")
  }
}

/** The names among those of a directory that a process left behind which is no more. */
export const leftOvers = (names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.filter((name) => {
    const [, namespace, pid, start] = pattern.exec(name) ?? []
    return namespace !== undefined && pid !== undefined && start !== undefined && isDead({ namespace, pid, start })
  })
