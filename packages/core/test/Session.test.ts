import { assert, describe, it } from "@effect/vitest"
import { Approval, Session, ToolError } from "@scv/core"
import * as Chunk from "effect/Chunk"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import { makeSession, recordEvents, textTool } from "./support/session.ts"

const hi = { tool: "echo", input: { text: "hi" } }

/** Lets every fiber that can go on do so, without moving the clock. */
const settle = TestClock.adjust("0 millis")

describe("a call", () => {
  it.scoped("is answered with the envelope", () =>
    Effect.gen(function* () {
      const session = yield* makeSession({ tools: [textTool({})] })
      assert.deepStrictEqual(yield* session.call(hi), {
        call_id: "1",
        tool: "echo",
        status: "completed",
        result: { text: "hi" }
      })
    })
  )

  it.scoped("of an unknown tool or with bad input is answered at once, while another call runs", () =>
    Effect.gen(function* () {
      const session = yield* makeSession({ tools: [textTool({ run: () => Effect.never })] })
      yield* session.submit({ ...hi, id: "busy" })
      yield* settle
      const unknown = yield* session.call({ tool: "ecko", input: {} })
      assert.strictEqual(unknown.status, "invalid")
      assert.deepStrictEqual(unknown.error, {
        kind: "unknown_tool",
        message: 'no tool named "ecko"; did you mean `echo`?; known: echo'
      })
      const invalid = yield* session.call({ tool: "echo", input: { txt: "hi" } })
      assert.strictEqual(invalid.error?.kind, "invalid_input")
      assert.deepStrictEqual(yield* session.live, ["busy"])
    })
  )

  it.scoped("runs after those before it, and is prepared only then", () =>
    Effect.gen(function* () {
      const log = yield* Ref.make<ReadonlyArray<string>>([])
      const say = (word: string) => Ref.update(log, (words) => [...words, word])
      const tool = textTool({
        prepare: ({ text }) => Effect.as(say(`prepare ${text}`), { summary: "", plan: { text } }),
        run: ({ text }) => Effect.as(Effect.delay(say(`run ${text}`), "1 second"), { text })
      })
      const session = yield* makeSession({ tools: [tool] })
      const first = yield* session.submit({ tool: "echo", input: { text: "a" } })
      const second = yield* session.submit({ tool: "echo", input: { text: "b" } })
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* first.result).status, "completed")
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* second.result).status, "completed")
      assert.deepStrictEqual(yield* Ref.get(log), ["prepare a", "run a", "prepare b", "run b"])
    })
  )

  it.scoped("that is not done says so with its result", () =>
    Effect.gen(function* () {
      const session = yield* makeSession({ tools: [textTool({ succeeded: ({ text }) => text !== "hi" })] })
      assert.deepInclude(yield* session.call(hi), { status: "failed", result: { text: "hi" } })
    })
  )

  it.scoped("whose tool breaks is answered as internal, without the cause, and the next one works", () =>
    Effect.gen(function* () {
      const broken = textTool({
        run: ({ text }) => (text === "hi" ? Effect.die(new Error("secret")) : Effect.succeed({ text }))
      })
      const session = yield* makeSession({ tools: [broken] })
      const result = yield* session.call(hi)
      assert.deepInclude(result, { status: "failed" })
      assert.strictEqual(result.error?.kind, "internal")
      assert.notInclude(JSON.stringify(result), "secret")
      assert.strictEqual((yield* session.call({ tool: "echo", input: { text: "b" } })).status, "completed")
    })
  )

  it.scoped("whose prepare or whose own interruption breaks is internal too", () =>
    Effect.gen(function* () {
      const session = yield* makeSession({
        tools: [
          textTool({ name: "a", prepare: () => Effect.die("x") }),
          textTool({ name: "b", run: () => Effect.interrupt }),
          textTool({
            name: "c",
            prepare: () => Effect.succeed({ summary: "", plan: { text: 1 as unknown as string } })
          })
        ]
      })
      for (const tool of ["a", "b", "c"]) {
        assert.strictEqual((yield* session.call({ tool, input: { text: "" } })).error?.kind, "internal", tool)
      }
    })
  )

  it.scoped("keeps an error to one line without control characters", () =>
    Effect.gen(function* () {
      const fails = textTool({
        prepare: () => Effect.fail(new ToolError({ kind: "io", message: `a\nb\u001b[2Jc\u202e${"x".repeat(9000)}` }))
      })
      const session = yield* makeSession({ tools: [fails] })
      const { error, status } = yield* session.call(hi)
      assert.strictEqual(status, "failed")
      assert.match(error?.message ?? "", /^a\\nb\\x1b\[2Jc\\u\{202e\}x+… \(\d+ more characters\)$/)
    })
  )

  it.scoped("of a tool that is not available is refused with the reason", () =>
    Effect.gen(function* () {
      const session = yield* makeSession({ tools: [textTool({ unavailable: Effect.succeedSome("no such program") })] })
      assert.deepInclude(yield* session.call(hi), {
        status: "invalid",
        error: { kind: "unavailable", message: "echo: no such program" }
      })
    })
  )

  it.scoped("may not take the id of one that has not ended", () =>
    Effect.gen(function* () {
      const session = yield* makeSession({ tools: [textTool({ run: () => Effect.never })] })
      yield* session.submit({ ...hi, id: "a" })
      const again = yield* Effect.either(session.submit({ ...hi, id: "a" }))
      assert.isTrue(Either.isLeft(again))
      yield* settle
      yield* session.cancel("a")
      yield* session.idle
      yield* session.submit({ ...hi, id: "a" })
      // Ids that the session gives step over those that are taken.
      yield* session.submit({ ...hi, id: "1" })
      assert.strictEqual((yield* session.submit(hi)).id, "2")
    })
  )

  it.scoped("too many are refused", () =>
    Effect.gen(function* () {
      const session = yield* makeSession({ tools: [textTool({ run: () => Effect.never })] })
      for (let i = 0; i < Session.maxWaiting; i++) yield* session.submit(hi)
      const { result } = yield* session.submit(hi)
      assert.strictEqual((yield* result).error?.kind, "limit")
    })
  )
})

