import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterEach, assert, beforeEach, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import * as Bounds from "../src/Bounds.ts"
import { layer, SignIn } from "../src/SignIn.ts"

const before = process.env.SCV_HOME
let home = ""

beforeEach(() => {
  home = fs.mkdtempSync(path.join(os.tmpdir(), "scv-sign-in-"))
  fs.mkdirSync(path.join(home, "state"))
  process.env.SCV_HOME = home
})

afterEach(() => {
  fs.rmSync(home, { recursive: true })
  if (before === undefined) delete process.env.SCV_HOME
  else process.env.SCV_HOME = before
})

/** With what a daemon of the home has, which starts in this moment. */
const started = <A>(body: (signIn: typeof SignIn.Service) => Effect.Effect<A>): Effect.Effect<A> =>
  Effect.provide(Effect.flatMap(SignIn, body), layer)

const newCookie = ({ issue, trade }: typeof SignIn.Service) =>
  Effect.flatMap(issue, ({ ticket }) => Effect.map(trade(ticket), (cookie) => cookie ?? ""))

describe("a ticket", () => {
  it.effect("is good for a minute", () =>
    started(({ issue, trade }) =>
      Effect.gen(function* () {
        const [early, late] = [yield* issue, yield* issue]
        yield* TestClock.adjust("60 seconds")
        assert.isDefined(yield* trade(early.ticket))
        yield* TestClock.adjust("1 millis")
        assert.isUndefined(yield* trade(late.ticket))
      })
    )
  )

  it.effect("is forgotten where there are too many, the oldest first", () =>
    started(({ issue, trade }) =>
      Effect.gen(function* () {
        const tickets = yield* Effect.all(Array.from({ length: Bounds.tickets + 1 }, () => issue))
        const traded = yield* Effect.forEach(tickets, ({ ticket }) => trade(ticket))
        assert.deepEqual(
          traded.map((cookie) => cookie !== undefined),
          tickets.map((_, index) => index > 0)
        )
      })
    )
  )
})

describe("a cookie", () => {
  it.effect("is good for a day after its last use, also by a daemon that is started again", () =>
    Effect.gen(function* () {
      const [used, unused] = yield* started((signIn) =>
        Effect.gen(function* () {
          const cookies = [yield* newCookie(signIn), yield* newCookie(signIn)] as const
          yield* TestClock.adjust("23 hours")
          assert.isTrue(yield* signIn.isCookie(cookies[0]))
          return cookies
        })
      )
      yield* TestClock.adjust("2 hours")
      yield* started(({ isCookie }) =>
        Effect.gen(function* () {
          assert.isTrue(yield* isCookie(used))
          assert.isFalse(yield* isCookie(unused))
          yield* TestClock.adjust("25 hours")
          assert.isFalse(yield* isCookie(used))
        })
      )
    })
  )

  it.effect("is forgotten where there are too many, the one that was not used for longest first", () =>
    started((signIn) =>
      Effect.gen(function* () {
        const oldest = yield* newCookie(signIn)
        const second = yield* newCookie(signIn)
        yield* TestClock.adjust("1 hours")
        assert.isTrue(yield* signIn.isCookie(oldest))
        yield* Effect.forEach(Array.from({ length: Bounds.cookies - 1 }), () => newCookie(signIn))
        assert.isTrue(yield* signIn.isCookie(oldest))
        assert.isFalse(yield* signIn.isCookie(second))
      })
    )
  )

  it.effect("is forgotten when the daemon has to listen at another port", () =>
    started((signIn) =>
      Effect.gen(function* () {
        yield* signIn.listensAt(4150)
        const cookie = yield* newCookie(signIn)
        yield* signIn.listensAt(4150)
        assert.isTrue(yield* signIn.isCookie(cookie))
        yield* signIn.listensAt(4151)
        assert.isFalse(yield* signIn.isCookie(cookie))
        assert.deepEqual(yield* signIn.expected, { port: 4151, isSignedIn: false })
      })
    )
  )
})
