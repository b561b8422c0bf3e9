/**
 * A small shell that outlives this process by a moment: when the pipe from it ends, however this process ended, it kills
 * what is left of the calls that were not finished. Source: design, "Process lifecycle, decided".
 */
import { type ChildProcess, spawn } from "node:child_process"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/**
 * Lines: `+ TAG`, `@ TAG PID START`, `- TAG`. At the end of input the group of each leader that still is who it was is
 * killed, then whatever carries a tag, again until looks find nothing.
 */
const script = `
trap '' INT TERM HUP
mode=$1
calls=
while read -r sign tag pid start; do
  kept=
  for call in $calls; do
    [ "\${call%%:*}" = "$tag" ] || kept="$kept $call"
  done
  case $sign in
    -) calls=$kept ;;
    +) calls="$kept $tag:" ;;
    @) calls="$kept $tag:$pid:$start" ;;
  esac
done
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

/** A watcher that is started by the first call. `mode` is how it finds processes. */
export const make = (mode: "proc" | "ps"): Effect.Effect<Watcher, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync((): { shell: ChildProcess | undefined } => ({ shell: undefined })),
      (held) => Effect.sync(() => held.shell?.stdin?.end())
    ),
    (held) => {
      const start = (): ChildProcess => {
        const shell = spawn("/bin/sh", ["-c", script, "scv-watcher", mode], {
          cwd: "/",
          env: { PATH: "/usr/bin:/bin" },
          // A session of its own: what ends this process's session or group does not reach it.
          detached: true,
          stdio: ["pipe", "ignore", "ignore"]
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
      const say = (line: string): void => {
        held.shell?.stdin?.write(`${line}\n`)
      }
      return {
        begun: (tag) => {
          held.shell ??= start()
          say(`+ ${tag}`)
        },
        led: (tag, pid, start) => say(`@ ${tag} ${pid} ${start === "" ? 0 : start}`),
        ended: (tag) => say(`- ${tag}`)
      }
    }
  )
