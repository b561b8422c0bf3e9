/** Ends programs in all ways, 2,000 times (or as often as the argument says), and looks for what is left of them. */
import * as fs from "node:fs"
import { ProcessGroup } from "@scv/core"
import { NodeProcessSpawner } from "@scv/node"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"

const count = Number(process.argv[2] ?? 2000)
const tag = `SCV_CALL_CHECK_${process.pid}`

const environment = Object.fromEntries(
  Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
)

const scripts = [
  "echo done",
  "exit 3",
  "kill -SEGV $$",
  "echo out; sleep 30",
  "sleep 30 & echo done",
  "setsid sleep 30 & sleep 30",
  "trap '' TERM; sleep 30 & wait",
  "(setsid bash -c 'sleep 30 & sleep 30' &) ; sleep 30",
  "for i in $(seq 20); do sleep 30 & done; wait",
  "exec > >(cat); echo hi",
  "kill -STOP $$",
  "while :; do echo flood; done"
]

/** Lets a program run a little, then cancels it, or lets its deadline come, or lets it end. */
const endOne = (index: number) =>
  Effect.gen(function* () {
    const hurry = yield* Deferred.make<void>()
    const nothing = () => Effect.void
    const script = scripts[index % scripts.length] ?? ""
    const fiber = yield* Effect.fork(
      ProcessGroup.run(
        {
          request: { program: "/bin/bash", args: ["-c", script], cwd: "/", environment, tag: `${tag}_${index}` },
          outputLimitBytes: 4096,
          strays: "end"
        },
        { partial: nothing, progress: nothing, hurry: Deferred.await(hurry), isHurried: Deferred.isDone(hurry) }
      )
    )
    // Not a wait for something: the moment of the end is what is random.
    yield* Effect.sleep(Math.random() * 60)
    // Every second one by a deadline; the grace of a cancel is cut short soon, so that the check comes to an end.
    if (index % 2 === 0) yield* Deferred.succeed(hurry, undefined)
    else yield* Effect.forkDaemon(Effect.delay(Deferred.succeed(hurry, undefined), "300 millis"))
    yield* Fiber.interrupt(fiber)
  })

const alive = (): ReadonlyArray<string> =>
  fs
    .readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const isZombie = /\) [ZX] /.test(fs.readFileSync(`/proc/${pid}/stat`, "latin1"))
        return !isZombie && fs.readFileSync(`/proc/${pid}/environ`, "latin1").includes(tag)
      } catch {
        return false
      }
    })

const descriptors = () => fs.readdirSync("/proc/self/fd").length

const endings = (count: number) =>
  Effect.forEach(Array.from({ length: count }), (_, index) => endOne(index), { concurrency: 8, discard: true }).pipe(
    Effect.provide(NodeProcessSpawner.layer())
  )

const main = Effect.gen(function* () {
  // What Node opens once, at the first program, is no leak.
  yield* endings(24)
  const before = descriptors()
  yield* endings(count)
  // Some are closed in a later turn of the event loop.
  yield* Effect.repeat(Effect.sync(descriptors), {
    until: (now) => now <= before,
    schedule: Schedule.intersect(Schedule.spaced("50 millis"), Schedule.recurs(40))
  })
  return { left: alive(), leaked: descriptors() - before }
})

const { leaked, left } = await Effect.runPromise(main)
console.log(`${count} endings: ${left.length} processes left, ${leaked} descriptors more than before`)
process.exitCode = left.length > 0 || leaked > 0 ? 1 : 0
