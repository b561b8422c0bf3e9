/** The processes of this machine: who they are, whose children, in which group, and which of them carry a tag. */
import { execFile } from "node:child_process"
import * as fs from "node:fs"

export interface Entry {
  readonly pid: number
  readonly parent: number
  readonly group: number
  /** When it started, to tell it from another process of that number. */
  readonly start: string
  /** Zombies and the like are not. */
  readonly isAlive: boolean
}

/** A way to look at the processes. */
export interface ProcessTable {
  /** The processes of some numbers, as far as there are any. */
  readonly get: (pids: ReadonlyArray<number>) => Promise<ReadonlyArray<Entry>> | ReadonlyArray<Entry>
  /** All processes that can be seen; with bounds, at least those whose numbers lie in between. */
  readonly list: (from?: number, to?: number) => Promise<ReadonlyArray<Entry>> | ReadonlyArray<Entry>
  /**
   * Whether a process was started with a variable of that name; false where that cannot be seen, undefined where it can
   * be in a moment, since the process is being given its program.
   */
  readonly hasTag: (pid: number, tag: string) => boolean | undefined
  /** The command line, as the process itself has it. */
  readonly commandOf: (pid: number) => string
}

/** Files of /proc are read often, and report no size: a buffer for each would cost more than the reading. */
let block = Buffer.allocUnsafeSlow(16_384)

const readProc = (path: string): string | undefined => {
  let fd: number | undefined
  try {
    fd = fs.openSync(path, "r")
    let size = 0
    for (let count = -1; count !== 0; size += count) {
      if (size === block.length) block = Buffer.concat([block], 2 * size)
      count = fs.readSync(fd, block, size, block.length - size, null)
    }
    return block.toString("latin1", 0, size)
  } catch {
    return undefined
  } finally {
    if (fd !== undefined) fs.closeSync(fd)
  }
}

/**
 * The fields of a stat file from the third on, as many as are asked for. Source: proc_pid_stat(5). The second field may
 * hold anything, so the rest is counted from its end.
 */
const fieldsOf = (stat: string, count: number): ReadonlyArray<string> =>
  stat.slice(stat.lastIndexOf(")") + 2).split(" ", count)

const parseStat = (pid: number, stat: string): Entry => {
  const [state = "", parent, group, ...rest] = fieldsOf(stat, 20)
  return {
    pid,
    parent: Number(parent),
    group: Number(group),
    start: rest[16] ?? "",
    isAlive: state !== "Z" && state !== "X"
  }
}

const statOf = (pid: number): Entry | undefined => {
  const stat = readProc(`/proc/${pid}/stat`)
  return stat === undefined ? undefined : parseStat(pid, stat)
}

/**
 * Whether a process whose environment reads as empty has none: it has no memory, or a place for it of no size. In the
 * middle of execve(2) the old one is gone and the new one has no place yet.
 */
const hasNoEnvironment = (pid: number): boolean => {
  const fields = fieldsOf(readProc(`/proc/${pid}/stat`) ?? "", 49)
  const [size, from, to] = [fields[20] ?? "0", fields[47] ?? "0", fields[48] ?? "0"]
  return size === "0" || (to !== "0" && from === to)
}

/** Whether a number is that of a process, and not of one of its threads, which /proc shows to those who ask by number. */
const isProcess = (pid: number): boolean => (readProc(`/proc/${pid}/status`) ?? "").includes(`\nTgid:\t${pid}\n`)

/** As many numbers are asked for one by one sooner than all that are in use are listed. */
const few = 16

const numbersBetween = (from: number, to: number): ReadonlyArray<number> =>
  to - from < few
    ? Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index)
        // It fails without an error to be made.
        .filter((pid) => fs.existsSync(`/proc/${pid}`))
        .filter(isProcess)
    : fs
        .readdirSync("/proc")
        // A name that is no number compares with none.
        .map(Number)
        .filter((pid) => pid >= from && pid <= to)

const isEntry = (entry: Entry | undefined): entry is Entry => entry !== undefined

/** By Linux' /proc. All of it is synchronous: it reads memory, not a disk. */
export const byProc = {
  get: (pids: ReadonlyArray<number>): ReadonlyArray<Entry> => pids.map(statOf).filter(isEntry),
  list: (from = 0, to = Number.POSITIVE_INFINITY): ReadonlyArray<Entry> =>
    numbersBetween(from, to).map(statOf).filter(isEntry),
  hasTag: (pid: number, tag: string): boolean | undefined => {
    const environment = readProc(`/proc/${pid}/environ`)
    if (environment === undefined) return false
    if (environment !== "") return `\0${environment}`.includes(`\0${tag}=`)
    return hasNoEnvironment(pid) ? false : undefined
  },
  commandOf: (pid: number) => {
    const line = readProc(`/proc/${pid}/cmdline`)?.replaceAll("\0", " ").trim()
    return line === undefined || line === ""
      ? (readProc(`/proc/${pid}/comm`)?.trim() ?? "")
      : Buffer.from(line, "latin1").toString()
  },
  /** The number that was given last: the fifth field of proc_loadavg(5). */
  newest: () => Number(readProc("/proc/loadavg")?.trim().split(" ")[4] ?? Number.NaN)
} satisfies ProcessTable & { readonly newest: () => number }

/** Field widths vary by system; the start time is five words. */
const psLine = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(\S+\s+\S+\s+\S+\s+\S+\s+\S+)\s+(.*)$/

const ps = (args: ReadonlyArray<string>): Promise<ReadonlyArray<Entry & { readonly command: string }>> =>
  new Promise((resolve) => {
    const options = { env: { ...process.env, LC_ALL: "C" }, maxBuffer: 64 * 1024 * 1024 }
    execFile("ps", [...args, "-o", "pid=,ppid=,pgid=,stat=,lstart=,command="], options, (_error, stdout) => {
      resolve(
        stdout.split("\n").flatMap((line) => {
          const [, pid, parent, group, state, start, command] = psLine.exec(line) ?? []
          if (pid === undefined || state === undefined || start === undefined) return []
          return [
            {
              pid: Number(pid),
              parent: Number(parent),
              group: Number(group),
              start,
              isAlive: !/^[ZX]/.test(state),
              command: command ?? ""
            }
          ]
        })
      )
    })
  })

/** By ps(1), where there is no /proc: it shows the environment behind the command line of one's own processes. */
export const byPs = (): ProcessTable => {
  let commands = new Map<number, string>()
  return {
    get: (pids) => ps(["-p", pids.join(",")]),
    list: async () => {
      const entries = await ps(["axeww"])
      commands = new Map(entries.map(({ command, pid }) => [pid, command]))
      return entries
    },
    hasTag: (pid, tag) => ` ${commands.get(pid) ?? ""}`.includes(` ${tag}=`),
    commandOf: (pid) => commands.get(pid)?.split(/ [A-Za-z_][A-Za-z0-9_]*=/, 1)[0] ?? ""
  }
}