describe("a result", () => {
  it.scoped("of a tool of somebody else is held to the output limit", () =>
    Effect.gen(function* () {
      const session = yield* makeSession({
        tools: [textTool({ run: () => Effect.succeed({ text: `first ${"x".repeat(100_000)} last` }) })],
        limits: { outputLimitBytes: 1000 }
      })
      const { result, status } = yield* session.call(hi)
      const { text } = result as { text: string }
      assert.strictEqual(status, "completed")
      assert.match(text, /^first x+\n\[\.\.\. \d+ bytes left out \.\.\.\]\nx+ last$/)
      assert.isBelow(text.length, 1100)
    })
  )
})

describe("an end", () => {
  const slow = (release: number) =>
    textTool({
      run: (_, context) =>
        Effect.zipRight(context.partial({ text: "so far" }), Effect.never).pipe(
          Effect.onInterrupt(() => Effect.raceFirst(Effect.interruptible(Effect.sleep(release)), context.hurry))
        )
    })

  it.scoped("by cancel waits for the release and keeps what there is", () =>
    Effect.gen(function* () {
      const session = yield* makeSession({ tools: [slow(2000)] })
      const { id, result } = yield* session.submit(hi)
      const answer = yield* Effect.fork(result)
      yield* settle
      assert.isTrue(yield* session.cancel(id))
      yield* TestClock.adjust("1999 millis")
      assert.notStrictEqual((yield* Fiber.status(answer))._tag, "Done")
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(yield* Fiber.join(answer), {
        call_id: id,
        tool: "echo",
        status: "cancelled",
        error: { kind: "cancelled", message: "the call was cancelled" },
        result: { text: "so far" }
      })
      assert.isFalse(yield* session.cancel(id))
    })
  )

  it.scoped("by a second cancel ends the grace", () =>
    Effect.gen(function* () {
      const session = yield* makeSession({ tools: [slow(1_000_000)] })
      const { id, result } = yield* session.submit(hi)
      yield* settle
      yield* session.cancel(id)
      yield* settle
      yield* session.cancel(id)
      assert.strictEqual((yield* result).status, "cancelled")
    })
  )

  it.scoped("by the deadline of the plan hurries at once and keeps what there is", () =>
    Effect.gen(function* () {
      const tool = textTool({
        prepare: ({ text }) => Effect.succeed({ summary: "", plan: { text }, timeoutSeconds: 7 }),
        run: (_, context) =>
          Effect.zipRight(context.partial({ text: "so far" }), Effect.never).pipe(
            Effect.onInterrupt(() => context.hurry)
          )
      })
      const session = yield* makeSession({ tools: [tool] })
      const { id, result } = yield* session.submit(hi)
      yield* TestClock.adjust("6999 millis")
      assert.deepStrictEqual(yield* session.live, [id])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(yield* result, {
        call_id: id,
        tool: "echo",
        status: "timed_out",
        result: { text: "so far" }
      })
    })
  )

  it.scoped("by the default deadline reaches a tool that has none, also while it prepares", () =>
    Effect.gen(function* () {
      const session = yield* makeSession({
        tools: [textTool({ run: () => Effect.never }), textTool({ name: "hangs", prepare: () => Effect.never })],
        limits: { commandTimeoutSeconds: 3 }
      })
      for (const tool of ["echo", "hangs"]) {
        const { result } = yield* session.submit({ tool, input: { text: "" } })
        yield* TestClock.adjust("3 seconds")
        assert.deepInclude(yield* result, {
          status: "timed_out",
          error: { kind: "timeout", message: "no answer within 3 s" }
        })
      }
    })
  )

  it.scoped("by a deadline within the grace of a cancel is still a cancel, and ends the grace", () =>
    Effect.gen(function* () {
      const session = yield* makeSession({ tools: [slow(1_000_000)], limits: { commandTimeoutSeconds: 5 } })
      const { id, result } = yield* session.submit(hi)
      yield* TestClock.adjust("4 seconds")
      yield* session.cancel(id)
      yield* TestClock.adjust("1 seconds")
      assert.strictEqual((yield* result).status, "cancelled")
    })
  )

  it.scoped("of a waiting call comes at once and runs nothing", () =>
    Effect.gen(function* () {
      const runs = yield* Ref.make(0)
      const tool = textTool({
        run: () =>
          Effect.zipRight(
            Ref.update(runs, (n) => n + 1),
            Effect.never
          )
      })
      const session = yield* makeSession({ tools: [tool] })
      const first = yield* session.submit(hi)
      const second = yield* session.submit(hi)
      yield* settle
      yield* session.cancel(second.id)
      assert.strictEqual((yield* second.result).status, "cancelled")
      yield* session.cancel(first.id)
      yield* first.result
      yield* settle
      assert.strictEqual(yield* Ref.get(runs), 1)
    })
  )

  it.scoped("after the point of no return is a completion", () =>
    Effect.gen(function* () {
      const reached = yield* Deferred.make<void>()
      const tool = textTool({
        run: ({ text }, context) =>
          Effect.uninterruptible(
            Effect.gen(function* () {
              yield* Deferred.succeed(reached, undefined)
              yield* Effect.sleep("1 second")
              yield* context.commit({ text })
            })
          ).pipe(Effect.zipRight(Effect.never))
      })
      const session = yield* makeSession({ tools: [tool] })
      const { id, result } = yield* session.submit(hi)
      yield* Deferred.await(reached)
      yield* session.cancel(id)
      yield* TestClock.adjust("1 second")
      assert.deepInclude(yield* result, { status: "completed", result: { text: "hi" } })
    })
  )

  it.scoped("by interruption of whoever waits cancels the call and waits for its release", () =>
    Effect.gen(function* () {
      const released = yield* Ref.make(false)
      const tool = textTool({
        run: () => Effect.onInterrupt(Effect.never, () => Effect.delay(Ref.set(released, true), "1 second"))
      })
      const session = yield* makeSession({ tools: [tool] })
      const caller = yield* Effect.fork(session.call(hi))
      yield* settle
      const ending = yield* Effect.fork(Fiber.interrupt(caller))
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(ending)
      assert.isTrue(yield* Ref.get(released))
      assert.deepStrictEqual(yield* session.live, [])
    })
  )

  it.effect("of the session releases what runs and answers what waits", () =>
    Effect.gen(function* () {
      const released = yield* Ref.make(false)
      const tool = textTool({ run: () => Effect.onInterrupt(Effect.never, () => Ref.set(released, true)) })
      const { first, second, session } = yield* Effect.scoped(
        Effect.gen(function* () {
          const session = yield* makeSession({ tools: [tool] })
          const first = yield* session.submit(hi)
          const second = yield* session.submit(hi)
          yield* settle
          return { first, second, session }
        })
      )
      assert.isTrue(yield* Ref.get(released))
      assert.strictEqual((yield* first.result).status, "cancelled")
      assert.strictEqual((yield* second.result).status, "cancelled")
      assert.strictEqual((yield* session.call(hi)).status, "cancelled")
    })
  )

  it.effect("of the session comes also where it was made uninterruptible", () =>
    Effect.scoped(Effect.asVoid(Effect.uninterruptible(makeSession({ tools: [textTool({})] }))))
  )
})

