/** Which process something belongs to, so that what a killed one left behind can be told from what a living one uses. */
import * as fs from "node:fs"

export interface Owner {
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

/** This process. */
export const ownerOfThis = (): Owner => {
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

/** Whether a process is there. One in another namespace counts as living: from here its number means another process. */
export const isLiving = ({ namespace, pid, start }: Owner): boolean => {
  if (namespace !== ownerOfThis().namespace) return true
  try {
    if (namespace !== "0") return startOf(pid) === start
    process.kill(Number(pid), 0)
    return true
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined
    return code !== "ENOENT" && code !== "ESRCH"
  }
}
