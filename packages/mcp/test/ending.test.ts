import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { Stdio } from "../src/index.ts"
import { connect, modernVersion, openSession, serve, until } from "./support/served.ts"
import { endless, look, shout } from "./support/tools.ts"

const call = (id: string | number, name: string, input: object = {}) =>
  JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: input } })

const answered = (written: ReadonlyArray<string>) =>
  written.map((line) => JSON.parse(line)).flatMap(({ id }) => (id === undefined ? [] : [id]))

describe("cancelling", () => {
  for (const version of ["2025-06-18", modernVersion]) {
    it.scopedLive(`${version}: interrupts the call, waits for its release, and answers nothing`, () =>
      Effect.gen(function* () {
        const running = yield* endless
        const session = yield* openSession([running.tool, look])
        const served = yield* serve(session)
        const client = yield* connect(served, { version })
        const controller = new AbortController()
        const failed = client.callTool({ name: "endless" }, { signal: controller.signal }).then(
          () => false,
          () => true
        )
        yield* running.started
        const before = answered(served.written)
        controller.abort()
        assert.isTrue(yield* Effect.promise(() => failed))
        const next = yield* Effect.fork(
          Effect.promise(() => client.callTool({ name: "look_up", arguments: { word: "hi" } }))
        )
        // The next call of the session waits for the release.
        yield* Effect.repeat(session.live, { until: (live) => live.length === 2 })
        assert.isFalse(running.isReleased())
        yield* running.release
        yield* Fiber.join(next)
        assert.isTrue(running.isReleased())
        yield* session.idle
        assert.lengthOf(answered(served.written), before.length + 1)
      })
    )
  }
})

describe("the end of the input", () => {
  it.scopedLive("answers what came before it, and denies what nobody can answer any more", () =>
    Effect.gen(function* () {
      const served = yield* serve(yield* openSession([look, shout]), { unaskable: "nobody" })
      const initialize = {
        protocolVersion: "2025-06-18",
        capabilities: { elicitation: {} },
        clientInfo: { name: "test", version: "1" }
      }
      served.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: initialize }))
      served.send(JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }))
      served.send(call("a", "look_up", { word: "hi" }))
      served.send(call("b", "shout", { word: "hi" }))
      served.send(call("c", "look_up", { word: "ho" }))
      yield* served.end
      yield* served.ended
      const of = (id: string) => JSON.parse(served.written.find((line) => JSON.parse(line).id === id) ?? "{}").result
      assert.strictEqual(of("a").structuredContent.status, "completed")
      assert.strictEqual(of("b").structuredContent.error.message, "shout was denied: the client is gone")
      assert.strictEqual(of("c").structuredContent.status, "completed")
    })
  )

  it.scopedLive("cancels what is not done soon, and waits for its release", () =>
    Effect.gen(function* () {
      const running = yield* endless
      const session = yield* openSession([running.tool])
      const served = yield* serve(session)
      served.send(call(1, "endless"))
      yield* running.started
      const from = performance.now()
      yield* served.end
      const ended = yield* Effect.fork(served.ended)
      yield* Effect.sleep(Stdio.grace)
      yield* running.release
      yield* Fiber.join(ended)
      assert.isAtLeast(performance.now() - from, 2900)
      assert.isTrue(running.isReleased())
      assert.include(served.written.at(-1), '"status":"cancelled"')
    })
  )
})

describe("being stopped", () => {
  it.scopedLive("cancels at once, waits for the release, and is hurried by a second cancel", () =>
    Effect.gen(function* () {
      const running = yield* endless
      const session = yield* openSession([running.tool, look])
      const served = yield* serve(session)
      served.send(call(1, "endless"))
      served.send(call(2, "look_up", { word: "hi" }))
      yield* running.started
      yield* served.stop
      yield* until(() => answered(served.written).includes(2))
      assert.isFalse(running.isReleased())
      yield* Effect.flatMap(session.live, Effect.forEach(session.cancel))
      yield* served.ended
      assert.isTrue(running.isReleased())
      const statuses = served.written.map((line) => JSON.parse(line).result.structuredContent.status)
      assert.deepStrictEqual(statuses, ["cancelled", "cancelled"])
    })
  )
})
