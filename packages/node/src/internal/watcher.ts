/**
 * A small shell that outlives this process by a moment: when the pipe from it ends, however this process ended, it kills
 * what is left of the calls that were not finished. Source: design, "Process lifecycle, decided".
 */
import { type ChildProcess, spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/**
 * Reads the table of calls when its input ends, and not before: a message to it would wake it, and take the processor
 * from the call that sends it. Then the group of each leader that still is who it was is killed, then whatever carries a
 * tag, again until looks find nothing.
 */
const script = `
trap '' INT TERM HUP
mode=$1
while read -r _; do :; done
calls=
while read -r tag pid start; do
  [ -z "$tag" ] || calls="$calls $tag:$pid:$start"
done <&3
[ -n "$calls" ] || exit 0
patterns=
for call in $calls; do
  tag=\${call%%:*}
  patterns="$patterns -e $tag="
  pid=\${call#*:}
  start=\${pid#*:}
  pid=\${pid%%:*}
  [ -n "$pid" ] && [ "$mode" = proc ] || continue
  stat=$(cat "/proc/$pid/stat" 2>/dev/null) || continue
  set -- \${stat##*) }
  [ "\${20}" = "$start" ] && kill -s KILL -- "-$pid"
done
look=0
unseen=0
while [ $look -lt 50 ]; do
  found=
  if [ "$mode" = proc ]; then
    pids=$(grep -lsz $patterns /proc/[0-9]*/environ | sed 's|/proc/||; s|/environ||')
  else
    pids=$(ps axeww -o pid=,command= | grep $patterns | sed 's/^ *//; s/ .*//')
  fi
  for pid in $pids; do
    [ "$pid" = $$ ] && continue
    kill -s KILL "$pid" 2>/dev/null && found=yes
  done
  # Who is being given its program, or ends as it has a child, can hide from a look: three times, from nobody.
  [ -z "$found" ] && unseen=$((unseen + 1)) || unseen=0
  [ $unseen -lt 3 ] || exit 0
  look=$((look + 1))
  sleep 0.02
done
`

export interface Watcher {
  /** Tells of a call before its program is started. */
  readonly begun: (tag: string) => void
  /** Tells of its leader. */
  readonly led: (tag: string, pid: number, start: string) => void
  /** Tells that nothing of the call is left that should be ended. */
  readonly ended: (tag: string) => void
}

/** Bytes of a line of the table: `TAG PID START` and blanks, or nothing but blanks. */
const lineSize = 256

/** Lines for which there is room from the start, so that a full disk does not matter. */
const firstLines = 16

const lineOf = (text: string): string => `${text.padEnd(lineSize - 1)}\n`

/** The calls that are under way, a line each, in a file that has no name any more. */
interface Table {
  readonly writeEnd: number
  readonly readEnd: number
  readonly lines: Array<string | undefined>
}

const makeTableIn = (directory: string): Table => {
  const name = path.join(directory, `scv-calls-${process.pid}-${randomUUID()}`)
  const writeEnd = fs.openSync(name, fs.constants.O_CREAT | fs.constants.O_EXCL | fs.constants.O_WRONLY, 0o600)
  try {
    fs.writeSync(writeEnd, lineOf("").repeat(firstLines), 0)
    return { writeEnd, readEnd: fs.openSync(name, "r"), lines: [] }
  } catch (error) {
    fs.closeSync(writeEnd)
    throw error
  } finally {
    fs.unlinkSync(name)
  }
}

const makeTable = (): Table | undefined => {
  for (const directory of [os.tmpdir(), "/dev/shm", "/var/tmp"]) {
    try {
      return makeTableIn(directory)
    } catch {
      // Not there, full, or not for us.
    }
  }
  return undefined
}

const set = ({ lines, writeEnd }: Table, line: number, tag: string | undefined, text: string): void => {
  lines[line] = tag
  try {
    fs.writeSync(writeEnd, lineOf(text), line * lineSize)
  } catch {
    // No room for so many calls at once: the records remain.
  }
}

interface Held {
  shell: ChildProcess | undefined
  table: Table | undefined
}

/** A watcher that is started by the first call. `mode` is how it finds processes. */
export const make = (mode: "proc" | "ps"): Effect.Effect<Watcher, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync((): Held => ({ shell: undefined, table: undefined })),
      ({ shell, table }) =>
        Effect.sync(() => {
          shell?.stdin?.end()
          if (table === undefined) return
          fs.closeSync(table.writeEnd)
          fs.closeSync(table.readEnd)
        })
    ),
    (held) => {
      const start = ({ readEnd }: Table): ChildProcess => {
        const shell = spawn("/bin/sh", ["-c", script, "scv-watcher", mode], {
          cwd: "/",
          env: { PATH: "/usr/bin:/bin" },
          // A session of its own: what ends this process's session or group does not reach it.
          detached: true,
          stdio: ["pipe", "ignore", "ignore", readEnd]
        })
        // Where there is no shell there is no watcher; the records remain.
        shell.on("error", () => {})
        shell.stdin?.on("error", () => {})
        shell.once("exit", () => {
          if (held.shell === shell) held.shell = undefined
        })
        shell.unref()
        if (shell.stdin !== null && "unref" in shell.stdin && typeof shell.stdin.unref === "function") {
          shell.stdin.unref()
        }
        return shell
      }
      return {
        begun: (tag) => {
          held.table ??= makeTable()
          if (held.table === undefined) return
          held.shell ??= start(held.table)
          const free = held.table.lines.indexOf(undefined)
          set(held.table, free === -1 ? held.table.lines.length : free, tag, tag)
        },
        led: (tag, pid, start) => {
          const line = held.table?.lines.indexOf(tag) ?? -1
          if (held.table !== undefined && line !== -1) {
            set(held.table, line, tag, `${tag} ${pid} ${start === "" ? 0 : start}`)
          }
        },
        ended: (tag) => {
          const line = held.table?.lines.indexOf(tag) ?? -1
          if (held.table !== undefined && line !== -1) set(held.table, line, undefined, "")
        }
      }
    }
  )
