/** Runs programs by Node's child_process, with groups, output and members as `ProcessGroup` needs them. */
import { type ChildProcess, type StdioOptions, spawn } from "node:child_process"
import * as fs from "node:fs"
import { ProcessSpawner } from "@scv/core"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Layer from "effect/Layer"
import { Family } from "./internal/family.ts"
import { type Fifo, pool } from "./internal/fifo.ts"
import { readFifo } from "./internal/output.ts"
import { byProc, byPs, type ProcessTable } from "./internal/processTable.ts"
import * as Records from "./internal/records.ts"
import { spawnError } from "./internal/spawnError.ts"
import * as Watcher from "./internal/watcher.ts"

/** A descriptor that is closed once, whoever comes first. */
const closing = (fd: number): (() => void) => {
  let isOpen = true
  return () => {
    if (isOpen) fs.closeSync(fd)
    isOpen = false
  }
}

interface Started {
  readonly child: ChildProcess
  readonly outputEnd: Deferred.Deferred<void>
  /** Takes what can be read without waiting. */
  readonly takeRest: () => void
  readonly stop: () => void
  readonly keepsOrder: boolean
}

const start = (request: ProcessSpawner.SpawnRequest, fifo: Fifo | undefined): Started => {
  const outputEnd = Deferred.unsafeMake<void>(FiberId.none)
  const ended = () => Deferred.unsafeDone(outputEnd, Effect.void)
  const environment = { ...request.environment, [request.tag]: "1" }
  const launch = (stdio: StdioOptions) =>
    // `detached` is setsid(2): a group and a session of its own, without a terminal.
    spawn(request.program, request.args, { cwd: request.cwd, env: environment, detached: true, stdio })
  if (fifo === undefined) {
    const child = launch(["ignore", "pipe", "pipe"])
    const streams = [child.stdout, child.stderr].flatMap((stream) => stream ?? [])
    let open = streams.length
    for (const stream of streams) {
      stream.on("data", request.onOutput)
      stream.on("error", () => {})
      stream.once("close", () => {
        if (--open === 0) ended()
      })
    }
    const stop = () => {
      for (const stream of streams) stream.destroy()
    }
    return { child, outputEnd, takeRest: () => {}, stop, keepsOrder: false }
  }
  const closeWriteEnd = closing(fifo.writeEnd)
  const closeReadEnd = closing(fifo.readEnd)
  try {
    const child = launch(["ignore", fifo.writeEnd, fifo.writeEnd])
    closeWriteEnd()
    const { socket, takeRest } = readFifo(fifo, request.onOutput)
    socket.on("error", () => {})
    socket.once("close", ended)
    return {
      child,
      outputEnd,
      takeRest: () => {
        if (takeRest()) ended()
      },
      stop: () => socket.destroy(),
      keepsOrder: true
    }
  } catch (error) {
    closeWriteEnd()
    closeReadEnd()
    throw error
  }
}

interface Machine {
  readonly table: ProcessTable
  readonly watcher: Watcher.Watcher
  readonly records: Records.Records
  readonly takeFifo: Effect.Effect<Fifo | undefined>
}

/**
 * Starts a program and listens to it, all in one go: an event that comes before somebody listens is lost, or ends this
 * process.
 */
const lead = ({ table, watcher }: Machine, request: ProcessSpawner.SpawnRequest, fifo: Fifo | undefined) => {
  const started = start(request, fifo)
  const { child, takeRest } = started
  const { pid } = child
  if (pid === undefined) {
    const failure = Deferred.unsafeMake<never, ProcessSpawner.SpawnError>(FiberId.none)
    child.once("error", (error) => Deferred.unsafeDone(failure, Effect.fail(spawnError(request.program, error))))
    return { ...started, failure, leader: undefined }
  }
  child.on("error", () => {})
  const startTime = table === byProc ? (byProc.get([pid])[0]?.start ?? "0") : ""
  watcher.led(request.tag, pid, startTime)
  const family = new Family(table, pid, request.tag, startTime)
  const exit = Deferred.unsafeMake<ProcessSpawner.ExitStatus>(FiberId.none)
  child.once("exit", (code, signal) => {
    family.leaderEnded()
    takeRest()
    Deferred.unsafeDone(exit, Effect.succeed({ code, signal }))
  })
  return { ...started, failure: undefined, leader: { pid, family, exit } }
}

const spawnOn = (machine: Machine, request: ProcessSpawner.SpawnRequest) =>
  Effect.gen(function* () {
    const { records, takeFifo, watcher } = machine
    const fifo = yield* takeFifo
    // Known before it is there: a runtime that is killed in between leaves nothing either.
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        records.add(request.tag)
        watcher.begun(request.tag)
      }),
      () =>
        Effect.sync(() => {
          watcher.ended(request.tag)
          records.remove(request.tag)
        })
    )
    const led = yield* Effect.acquireRelease(
      Effect.try({
        try: () => lead(machine, request, fifo),
        catch: (error) => spawnError(request.program, error)
      }),
      ({ stop }) => Effect.sync(stop)
    )
    if (led.leader === undefined) return yield* Deferred.await(led.failure)
    const { keepsOrder, outputEnd } = led
    const { exit, family, pid } = led.leader
    return {
      pid,
      keepsOrder,
      exit: Deferred.await(exit),
      outputEnd: Deferred.await(outputEnd),
      hasOutputEnded: Deferred.isDone(outputEnd),
      members: Effect.promise(() => family.members()),
      signal: (signal, members) => Effect.promise(() => family.signal(signal, members))
    } satisfies ProcessSpawner.Process
  }).pipe(Effect.uninterruptible)

export interface Options {
  /** An absolute path to a directory for records of the calls under way. Default: none are kept. */
  readonly records?: string
  /** How processes are found. Default: by /proc where there is one. */
  readonly table?: "proc" | "ps"
  /** How output comes. Default: by FIFO where one can be made. */
  readonly output?: "fifo" | "pipes"
}

const hasProc = (): boolean => fs.existsSync("/proc/self/stat")

/** Programs on this machine. */
export const layer = (options: Options = {}): Layer.Layer<ProcessSpawner.ProcessSpawner> =>
  Layer.scoped(
    ProcessSpawner.ProcessSpawner,
    Effect.gen(function* () {
      const { take } = yield* pool
      const isProc = options.table === undefined ? hasProc() : options.table === "proc"
      const table = isProc ? byProc : byPs()
      const directory = options.records
      if (directory !== undefined) yield* Effect.promise(() => Records.sweep(directory, table))
      const machine: Machine = {
        table,
        watcher: yield* Watcher.make(isProc ? "proc" : "ps"),
        records: directory === undefined ? Records.none : Records.make(directory),
        takeFifo: options.output === "pipes" ? Effect.succeed(undefined) : take
      }
      return { spawn: (request) => spawnOn(machine, request) }
    })
  )
