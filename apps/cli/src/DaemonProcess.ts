/** The daemon as a process: starts one, finds whether one runs, ends it. */
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import { createRequire } from "node:module"
import * as path from "node:path"
import { Display } from "@scv/core"
import { Client, type Health, Place } from "@scv/protocol"
import { Configuration, Unusable } from "@scv/runtime"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import { type explain, isAbsent, socket, using } from "./DaemonClient.ts"

/** What a daemon that cannot be started, asked or stopped is answered with. */
type DaemonFault = ReturnType<typeof explain>

/** Seconds in which a daemon comes up, or ends; a slow machine needs some. */
const patience = 30

const wrong = (message: string) => new Unusable({ kind: "config", message })

/** The daemon's program: that of the package beside this one. */
export const program: Effect.Effect<string, Unusable> = Effect.try({
  try: () => {
    const here = createRequire(fs.realpathSync(process.argv[1] ?? ""))
    return fs.realpathSync(path.join(path.dirname(here.resolve("scvd/package.json")), "dist/scvd.js"))
  },
  catch: () => wrong("the daemon is not installed: its package, scvd, is not beside this one")
})

const logOf = (home: string): string => `${Place.stateOf(home)}/scvd.log`

/** How the daemon is; none where nobody listens. Fails where somebody does and does not answer. */
export const health: Effect.Effect<Option.Option<Health>, DaemonFault> = Effect.flatMap(Client.Daemon, (daemon) =>
  daemon.server.health({})
).pipe(
  Effect.map(Option.some),
  Effect.catchIf(isAbsent, () => Effect.succeedNone),
  using("daemon"),
  Effect.timeoutFail({
    duration: `${patience} seconds`,
    onTimeout: () => wrong(`the daemon at ${socket()} does not answer within ${patience} s`)
  })
)

const present = (file: string): string | undefined => {
  const value = process.env[file]
  return value === undefined || value === "" ? undefined : path.resolve(value)
}

/** What the daemon said last; why it did not start. */
const lastLine = (log: string): string => {
  const lines = fs.readFileSync(log, "utf8").trimEnd().split("\n")
  return Display.bounded((lines.at(-1) ?? "").replace(/^scvd: /, ""), 500)
}

/** A log that has grown begins anew. */
const maxLog = 1024 * 1024

const openLog = (log: string): Effect.Effect<number, Unusable> =>
  Effect.try({
    try: () => {
      fs.mkdirSync(path.dirname(log), { recursive: true, mode: 0o700 })
      const isLarge = (fs.statSync(log, { throwIfNoEntry: false })?.size ?? 0) > maxLog
      return fs.openSync(log, isLarge ? "w" : "a", 0o600)
    },
    catch: (error) => wrong(`${log}: ${error instanceof Error ? error.message : error}`)
  })

/** Starts a daemon that outlives this command, and waits until it answers. */
export const start = (args: ReadonlyArray<string>): Effect.Effect<Health, DaemonFault> =>
  Effect.gen(function* () {
    const running = yield* health
    if (Option.isSome(running)) {
      return yield* wrong(`a daemon runs already: process ${running.value.pid}, at ${socket()}`)
    }
    const file = yield* program
    const home = Configuration.home()
    const log = logOf(home)
    const fd = yield* openLog(log)
    const ended = yield* Deferred.make<number | null>()
    const config = present("SCV_CONFIG")
    const child = spawn(process.execPath, [file, ...args], {
      // It holds no directory of the user's, so a relative name must be made whole.
      cwd: "/",
      env: { ...process.env, SCV_HOME: home, ...(config === undefined ? {} : { SCV_CONFIG: config }) },
      detached: true,
      stdio: ["ignore", fd, fd]
    })
    fs.closeSync(fd)
    child.once("exit", (code) => Deferred.unsafeDone(ended, Effect.succeed(code)))
    child.once("error", () => Deferred.unsafeDone(ended, Effect.succeed(null)))
    child.unref()
    const up: Effect.Effect<Health, DaemonFault> = Effect.suspend(() =>
      Effect.flatMap(
        health,
        Option.match({ onNone: () => Effect.delay(up, "50 millis"), onSome: (found) => Effect.succeed(found) })
      )
    )
    const failed = Effect.flatMap(Deferred.await(ended), () => Effect.fail(wrong(lastLine(log))))
    return yield* Effect.raceFirst(up, failed).pipe(
      Effect.timeoutFail({
        duration: `${patience} seconds`,
        onTimeout: () => wrong(`the daemon does not answer after ${patience} s; its log is ${log}`)
      })
    )
  })

/** When a process started, as the system counts it, so that a number is not taken for another process. */
const startOf = (pid: number): string | undefined => {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, "latin1")
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]
  } catch {
    return undefined
  }
}

const isDaemon = (pid: number): boolean => {
  // Without /proc there is nothing to compare with.
  if (!fs.existsSync("/proc/self/stat")) return true
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, "latin1").includes("scvd")
  } catch {
    return false
  }
}

const isAlive = (pid: number, start: string | undefined): boolean => {
  try {
    process.kill(pid, 0)
    return startOf(pid) === start
  } catch {
    return false
  }
}

/** Asks the daemon to stop and waits until it has; `isHurried` ends the grace of its calls. Gives its process. */
export const stop = (isHurried: boolean): Effect.Effect<Option.Option<number>, DaemonFault> =>
  Effect.gen(function* () {
    const running = yield* health
    if (Option.isNone(running)) return Option.none()
    const { pid } = running.value
    if (!isDaemon(pid)) {
      return yield* wrong(`the daemon at ${socket()} is process ${pid} of another machine or container; stop it there`)
    }
    const start = startOf(pid)
    const signal = Effect.try({
      try: () => process.kill(pid, "SIGTERM"),
      catch: () => wrong(`process ${pid} takes no signal of this user`)
    })
    yield* signal
    if (isHurried) yield* Effect.ignore(Effect.zipRight(Effect.sleep("50 millis"), signal))
    yield* Effect.repeat(
      Effect.sync(() => isAlive(pid, start)),
      { while: (alive) => alive, schedule: Schedule.spaced("20 millis") }
    ).pipe(
      Effect.timeoutFail({
        duration: `${patience} seconds`,
        onTimeout: () => wrong(`process ${pid} has not ended after ${patience} s; scv daemon stop --now hurries it`)
      })
    )
    return Option.some(pid)
  })
