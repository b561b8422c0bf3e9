/** Calls of a simulated program, cancelled and timed out as a session does it; and a tool for real sessions. */
import { InputSchema, ProcessGroup, ProcessTool, Tool } from "@scv/core"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as SimulatedProcesses from "./simulatedProcesses.ts"

export interface Scenario {
  readonly tree: SimulatedProcesses.Tree
  readonly strays?: "report" | "end"
  /** A second cancel hurries, and so does a deadline after a cancel. */
  readonly acts?: ReadonlyArray<readonly [at: number, act: "cancel" | "deadline"]>
}

const request = { program: "/bin/simulated", args: [], cwd: "/", environment: {}, tag: "SCV_TAG" }

/** Runs a scenario to its end and tells what came of it. Times are milliseconds after its start. */
export const play = ({ acts = [], strays = "report", tree }: Scenario) =>
  Effect.gen(function* () {
    const world = yield* SimulatedProcesses.make(tree)
    const began = yield* Clock.currentTimeMillis
    const now = Effect.map(Clock.currentTimeMillis, (time) => time - began)
    const hurry = yield* Deferred.make<void>()
    const partials: Array<ProcessGroup.Output> = []
    let cause: "cancelled" | "timed_out" | undefined
    let causeAt: number | undefined
    let hurriedAt: number | undefined
    let sentAtCause = Number.POSITIVE_INFINITY
    let sentAtHurry = Number.POSITIVE_INFINITY
    const fiber = yield* ProcessGroup.run(
      { request, outputLimitBytes: 100, strays },
      {
        hurry: Effect.interruptible(Deferred.await(hurry)),
        isHurried: Deferred.isDone(hurry),
        partial: (output) => Effect.sync(() => void partials.push(output)),
        progress: () => Effect.void
      }
    ).pipe(Effect.provide(world.layer), Effect.forkDaemon)
    yield* Effect.yieldNow()
    const perform = (act: "cancel" | "deadline") =>
      Effect.gen(function* () {
        if (fiber.unsafePoll() !== null) return
        const time = yield* now
        const first = cause === undefined
        cause ??= act === "cancel" ? "cancelled" : "timed_out"
        causeAt ??= time
        if (first) sentAtCause = world.log.length
        if (!first || act === "deadline") {
          if (hurriedAt === undefined) sentAtHurry = world.log.length
          hurriedAt ??= time
          yield* Deferred.succeed(hurry, undefined)
        }
        if (first) yield* Fiber.interruptFork(fiber)
      })
    const timers = yield* Effect.forEach(acts, ([at, act]) => Effect.forkScoped(Effect.delay(perform(act), at)))
    const exit = yield* Fiber.await(fiber)
    const returned = yield* now
    yield* Fiber.interruptAll(timers)
    return {
      world,
      exit,
      partials,
      /** What the answer carries. */
      output: Exit.isSuccess(exit) ? exit.value : partials.at(-1),
      cause,
      causeAt,
      hurriedAt,
      /** How many signals had been sent before the cause, and before the hurry. */
      sentAtCause,
      sentAtHurry,
      returned,
      signals: world.log.map(({ signal, time }) => `${signal} ${time - began}`)
    }
  })

/** A tool that runs the simulated program of a world. */
export const simulatedTool = (world: SimulatedProcesses.World, timeoutSeconds: number) =>
  Tool.make({
    name: "simulated",
    description: "Runs a simulated program.",
    risk: "read_only",
    input: InputSchema.struct({}),
    plan: Schema.Struct({}),
    output: ProcessGroup.Output,
    succeeded: ProcessGroup.succeeded,
    prepare: () => Effect.succeed({ summary: "", plan: {}, timeoutSeconds }),
    run: (_, context) =>
      ProcessGroup.run({ request, outputLimitBytes: 100, strays: "report" }, context).pipe(
        Effect.mapError(ProcessTool.toToolError),
        Effect.provide(world.layer)
      )
  })
