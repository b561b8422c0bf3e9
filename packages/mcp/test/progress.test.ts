import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import * as Progress from "../src/Progress.ts"
import { callTool, connect, modernVersion, openSession, serve, until } from "./support/served.ts"
import { endless, shout, talkative } from "./support/tools.ts"

describe("progress", () => {
  for (const version of ["2025-11-25", modernVersion]) {
    it.scopedLive(`${version}: is told to a client that wants it, not faster than it can be read`, () =>
      Effect.gen(function* () {
        const served = yield* serve(yield* openSession([talkative]))
        const client = yield* connect(served, { version })
        const told: Array<{ readonly progress: number; readonly message?: string | undefined }> = []
        const from = performance.now()
        yield* callTool(client, "talkative", {}, { onprogress: (progress) => told.push(progress) })
        const most = (performance.now() - from) / Duration.toMillis(Progress.spacing) + 2
        assert.isAbove(told.length, 1)
        assert.isBelow(told.length, most)
        assert.deepStrictEqual(
          told.map(({ progress }) => progress),
          told.map((_, index) => index + 1)
        )
        assert.include(
          told.map(({ message }) => message),
          "step \\x1b[2J"
        )
        const count = served.written.filter((line) => line.includes("notifications/progress")).length
        yield* callTool(client, "talkative")
        const after = served.written.filter((line) => line.includes("notifications/progress")).length
        assert.strictEqual(after, count)
      })
    )
  }

  it.scopedLive("is told while a question waits, and while a call waits for another", () =>
    Effect.gen(function* () {
      const running = yield* endless
      const session = yield* openSession([shout, running.tool])
      let answer = (_: unknown) => {}
      const elicited = () =>
        new Promise((resolve) => {
          answer = resolve
        })
      const client = yield* connect(yield* serve(session), { elicited })
      const messages: Array<string | undefined> = []
      const call = yield* Effect.fork(
        callTool(client, "shout", { word: "hi" }, { onprogress: ({ message }) => messages.push(message) })
      )
      yield* until(() => messages.includes("waiting for approval"))
      const behind: Array<string | undefined> = []
      const next = yield* Effect.fork(
        callTool(client, "endless", {}, { onprogress: ({ message }) => behind.push(message) })
      )
      yield* until(() => behind.includes("waiting for its turn"))
      answer({ action: "accept", content: {} })
      yield* Fiber.join(call)
      yield* until(() => behind.includes("second"))
      yield* running.release
      yield* Effect.flatMap(session.live, Effect.forEach(session.cancel))
      yield* Fiber.join(next)
    })
  )

  it.scoped("goes on while nothing happens, and tells of what comes fast the latest alone", () =>
    Effect.gen(function* () {
      const told: Array<string> = []
      const tell = yield* Progress.make((progress, message) => Effect.sync(() => told.push(`${progress} ${message}`)))
      for (const message of ["a", "b", "c\n\n", "\n"]) yield* tell(message)
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(told, ["1 c"])
      yield* tell("d")
      yield* TestClock.adjust(Duration.subtract(Progress.spacing, "2 millis"))
      assert.lengthOf(told, 1)
      yield* TestClock.adjust("2 millis")
      assert.deepStrictEqual(told, ["1 c", "2 d"])
      yield* TestClock.adjust(Duration.sum(Progress.spacing, Progress.heartbeat))
      assert.deepStrictEqual(told, ["1 c", "2 d", "3 d"])
    })
  )
})
