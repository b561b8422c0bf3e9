/** What SCV needs of a machine, checked. */
import { spawn } from "node:child_process"
import { Directory, Display } from "@scv/core"
import { NodeDirectory } from "@scv/node"
import * as Effect from "effect/Effect"

export interface Check {
  readonly name: string
  readonly status: "ok" | "warn" | "fail"
  /** What was found. */
  readonly found: string
  /** What would make it right, where something is wrong. */
  readonly mend?: string
}

const oldest = [20, 20] as const

const nodeVersion: Effect.Effect<Check> = Effect.sync(() => {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
  const isOldEnough = major > oldest[0] || (major === oldest[0] && minor >= oldest[1])
  return isOldEnough
    ? { name: "node", status: "ok", found: process.version }
    : { name: "node", status: "fail", found: process.version, mend: `install Node ${oldest.join(".")} or later` }
})

const containment: Effect.Effect<Check> = Effect.map(
  Directory.Directories,
  ({ containment }): Check =>
    containment === "descriptors"
      ? { name: "containment", status: "ok", found: "paths are walked by descriptor, without a race" }
      : {
          name: "containment",
          status: "warn",
          found: "paths are checked by name: a process that swaps links at the right moment can lead them outside",
          mend: "run on Linux with /proc mounted"
        }
).pipe(Effect.provide(NodeDirectory.layer()))

interface ShellRun {
  readonly stdout: string
  readonly stderr: string
  readonly ended: string
  readonly isMissing: boolean
  readonly milliseconds: number
}

const marker = "scv-doctor-was-here"

/** How long a login shell may take before it is given up, in milliseconds. */
const patience = 10_000

const loginShell: Effect.Effect<ShellRun> = Effect.async<ShellRun>((resume) => {
  const begun = performance.now()
  const child = spawn("/bin/bash", ["-lc", `echo ${marker}`], { detached: true, stdio: ["ignore", "pipe", "pipe"] })
  const output = { stdout: "", stderr: "" }
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream].setEncoding("utf8").on("data", (text: string) => {
      if (output[stream].length < 4096) output[stream] += text
    })
  }
  const end = (ended: string, isMissing = false) => {
    resume(Effect.succeed({ ...output, ended, isMissing, milliseconds: Math.round(performance.now() - begun) }))
  }
  child.on("error", (error) => end(error.message, true))
  // A background process of the profile may hold the pipes for ever: the end of the shell is what counts.
  child.on("exit", (code, signal) => setImmediate(end, code === null ? `signal ${signal}` : `exit code ${code}`))
  return Effect.sync(() => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
      process.kill(-child.pid, "SIGKILL")
    }
  })
})

const shown = (text: string): string => Display.bounded(text.trim(), 120)

const judge = ({ ended, isMissing, milliseconds, stderr, stdout }: ShellRun): Check => {
  const name = "login shell"
  if (isMissing) {
    return { name, status: "fail", found: `/bin/bash does not start: ${ended}`, mend: "install bash as /bin/bash" }
  }
  if (!stdout.includes(marker)) {
    return {
      name,
      status: "fail",
      found: `/bin/bash -lc swallows its command (${ended}${stderr === "" ? "" : `, stderr: ${shown(stderr)}`})`,
      mend: "a start-up file (/etc/profile, ~/.bash_profile, ~/.bash_login, ~/.profile) exits or replaces the shell"
    }
  }
  const noise = [stdout.replace(`${marker}\n`, ""), stderr].filter((text) => text.trim() !== "")
  if (noise.length > 0) {
    return {
      name,
      status: "warn",
      found: `start-up files print into every command's output: ${noise.map(shown).join(" / ")}`,
      mend: "print only where the shell is interactive: [[ $- == *i* ]] && echo ..."
    }
  }
  if (milliseconds > 500) {
    return {
      name,
      status: "warn",
      found: `/bin/bash -lc takes ${milliseconds} ms to start`,
      mend: "move what is slow out of the login shell's start-up files"
    }
  }
  return { name, status: "ok", found: `/bin/bash -lc starts in ${milliseconds} ms and prints nothing` }
}

const shell: Effect.Effect<Check> = loginShell.pipe(
  Effect.map(judge),
  Effect.timeoutTo({
    duration: patience,
    onSuccess: (check) => check,
    onTimeout: (): Check => ({
      name: "login shell",
      status: "fail",
      found: `/bin/bash -lc did not come back within ${patience / 1000} s`,
      mend: "a start-up file (/etc/profile, ~/.bash_profile, ~/.bash_login, ~/.profile) waits or loops"
    })
  })
)

/** All checks, in the order in which they are shown. */
export const checks: ReadonlyArray<Effect.Effect<Check>> = [nodeVersion, containment, shell]
