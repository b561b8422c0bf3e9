/** The processes of a run, by a variable that all of them inherit. Needs Linux. */
import * as fs from "node:fs"

export interface Found {
  readonly pid: number
  readonly session: number
  readonly argv: ReadonlyArray<string>
  /** Whether it is of a call of SCV's, not SCV itself. */
  readonly isOfCall: boolean
}

const look = (pid: string, variable: string): ReadonlyArray<Found> => {
  try {
    const environment = fs.readFileSync(`/proc/${pid}/environ`, "latin1").split("\0")
    if (!environment.includes(variable)) return []
    // The name in parentheses may hold anything; state, parent, group and session follow. Source: proc(5).
    const stat = fs.readFileSync(`/proc/${pid}/stat`, "latin1")
    const [state = "", , , session] = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    if ("ZX".includes(state)) return []
    const argv = fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").slice(0, -1)
    const isOfCall = environment.some((one) => one.startsWith("SCV_CALL_"))
    return [{ pid: Number(pid), session: Number(session), argv, isOfCall }]
  } catch {
    return []
  }
}

/** All living processes whose environment holds `NAME=VALUE`. */
export const processesWith = (variable: string): ReadonlyArray<Found> =>
  fs
    .readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => look(pid, variable))

/** Kills a process, or the group of a negative number, unless it is gone. */
export const kill = (pid: number): void => {
  try {
    process.kill(pid, "SIGKILL")
  } catch {
    // It is gone.
  }
}
