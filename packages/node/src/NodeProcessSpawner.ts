/** Runs programs by Node's child_process, with groups, output and members as `ProcessGroup` needs them. */
import { type ChildProcess, type StdioOptions, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as net from "node:net"
import { ProcessSpawner } from "@scv/core"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Layer from "effect/Layer"
import { codeOf } from "./internal/errno.ts"
import { type Fifo, pool } from "./internal/fifo.ts"
import { byProc, byPs, type Entry, type ProcessTable } from "./internal/processTable.ts"
import * as Records from "./internal/records.ts"
import * as Watcher from "./internal/watcher.ts"

/** Bytes of one read of a child's output. */
const readSize = 65_536

/** For how long after the start a process's descendants are known to have the numbers that follow its own, in ms. */
const trustNumbers = 2000

const spawnErrors: Record<string, readonly [kind: ProcessSpawner.SpawnError["kind"], detail: string]> = {
  ENOENT: ["unavailable", "no such program"],
  EACCES: ["permission", "is not executable"],
  E2BIG: ["limit", "the arguments and the environment are longer than the system allows"],
  EMFILE: ["io", "too many open files in this process"],
  ENFILE: ["io", "too many open files on this machine"],
  EAGAIN: ["io", "no more processes are allowed"],
  ENOMEM: ["io", "not enough memory"]
}

const spawnError = (program: string, error: unknown): ProcessSpawner.SpawnError => {
  const code = codeOf(error) ?? "an unknown error"
  const [kind, detail] = spawnErrors[code] ?? ["io", `the system answers ${code}`]
  return new ProcessSpawner.SpawnError({ kind, message: `${program}: ${detail}` })
}

/** A descriptor that is closed once, whoever comes first. */
const closing = (fd: number): (() => void) => {
  let isOpen = true
  return () => {
    if (isOpen) fs.closeSync(fd)
    isOpen = false
  }
}

/** Takes what comes out of a FIFO, through one buffer that is used again and again. */
const readFifo = ({ readEnd }: Fifo, onOutput: (bytes: Uint8Array) => void) => {
  const buffer = Buffer.allocUnsafe(readSize)
  const socket = new net.Socket({
    fd: readEnd,
    readable: true,
    writable: false,
    onread: {
      buffer,
      callback: (count: number) => {
        onOutput(buffer.subarray(0, count))
        return true
      }
    }
  } as net.SocketConstructorOpts)
  return {
    socket,
    /** Takes what can be read without waiting: all that an ended leader wrote. */
    takeRest: (): void => {
      // A destroyed socket's number may belong to another file by now.
      if (socket.destroyed) return
      const rest = Buffer.allocUnsafe(readSize)
      try {
        for (let taken = 0; taken < 16 * readSize; ) {
          const count = fs.readSync(readEnd, rest, 0, rest.length, null)
          if (count === 0) return
          onOutput(rest.subarray(0, count))
          taken += count
        }
      } catch {
        // EAGAIN: nothing more for now.
      }
    }
  }
}

interface Started {
  readonly child: ChildProcess
  readonly outputEnd: Deferred.Deferred<void>
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
    return { child, outputEnd, takeRest, stop: () => socket.destroy(), keepsOrder: true }
  } catch (error) {
    closeWriteEnd()
    closeReadEnd()
    throw error
  }
}

/** Finds the processes of a call again, and signals none that is not one of them. */
class Family {
  /** Members of the group by number, with their start times, from when nobody else could have the group's number. */
  readonly #known = new Map<number, string>()
  readonly #table: ProcessTable
  readonly #pid: number
  readonly #tag: string
  readonly #start: string
  readonly #begun = performance.now()
  #isReaped = false

  constructor(table: ProcessTable, pid: number, tag: string, start: string) {
    this.#table = table
    this.#pid = pid
    this.#tag = tag
    this.#start = start
  }

