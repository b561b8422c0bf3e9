import * as net from "node:net"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { Ring } from "../src/Ring.ts"
import { eventually, makeWorkspace, question, read, startDaemon } from "./support/daemon.ts"

const bad = { tool: "read", input: { path: "not-there" } }

describe("the event stream", () => {
  it.scopedLive("numbers the events of a session without a gap, and resumes after any of them", () =>
    Effect.gen(function* () {
      const daemon = yield* startDaemon()
      const session = yield* daemon.open(yield* makeWorkspace)
      const reading = yield* read(daemon.where, `/v1/events?session=${session}`)
      for (let i = 0; i < 5; i++) yield* daemon.ask(`/v1/sessions/${session}/calls`, { json: bad })
      yield* reading.until(({ event, id }) => event === "completed" && id === `${session}-5`)
      const live = reading.events.filter(({ id }) => id !== undefined)
      assert.strictEqual(reading.events[0]?.data.event, "connected")
      assert.deepStrictEqual(
        live.map(({ data }) => data.seq),
        live.map((_, i) => i + 1)
      )
      for (const from of [0, 3, live.length - 1]) {
        const again = yield* read(daemon.where, `/v1/events?session=${session}`, { "last-event-id": live[from]!.id })
        yield* eventually(() => again.events.length >= live.length - from)
        assert.deepStrictEqual(
          again.events.filter(({ id }) => id !== undefined),
          live.slice(from + 1)
        )
      }
    })
  )

  it.scopedLive("says that something was missed where the id is not one of its own", () =>
    Effect.gen(function* () {
      const daemon = yield* startDaemon()
      for (const id of ["nonsense", "00000000-3", "-1"]) {
        const reading = yield* read(daemon.where, "/v1/events", { "last-event-id": id })
        yield* reading.until(({ event }) => event === "gap")
      }
    })
  )

  it.scopedLive("tells of all sessions, and ends with the one that it is of", () =>
    Effect.gen(function* () {
      const daemon = yield* startDaemon()
      const all = yield* read(daemon.where, "/v1/events")
      const session = yield* daemon.open(yield* makeWorkspace)
      const one = yield* read(daemon.where, `/v1/events?session=${session}`)
      yield* daemon.ask(`/v1/sessions/${session}`, { method: "DELETE" })
      yield* one.ended
      assert.deepStrictEqual(one.events.at(-1)?.data, { event: "end", reason: "session_closed" })
      yield* all.until(({ event, session_id }) => event === "session_closed" && session_id === session)
      daemon.running.kill("SIGTERM")
      yield* all.ended
      assert.deepStrictEqual(all.events.at(-1)?.data, { event: "end", reason: "draining" })
    })
  )

  it.scopedLive("shows a question at once", () =>
    Effect.gen(function* () {
      const daemon = yield* startDaemon()
      const session = yield* daemon.open(yield* makeWorkspace)
      const reading = yield* read(daemon.where, "/v1/events")
      const json = { tool: "write", input: { path: "a", content: "x", mode: "create" } }
      yield* Effect.fork(daemon.ask(`/v1/sessions/${session}/calls`, { json }))
      const { approval_id } = yield* reading.until(({ event }) => event === "approval_requested")
      const asked = yield* question(daemon)
      assert.strictEqual(asked.approval_id, approval_id)
    })
  )

  it.scopedLive(
    "sends a reader away that is stuck, while the others miss nothing",
    () =>
      Effect.gen(function* () {
        const daemon = yield* startDaemon()
        const session = yield* daemon.open(yield* makeWorkspace)
        const stuck = yield* Effect.acquireRelease(
          Effect.async<{ readonly socket: net.Socket; isClosed: boolean }>((resume) => {
            const held = { socket: net.connect(daemon.where.socketPath), isClosed: false }
            held.socket.on("error", () => {})
            held.socket.on("close", () => {
              held.isClosed = true
            })
            held.socket.write("GET /v1/events HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            held.socket.once("data", () => {
              // It reads no more.
              held.socket.pause()
              resume(Effect.succeed(held))
            })
          }),
          ({ socket }) => Effect.sync(() => socket.destroy())
        )
        const reading = yield* read(daemon.where, "/v1/events")
        // Each question holds the whole content.
        const json = { tool: "write", input: { path: "a", content: "x".repeat(1_000_000), mode: "create" } }
        const count = 14
        for (let i = 1; i <= count; i++) {
          const call = yield* Effect.fork(daemon.ask(`/v1/sessions/${session}/calls`, { json }))
          yield* reading.until(
            ({ approval_id, event }) => event === "approval_requested" && approval_id === `${session}-${i}-${i}`
          )
          yield* daemon.ask(`/v1/approvals/${session}-${i}-${i}`, { json: { decision: "deny" } })
          yield* Fiber.join(call)
        }
        yield* reading.until(({ event, id }) => event === "completed" && id === `${session}-${count}`)
        const numbers = reading.events.flatMap(({ data }) => (data.seq === undefined ? [] : [data.seq]))
        assert.deepStrictEqual(
          numbers,
          numbers.map((_, i) => i + 1)
        )
        // Cut off some seconds after it was told why.
        stuck.socket.resume()
        yield* eventually(() => stuck.isClosed)
      }),
    180_000
  )
})

describe("a ring", () => {
  it("keeps the last ones within both bounds, and knows the last that had to go", () => {
    const ring = new Ring<number>({ events: 3, bytes: 100 })
    for (let i = 1; i <= 5000; i++) ring.push(i, 10)
    assert.deepStrictEqual([...ring], [4998, 4999, 5000])
    assert.strictEqual(ring.lost, 4997)
    ring.push(5001, 95)
    assert.deepStrictEqual([...ring], [5001])
    ring.push(5002, 101)
    assert.deepStrictEqual([...ring], [])
    assert.strictEqual(ring.lost, 5002)
  })
})
