/** A process spawner over trees of processes that are data, driven by the Effect clock. */
import { ProcessSpawner } from "@scv/core"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"

/** A process and what it does. Times are milliseconds after its start; a stopped one starts when it is continued. */
export interface Tree {
  /** When it ends by itself. */
  readonly exitAfter: number | "never"
  /** The code that it then ends with. Default: 0. */
  readonly code?: number
  /** How long it takes to end on TERM. */
  readonly onTerm: number | "ignores"
  /** How long it takes to end on KILL; meanwhile it does nothing. Default: 0. */
  readonly onKill?: number | "never"
  /** It and what it starts are in a session of their own, outside the group. */
  readonly escapes?: boolean
  /** It and what it starts have left the group and the tag behind: nobody can know them. */
  readonly isUnknown?: boolean
  /** When it ends nobody reaps it. */
  readonly isZombie?: boolean
  /** It is stopped from its start, and acts on TERM only after CONT. */
  readonly isStopped?: boolean
  /** Whether it holds the output open. What it starts can hold it only if it does itself. Default: true. */
  readonly holdsOutput?: boolean
  readonly writes?: ReadonlyArray<readonly [at: number, bytes: number]>
  readonly forks?: ReadonlyArray<readonly [at: number, child: Tree]>
  readonly forksOnTerm?: ReadonlyArray<Tree>
  /** What it starts in the moment of KILL, so that this KILL misses it. */
  readonly forksOnKill?: ReadonlyArray<Tree>
}

interface Simulated {
  readonly pid: number
  readonly tree: Tree
  readonly inGroup: boolean
  readonly isKnown: boolean
  readonly holdsOutput: boolean
  readonly born: number
  ended: number | undefined
  state: "stopped" | "running" | "dying" | "zombie" | "ended"
  hasTerm: boolean
}

interface Sent {
  readonly time: number
  readonly signal: ProcessSpawner.Signal
  /** Whom it reached. */
  readonly hit: ReadonlyArray<number>
}

const isAlive = ({ state }: Simulated): boolean => state !== "zombie" && state !== "ended"

const isKnownAlive = (process: Simulated): boolean => isAlive(process) && process.isKnown

/** The pid of the leader. Others count on from it, in the order of their starts. */
export const leaderPid = 100