describe("a question", () => {
  const risky = (risk: "filesystem" | "process" | "delegate" = "process") => textTool({ risk })

  const deciding = (decision: Approval.Decision) =>
    Layer.succeed(Approval.Approver, { decide: () => Effect.succeed(decision) })

  it.scoped("carries the plan that runs, which nobody can change", () =>
    Effect.gen(function* () {
      const approver = Layer.succeed(Approval.Approver, {
        decide: (request) =>
          Effect.sync((): Approval.Decision => {
            assert.throws(() => Object.assign(request.plan as object, { text: "rm" }))
            return { decision: "approve", by: "test" }
          })
      })
      const session = yield* makeSession({ tools: [risky()], approver })
      assert.deepInclude(yield* session.call(hi), { status: "completed", result: { text: "hi" } })
    })
  )

  it.scoped("that is denied runs nothing and says why", () =>
    Effect.gen(function* () {
      const approver = deciding({ decision: "deny", reason: "not\ntoday", by: "test" })
      const session = yield* makeSession({ tools: [risky()], approver })
      assert.deepStrictEqual(yield* session.call(hi), {
        call_id: "1",
        tool: "echo",
        status: "denied",
        error: { kind: "denied", message: "echo was denied: not\\ntoday" }
      })
    })
  )

  it.scoped("waits without a deadline, is answered once, and holds its own queue only", () =>
    Effect.gen(function* () {
      const session = yield* makeSession({ tools: [risky()] })
      const other = yield* makeSession({ tools: [risky()] })
      const { result } = yield* session.submit(hi)
      yield* TestClock.adjust("3 hours")
      const [request, ...none] = yield* session.approvals
      assert.lengthOf(none, 0)
      assert.deepInclude(request, { tool: "echo", risk: "process", workspace: "/workspace", plan: { text: "hi" } })
      assert.match(request!.digest, /^[0-9a-f]{64}$/)
      const { result: otherResult } = yield* other.submit(hi)
      yield* settle
      const [otherRequest] = yield* other.approvals
      yield* other.answer(otherRequest!.approval_id, { decision: "approve", by: "test" })
      assert.strictEqual((yield* otherResult).status, "completed")
      yield* session.answer(request!.approval_id, { decision: "approve", by: "test" })
      const late = yield* Effect.either(session.answer(request!.approval_id, { decision: "deny", by: "test" }))
      assert.isTrue(Either.isLeft(late))
      assert.strictEqual((yield* result).status, "completed")
    })
  )

  it.scoped("ends with its call", () =>
    Effect.gen(function* () {
      const session = yield* makeSession({ tools: [risky()] })
      const { id, result } = yield* session.submit(hi)
      yield* settle
      const [request] = yield* session.approvals
      yield* session.cancel(id)
      assert.strictEqual((yield* result).status, "cancelled")
      assert.deepStrictEqual(yield* session.approvals, [])
      const late = yield* Effect.either(session.answer(request!.approval_id, { decision: "approve", by: "test" }))
      assert.isTrue(Either.isLeft(late))
    })
  )

  it.scoped("is asked as the policy says", () =>
    Effect.gen(function* () {
      const outcomes: Record<string, string> = {}
      for (const policy of ["on-risk", "always", "never"] as const) {
        for (const assumeYes of [false, true]) {
          for (const risk of ["read_only", "filesystem", "process", "delegate"] as const) {
            const session = yield* makeSession({ tools: [textTool({ risk })], policy, assumeYes })
            const { id, result } = yield* session.submit(hi)
            yield* settle
            const isAsked = (yield* session.approvals).length === 1
            if (isAsked) yield* session.cancel(id)
            const { status } = yield* result
            outcomes[`${policy}${assumeYes ? " --yes" : ""} ${risk}`] = isAsked ? "asked" : status
          }
        }
      }
      assert.deepStrictEqual(outcomes, {
        "on-risk read_only": "completed",
        "on-risk filesystem": "asked",
        "on-risk process": "asked",
        "on-risk delegate": "asked",
        "on-risk --yes read_only": "completed",
        "on-risk --yes filesystem": "completed",
        "on-risk --yes process": "completed",
        "on-risk --yes delegate": "completed",
        "always read_only": "asked",
        "always filesystem": "asked",
        "always process": "asked",
        "always delegate": "asked",
        "always --yes read_only": "completed",
        "always --yes filesystem": "completed",
        "always --yes process": "completed",
        "always --yes delegate": "completed",
        "never read_only": "completed",
        "never filesystem": "denied",
        "never process": "denied",
        "never delegate": "denied",
        "never --yes read_only": "completed",
        "never --yes filesystem": "denied",
        "never --yes process": "denied",
        "never --yes delegate": "denied"
      })
    })
  )

  it.scoped("is never asked about less than the tool's own risk", () =>
    Effect.gen(function* () {
      const modest = textTool({
        risk: "process",
        prepare: ({ text }) => Effect.succeed({ risk: "read_only", summary: "", plan: { text } })
      })
      const session = yield* makeSession({ tools: [modest] })
      yield* session.submit(hi)
      yield* settle
      assert.deepInclude((yield* session.approvals)[0], { risk: "process" })
    })
  )

  it.scoped("shows a summary that cannot redraw the screen", () =>
    Effect.gen(function* () {
      const session = yield* makeSession({ tools: [risky()] })
      yield* session.submit({ tool: "echo", input: { text: "a\r\u001b[2Kb\u2028c" } })
      yield* settle
      assert.strictEqual((yield* session.approvals)[0]?.summary, "echo a\\r\\x1b[2Kb\\u{2028}c")
    })
  )
})

