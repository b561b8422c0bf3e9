/** What SCV needs of a machine, checked. */
import { existsSync } from "node:fs"
import { CallTag, Directory, Display, ProcessGroup, ProcessSpawner, ServerEnvironment } from "@scv/core"
import { NodeAuditLog, NodeCallTag, NodeDirectory, NodeProcessSpawner, NodeServerEnvironment } from "@scv/node"
import { Machine } from "@scv/runtime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

type ProcessServices = ProcessSpawner.ProcessSpawner | ServerEnvironment | CallTag.CallTag

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
  readonly output: string
  readonly ended: string
  readonly milliseconds: number
}

const marker = "scv-doctor-was-here"

/** How long a login shell may take before it is given up, in seconds. */
const patience = 10

const environment = Effect.flatMap(ServerEnvironment, (variables) =>
  Effect.map(CallTag.CallTag, ({ fresh }) => ({ variables, fresh }))
)

const loginShell: Effect.Effect<ShellRun, ProcessSpawner.SpawnError, ProcessServices> = Effect.gen(function* () {
  const { fresh, variables } = yield* environment
  const nothing = () => Effect.void
  const { duration_ms, exit_code, output, signal } = yield* ProcessGroup.run(
    {
      request: {
        program: "/bin/bash",
        args: ["-lc", `echo ${marker}`],
        cwd: "/",
        environment: variables,
        tag: yield* fresh
      },
      outputLimitBytes: 4096,
      strays: "end"
    },
    { partial: nothing, progress: nothing, hurry: Effect.never, isHurried: Effect.succeed(true) }
  )
  return { output, milliseconds: duration_ms, ended: signal ?? `exit code ${exit_code}` }
})

const shown = (text: string): string => Display.bounded(text.trim(), 120)

const judge = ({ ended, milliseconds, output }: ShellRun): Check => {
  const name = "login shell"
  if (!output.includes(marker)) {
    return {
      name,
      status: "fail",
      found: `/bin/bash -lc swallows its command (${ended}${output === "" ? "" : `: ${shown(output)}`})`,
      mend: "a start-up file (/etc/profile, ~/.bash_profile, ~/.bash_login, ~/.profile) exits or replaces the shell"
    }
  }
  const noise = output.replace(`${marker}\n`, "")
  if (noise.trim() !== "") {
    return {
      name,
      status: "warn",
      found: `start-up files print into every command's output: ${shown(noise)}`,
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

const shell: Effect.Effect<Check, never, ProcessServices> = loginShell.pipe(
  Effect.map(judge),
  Effect.catchAll(({ message }) =>
    Effect.succeed<Check>({ name: "login shell", status: "fail", found: message, mend: "install bash as /bin/bash" })
  ),
  Effect.timeoutTo({
    duration: `${patience} seconds`,
    onSuccess: (check) => check,
    onTimeout: (): Check => ({
      name: "login shell",
      status: "fail",
      found: `/bin/bash -lc did not come back within ${patience} s`,
      mend: "a start-up file (/etc/profile, ~/.bash_profile, ~/.bash_login, ~/.profile) waits or loops"
    })
  })
)

const outputOrder: Effect.Effect<Check, never, ProcessServices> = Effect.gen(function* () {
  const { fresh, variables } = yield* environment
  const { spawn } = yield* ProcessSpawner.ProcessSpawner
  const { exit, keepsOrder } = yield* spawn({
    program: "/bin/sh",
    args: ["-c", ":"],
    cwd: "/",
    environment: variables,
    tag: yield* fresh,
    onOutput: () => {}
  })
  yield* exit
  return keepsOrder
}).pipe(
  Effect.scoped,
  Effect.map(
    (keepsOrder): Check =>
      keepsOrder
        ? { name: "output", status: "ok", found: "stdout and stderr come in the order in which they are written" }
        : {
            name: "output",
            status: "warn",
            found: "stdout and stderr come without their order, and /dev/stderr does not open in commands",
            mend: "install mkfifo (coreutils) and make the folder for temporary files writable"
          }
  ),
  Effect.catchAll(({ message }) =>
    Effect.succeed<Check>({ name: "output", status: "fail", found: message, mend: "install a shell as /bin/sh" })
  )
)

const processTable: Effect.Effect<Check> = Effect.sync(() => {
  if (existsSync("/proc/self/environ")) {
    return { name: "processes", status: "ok", found: "found by /proc, wherever they go" }
  }
  return {
    name: "processes",
    status: "warn",
    found: "found by ps, which takes longer",
    mend: "run on Linux with /proc mounted"
  }
})

const auditLog: Effect.Effect<Check> = Effect.suspend(() => {
  const directory = Machine.auditDirectory()
  return Effect.map(
    NodeAuditLog.inspect(directory),
    ({ bytes, fault, files }): Check =>
      fault === undefined
        ? { name: "audit log", status: "ok", found: `${files} files, ${bytes} bytes in ${directory}` }
        : {
            name: "audit log",
            status: "fail",
            found: `calls are not recorded: ${directory}: ${fault}`,
            mend: "make room there, and make the folder yours and writable; what is a link in it must go"
          }
  )
})

/** All checks, in the order in which they are shown. */
export const checks: Effect.Effect<ReadonlyArray<Check>> = Effect.all([
  nodeVersion,
  containment,
  processTable,
  outputOrder,
  shell,
  auditLog
]).pipe(Effect.provide(Layer.mergeAll(NodeProcessSpawner.layer(), NodeServerEnvironment.layer, NodeCallTag.layer)))