  /**
   * To be called in the moment of the leader's end: until now a zombie held its number, and for as long as a member of
   * the group lives it still means this group.
   */
  leaderEnded(): void {
    this.#isReaped = true
    if (this.#table !== byProc || !this.#groupIsInUse()) return
    for (const entry of byProc.list(...this.#range())) {
      if (entry.group === this.#pid && entry.isAlive) this.#known.set(entry.pid, entry.start)
    }
  }

  #groupIsInUse(): boolean {
    try {
      process.kill(-this.#pid, 0)
      return true
    } catch (error) {
      return codeOf(error) !== "ESRCH"
    }
  }

  /** The numbers that descendants can have, where that is known: a short call's are those given since its own. */
  #range(): readonly [from?: number, to?: number] {
    const newest = byProc.newest()
    const isShort = performance.now() - this.#begun < trustNumbers
    return isShort && newest >= this.#pid ? [this.#pid, newest] : []
  }

  /** Descendants are not older than the leader. */
  #canBeOurs({ pid, start }: Entry): boolean {
    if (pid === process.pid) return false
    return this.#table !== byProc || Number(start) >= Number(this.#start)
  }

  async members(): Promise<ReadonlyArray<ProcessSpawner.Member>> {
    const isProc = this.#table === byProc
    if (isProc && this.#isReaped && byProc.newest() === this.#pid) return []
    const entries = (await this.#table.list(...(isProc ? this.#range() : []))).filter((entry) => this.#canBeOurs(entry))
    const leader = entries.find(({ pid }) => pid === this.#pid)
    const isGroupsOwn = !this.#isReaped || leader === undefined || leader.start === this.#start
    const found = new Map<number, Entry>()
    const isOurs = (entry: Entry): boolean => {
      if (entry.pid === this.#pid) return !this.#isReaped
      if (entry.group === this.#pid && isGroupsOwn) {
        if (!this.#isReaped || !isProc || this.#known.get(entry.pid) === entry.start) return true
      }
      if (found.has(entry.parent) || (entry.parent === this.#pid && !this.#isReaped)) return true
      return this.#table.hasTag(entry.pid, this.#tag)
    }
    // A child is known by its parent, which may stand behind it.
    for (let before = -1; before !== found.size; ) {
      before = found.size
      for (const entry of entries) if (!found.has(entry.pid) && isOurs(entry)) found.set(entry.pid, entry)
    }
    return [...found.values()]
      .filter(({ isAlive }) => isAlive)
      .map((entry) => {
        const inGroup = entry.group === this.#pid && isGroupsOwn
        if (inGroup) this.#known.set(entry.pid, entry.start)
        return { pid: entry.pid, start: entry.start, inGroup, command: this.#table.commandOf(entry.pid) }
      })
  }

  async signal(signal: ProcessSpawner.Signal, members: ReadonlyArray<ProcessSpawner.Member>): Promise<void> {
    const alive: Array<ProcessSpawner.Member> = []
    for (const member of members) {
      const entry = await this.#table.get(member.pid)
      if (entry?.isAlive === true && entry.start === member.start) alive.push(member)
    }
    const isPinned = !this.#isReaped || alive.some(({ inGroup }) => inGroup)
    if (isPinned) kill(-this.#pid, signal)
    for (const { inGroup, pid } of alive) if (!inGroup) kill(pid, signal)
  }
}

/** Signals a process or, by a negative number, a group. Who is gone already needs none. */
const kill = (pid: number, signal: ProcessSpawner.Signal): void => {
  if (pid === 0 || pid === -1 || pid === 1) return
  try {
    process.kill(pid, `SIG${signal}`)
  } catch {
    // ESRCH, or EPERM for what has become another user's: the members that are found afterwards tell.
  }
}

interface Machine {
  readonly table: ProcessTable
  readonly watcher: Watcher.Watcher
  readonly records: Records.Records
  readonly takeFifo: Effect.Effect<Fifo | undefined>
}

const spawnOn = ({ records, table, takeFifo, watcher }: Machine, request: ProcessSpawner.SpawnRequest) =>
  Effect.gen(function* () {
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
    const started = yield* Effect.acquireRelease(
      Effect.try({
        try: () => start(request, fifo),
        catch: (error) => spawnError(request.program, error)
      }),
      ({ stop }) => Effect.sync(stop)
    )
    const { child, keepsOrder, outputEnd, takeRest } = started
    const exit = Deferred.unsafeMake<ProcessSpawner.ExitStatus>(FiberId.none)
    const { pid } = child
    if (pid === undefined) {
      return yield* Effect.async<never, ProcessSpawner.SpawnError>((resume) => {
        child.once("error", (error) => resume(Effect.fail(spawnError(request.program, error))))
      })
    }
    child.on("error", () => {})
    const startTime = table === byProc ? (byProc.get(pid)?.start ?? "0") : ""
    watcher.led(request.tag, pid, startTime)
    const family = new Family(table, pid, request.tag, startTime)
    child.once("exit", (code, signal) => {
      family.leaderEnded()
      takeRest()
      Deferred.unsafeDone(exit, Effect.succeed({ code, signal }))
    })
    return {
      pid,
      keepsOrder,
      exit: Deferred.await(exit),
      outputEnd: Deferred.await(outputEnd),
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