describe("a plan that has changed before it runs", () => {
  const changing = (times: number, risk: "read_only" | "process") => {
    let left = times
    return textTool({
      risk,
      run: ({ text }) =>
        left-- > 0 ? Effect.fail(new ToolError({ kind: "changed", message: "moved" })) : Effect.succeed({ text })
    })
  }

  it.scoped("is made again where nobody was asked", () =>
    Effect.gen(function* () {
      const session = yield* makeSession({ tools: [changing(3, "read_only")] })
      assert.strictEqual((yield* session.call(hi)).status, "completed")
    })
  )

  it.scoped("is given up after a few times", () =>
    Effect.gen(function* () {
      const session = yield* makeSession({ tools: [changing(4, "read_only")] })
      assert.strictEqual((yield* session.call(hi)).error?.kind, "changed")
    })
  )

  it.scoped("is refused where somebody approved another", () =>
    Effect.gen(function* () {
      const session = yield* makeSession({ tools: [changing(1, "process")] })
      const { result } = yield* session.submit(hi)
      yield* settle
      const [request] = yield* session.approvals
      yield* session.answer(request!.approval_id, { decision: "approve", by: "test" })
      assert.strictEqual((yield* result).error?.kind, "changed")
    })
  )
})

describe("the events", () => {
  it.scoped("count without a gap and tell the whole of a call", () =>
    Effect.gen(function* () {
      const tool = textTool({
        risk: "process",
        run: ({ text }, context) => Effect.as(context.progress("half way"), { text })
      })
      const session = yield* makeSession({ tools: [tool] })
      const finish = yield* recordEvents(session)
      const { result } = yield* session.submit({ ...hi, id: "a" })
      yield* settle
      const [request] = yield* session.approvals
      yield* session.answer(request!.approval_id, { decision: "approve", by: "test" })
      yield* result
      yield* session.call({ tool: "none", input: {}, id: "b" })
      const events = yield* finish
      assert.deepStrictEqual(
        events.map(({ event, id, seq }) => `${seq} ${id} ${event}`),
        [
          "1 a proposed",
          "2 a approval_requested",
          "3 a approval_resolved",
          "4 a started",
          "5 a progress",
          "6 a completed",
          "7 b proposed",
          "8 b completed"
        ]
      )
    })
  )

  it.scoped("leave progress out for a subscriber that lags, and nothing else", () =>
    Effect.gen(function* () {
      const flood = textTool({
        run: ({ text }, context) => Effect.as(Effect.repeatN(context.progress("x"), 5 * Session.maxLag), { text })
      })
      const session = yield* makeSession({ tools: [flood] })
      const lagging = yield* session.events
      assert.strictEqual((yield* session.call(hi)).status, "completed")
      yield* session.call({ tool: "none", input: {} })
      yield* session.close
      const events = Chunk.toReadonlyArray(yield* Stream.runCollect(lagging))
      const others = events.filter(({ event }) => event !== "progress").map(({ event }) => event)
      assert.deepStrictEqual(others, ["proposed", "started", "completed", "proposed", "completed"])
      assert.strictEqual(events.length - others.length, Session.maxLag - 2)
      assert.deepStrictEqual(
        events.map(({ seq }) => seq),
        events.map((_, index) => index + 1)
      )
    })
  )
})