/** A world in which spawning starts the tree. It goes on after the call, until the scope closes. */
export const make = (tree: Tree) =>
  Effect.gen(function* () {
    const clock = yield* Clock.clockWith(Effect.succeed)
    const fork = Runtime.runFork(yield* Effect.runtime())
    const now = () => clock.unsafeCurrentTimeMillis()
    const processes: Array<Simulated> = []
    const timers = new Set<Fiber.Fiber<void>>()
    const log: Array<Sent> = []
    const violations: Array<string> = []
    const aimless: Array<string> = []
    const exit = yield* Deferred.make<ProcessSpawner.ExitStatus>()
    const outputEnd = yield* Deferred.make<void>()
    let onOutput: ((bytes: Uint8Array) => void) | undefined
    let produced = 0
    let lastOutput = 0

    const after = (millis: number, act: () => void): void => {
      const timer: Fiber.RuntimeFiber<void> = fork(Effect.delay(Effect.sync(act), millis))
      timers.add(timer)
      timer.addObserver(() => timers.delete(timer))
    }

    const start = (tree: Tree, parent: Simulated | undefined): void => {
      const process: Simulated = {
        pid: leaderPid + processes.length,
        tree,
        inGroup: parent === undefined || (parent.inGroup && tree.escapes !== true && tree.isUnknown !== true),
        isKnown: (parent?.isKnown ?? true) && (parent === undefined || tree.isUnknown !== true),
        holdsOutput: (parent?.holdsOutput ?? true) && tree.holdsOutput !== false,
        born: now(),
        ended: undefined,
        state: tree.isStopped === true ? "stopped" : "running",
        hasTerm: false
      }
      processes.push(process)
      if (process.state === "running") live(process)
    }

    /** What it does by itself, while it lives and nothing has killed it. */
    const live = (process: Simulated): void => {
      const { exitAfter, forks = [], writes = [] } = process.tree
      const at = (millis: number, act: () => void): void =>
        after(millis, () => {
          if (process.state === "running") act()
        })
      for (const [millis, child] of forks) at(millis, () => start(child, process))
      for (const [millis, bytes] of writes) at(millis, () => write(process, bytes))
      if (exitAfter !== "never") at(exitAfter, () => finish(process, { code: process.tree.code ?? 0, signal: null }))
    }

    const write = (process: Simulated, bytes: number): void => {
      if (!process.holdsOutput) return
      produced += bytes
      lastOutput = now()
      onOutput?.(new Uint8Array(bytes).fill(120))
    }

    const finish = (process: Simulated, status: ProcessSpawner.ExitStatus): void => {
      if (!isAlive(process)) return
      const isLeader = process.pid === leaderPid
      process.state = process.tree.isZombie === true && !isLeader ? "zombie" : "ended"
      process.ended = now()
      if (!processes.some((other) => isAlive(other) && other.holdsOutput)) {
        Deferred.unsafeDone(outputEnd, Effect.void)
      }
      if (isLeader) Deferred.unsafeDone(exit, Effect.succeed(status))
    }

    const terminate = (process: Simulated): void => {
      process.hasTerm = true
      if (process.state !== "running") return
      const { forksOnTerm = [], onTerm } = process.tree
      for (const child of forksOnTerm) start(child, process)
      if (onTerm === "ignores") return
      after(onTerm, () => {
        if (process.state === "running") finish(process, { code: null, signal: "SIGTERM" })
      })
    }

    const receive = (process: Simulated, signal: ProcessSpawner.Signal): void => {
      if (signal === "TERM") terminate(process)
      else if (signal === "CONT") resume(process)
      else kill(process)
    }

    const resume = (process: Simulated): void => {
      if (process.state !== "stopped") return
      process.state = "running"
      live(process)
      if (process.hasTerm) terminate(process)
    }

    const kill = (process: Simulated): void => {
      if (process.state === "dying") return
      for (const child of process.tree.forksOnKill ?? []) start(child, process)
      process.state = "dying"
      const { onKill = 0 } = process.tree
      const killed = () => finish(process, { code: null, signal: "SIGKILL" })
      if (onKill === 0) killed()
      else if (onKill !== "never") after(onKill, killed)
    }

    const send = (signal: ProcessSpawner.Signal, members: ReadonlyArray<ProcessSpawner.Member>): void => {
      const leader = processes[0]!
      const given = new Set(members.map(({ pid }) => pid))
      const isPinned =
        isAlive(leader) || processes.some((process) => isAlive(process) && process.inGroup && given.has(process.pid))
      // Members outside are named one by one: where only such are given, the group is not meant.
      const isGroupMeant = members.some(({ inGroup }) => inGroup)
      if (!isPinned && isGroupMeant) {
        violations.push(`${signal} at ${now()} to a number that nobody holds`)
      }
      if (!isPinned && members.length === 0) aimless.push(`${signal} ${now()}`)
      const hit = processes.filter(
        (process) => isAlive(process) && (process.inGroup ? isPinned && isGroupMeant : given.has(process.pid))
      )
      log.push({ time: now(), signal, hit: hit.map(({ pid }) => pid) })
      for (const process of hit) receive(process, signal)
    }

    const layer = Layer.succeed(ProcessSpawner.ProcessSpawner, {
      spawn: (request) =>
        Effect.gen(function* () {
          onOutput = request.onOutput
          yield* Effect.addFinalizer(() =>
            Effect.sync(() => {
              onOutput = undefined
            })
          )
          start(tree, undefined)
          if (!processes[0]!.holdsOutput) Deferred.unsafeDone(outputEnd, Effect.void)
          return {
            pid: leaderPid,
            keepsOrder: true,
            exit: Deferred.await(exit),
            outputEnd: Deferred.await(outputEnd),
            hasOutputEnded: Deferred.isDone(outputEnd),
            members: Effect.sync(() =>
              processes.filter(isKnownAlive).map(({ born, inGroup, pid }) => ({
                pid,
                start: String(born),
                inGroup,
                command: `process ${pid}`
              }))
            ),
            signal: (signal, members) => Effect.sync(() => send(signal, members))
          }
        })
    })

    yield* Effect.addFinalizer(() => Fiber.interruptAll(timers))

    return {
      layer,
      /** What was sent, in order. */
      log: log as ReadonlyArray<Sent>,
      /** Signals that could have hit a number that is no longer ours. */
      violations: violations as ReadonlyArray<string>,
      /** Signals to the group alone after the leader has ended: only the platform's care keeps them from others. */
      aimless: aimless as ReadonlyArray<string>,
      /** Every process that there was, in the order of their pids. */
      processes: processes as ReadonlyArray<Simulated>,
      /** Those that live and can be known. */
      alive: () => processes.filter(isKnownAlive),
      /** Who of them lived right before and right after a moment. */
      aliveAt: (time: number) =>
        processes.filter(({ born, ended, isKnown }) => isKnown && born < time && (ended === undefined || ended > time)),
      zombies: () => processes.filter(({ state }) => state === "zombie"),
      leaderEnded: () => processes[0]?.ended,
      /** All bytes that were written. */
      produced: () => produced,
      lastOutput: () => lastOutput,
      isOutputHeld: () => processes.some((process) => isAlive(process) && process.holdsOutput)
    }
  })

export type World = Effect.Effect.Success<ReturnType<typeof make>>
