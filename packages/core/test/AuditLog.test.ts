import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Approval, AuditEntry, AuditLog, InputSchema, Recorded, type Session, Tool, ToolError } from "@scv/core"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import { makeAuditLog } from "./support/auditLog.ts"
import { makeSession, textTool } from "./support/session.ts"

const hi = { tool: "echo", input: { text: "hi" } }

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex")

const settle = TestClock.adjust("0 millis")

const risky = textTool({ risk: "process" })

const hangs = textTool({ run: () => Effect.never })

/** What a session records of what is done in it. */
const recordedBy = <E>(
  options: Omit<Parameters<typeof makeSession>[0], "audit">,
  act: (session: Session.Session) => Effect.Effect<unknown, E>
) =>
  Effect.gen(function* () {
    const { entries, layer } = makeAuditLog()
    yield* Effect.scoped(Effect.flatMap(makeSession({ ...options, audit: layer }), act))
    return entries
  })

/** The entries in short: which they are, what was decided, and how it ended. */
const told = (entries: ReadonlyArray<AuditEntry.AuditEntry>): ReadonlyArray<string> =>
  entries.map((entry) => {
    const decision = "decision" in entry && entry.decision !== undefined ? entry.decision : undefined
    const status = entry.entry === "end" ? `: ${entry.status}` : ""
    return `${entry.entry}${decision === undefined ? "" : `: ${decision.decision} by ${decision.by}`}${status}`
  })

describe("the record of a call", () => {
  it.effect("says who asked, what was planned, what was decided, and what became of it", () =>
    Effect.gen(function* () {
      const slow = textTool({ run: ({ text }) => Effect.delay(Effect.succeed({ text }), "3 seconds") })
      const entries = yield* recordedBy({ tools: [slow], id: "s", surface: "a shell" }, (session) =>
        Effect.gen(function* () {
          const { result } = yield* session.submit(hi)
          yield* TestClock.adjust("3 seconds")
          yield* result
        })
      )
      const common = { v: 1 as const, session: "s", serial: 1 }
      assert.deepStrictEqual(entries, [
        {
          ...common,
          entry: "start",
          time: "1970-01-01T00:00:00.000Z",
          call_id: "1",
          tool: "echo",
          surface: "a shell",
          pid: 7,
          uid: 1000,
          user: "somebody",
          workspace: "/workspace",
          policy: "on-risk",
          assume_yes: false
        },
        {
          ...common,
          entry: "plan",
          time: "1970-01-01T00:00:00.000Z",
          risk: "read_only",
          plan: { text: "hi" },
          digest: sha256('{"text":"hi"}'),
          decision: { decision: "approve", by: "policy" }
        },
        {
          ...common,
          entry: "end",
          time: "1970-01-01T00:00:03.000Z",
          status: "completed",
          result: { text: { bytes: 2 } },
          duration_ms: 3000
        }
      ])
    })
  )

  it.effect("that is approved names the plan before the question and the answer before the run", () =>
    Effect.gen(function* () {
      const { entries, layer } = makeAuditLog()
      const seen: Array<ReadonlyArray<string>> = []
      const look = Effect.sync(() => {
        seen.push(told(entries))
      })
      const tool = textTool({ risk: "process", run: ({ text }) => Effect.as(look, { text }) })
      const approver = Layer.succeed(Approval.Approver, {
        decide: () => Effect.as(look, { decision: "approve" as const, by: "a person" })
      })
      const session = yield* makeSession({ tools: [tool], approver, audit: layer })
      yield* session.call(hi)
      assert.deepStrictEqual(seen, [
        ["start", "plan"],
        ["start", "plan", "decision: approve by a person"]
      ])
      assert.deepStrictEqual(told(entries).at(-1), "end: completed")
    }).pipe(Effect.scoped)
  )

  it.effect("has the digest that the question had", () =>
    Effect.gen(function* () {
      const { entries, layer } = makeAuditLog()
      const session = yield* makeSession({ tools: [risky], audit: layer })
      yield* session.submit(hi)
      yield* settle
      const [question] = yield* session.approvals
      const [, plan] = entries
      assert.strictEqual(plan?.entry === "plan" ? plan.digest : undefined, question?.digest)
      assert.isDefined(question)
    }).pipe(Effect.scoped)
  )

  it.effect("is there for every ending", () =>
    Effect.gen(function* () {
      const denying = Approval.denying("not today")
      const call = (session: Session.Session) => session.call(hi)
      const started = Effect.fn(function* (session: Session.Session) {
        const submitted = yield* session.submit(hi)
        yield* settle
        return submitted
      })
      const cancelled = Effect.fn(function* (session: Session.Session) {
        const { id, result } = yield* started(session)
        yield* session.cancel(id)
        yield* result
      })
      const dies = textTool({ run: () => Effect.die("x") })
      const fails = textTool({ run: () => Effect.fail(new ToolError({ kind: "io", message: "no" })) })
      const allowed = "plan: approve by policy"
      const cases: ReadonlyArray<
        readonly [ReadonlyArray<string>, Effect.Effect<ReadonlyArray<AuditEntry.AuditEntry>, unknown>]
      > = [
        [[allowed, "end: completed"], recordedBy({ tools: [textTool({})] }, call)],
        [["plan: approve by assume_yes", "end: completed"], recordedBy({ tools: [risky], assumeYes: true }, call)],
        [
          ["plan: deny by policy", "end: denied"],
          recordedBy({ tools: [risky], policy: "never", assumeYes: true }, call)
        ],
        [["plan", "decision: deny by policy", "end: denied"], recordedBy({ tools: [risky], approver: denying }, call)],
        [["plan", "end: cancelled"], recordedBy({ tools: [risky] }, cancelled)],
        [[allowed, "end: cancelled"], recordedBy({ tools: [hangs] }, cancelled)],
        [[allowed, "end: cancelled"], recordedBy({ tools: [hangs] }, started)],
        [[allowed, "end: failed"], recordedBy({ tools: [fails] }, call)],
        [[allowed, "end: failed"], recordedBy({ tools: [dies] }, call)],
        [["end: failed"], recordedBy({ tools: [textTool({ prepare: () => Effect.die("x") })] }, call)],
        [["end: invalid"], recordedBy({ tools: [] }, call)],
        [
          ["end: invalid"],
          recordedBy({ tools: [textTool({})] }, (session) => session.call({ tool: "echo", input: {} }))
        ],
        [
          ["end: cancelled"],
          recordedBy({ tools: [textTool({})] }, (session) => Effect.zipRight(session.close, call(session)))
        ],
        [
          [allowed, "end: timed_out"],
          recordedBy({ tools: [hangs], limits: { commandTimeoutSeconds: 5 } }, (session) =>
            Effect.flatMap(started(session), ({ result }) => Effect.zipRight(TestClock.adjust("5 seconds"), result))
          )
        ]
      ]
      for (const [expected, recorded] of cases) assert.deepStrictEqual(told(yield* recorded), ["start", ...expected])
    })
  )

  it.effect("is there for a call that is cancelled while it waits, beside the one before it", () =>
    Effect.gen(function* () {
      const entries = yield* recordedBy({ tools: [hangs] }, (session) =>
        Effect.gen(function* () {
          yield* session.submit(hi)
          const { id, result } = yield* session.submit(hi)
          yield* session.cancel(id)
          yield* result
        })
      )
      assert.deepStrictEqual(told(entries.filter(({ serial }) => serial === 2)), ["start", "end: cancelled"])
    })
  )

  it.effect("has each plan of a call that is prepared again", () =>
    Effect.gen(function* () {
      let runs = 0
      const changing = textTool({
        prepare: () => Effect.sync(() => ({ summary: "", plan: { text: `plan ${runs}` } })),
        run: ({ text }) =>
          runs++ === 0 ? Effect.fail(new ToolError({ kind: "changed", message: "" })) : Effect.succeed({ text })
      })
      const entries = yield* recordedBy({ tools: [changing] }, (session) => session.call(hi))
      const plans = entries.flatMap((entry) => (entry.entry === "plan" ? [entry.plan] : []))
      assert.deepStrictEqual(plans, [{ text: "plan 0" }, { text: "plan 1" }])
    })
  )

  it.effect("tells calls apart that use one id again", () =>
    Effect.gen(function* () {
      const entries = yield* recordedBy({ tools: [textTool({})] }, (session) =>
        Effect.replicateEffect(session.call({ ...hi, id: "same" }), 3)
      )
      assert.deepStrictEqual(
        entries.filter(({ entry }) => entry === "end").map(({ serial }) => serial),
        [1, 2, 3]
      )
    })
  )

  it.effect("that cannot be kept costs no call its result", () =>
    Effect.gen(function* () {
      const audit = Layer.succeed(AuditLog.AuditLog, { process: { pid: 1 }, record: () => Effect.die("broken") })
      const session = yield* makeSession({ tools: [textTool({}), hangs].slice(0, 1), audit })
      assert.strictEqual((yield* session.call(hi)).status, "completed")
      assert.strictEqual((yield* session.call({ tool: "nope", input: {} })).status, "invalid")
      assert.deepStrictEqual(yield* session.live, [])
    }).pipe(Effect.scoped)
  )

  const step = FastCheck.oneof(
    FastCheck.record({ do: FastCheck.constant("call" as const), kind: FastCheck.nat(5) }),
    FastCheck.record({ do: FastCheck.constant("cancel" as const), index: FastCheck.nat(6) }),
    FastCheck.record({ do: FastCheck.constant("answer" as const), yes: FastCheck.boolean() }),
    FastCheck.record({ do: FastCheck.constant("wait" as const), ms: FastCheck.constantFrom(0, 1, 999, 1000, 5000) })
  )

  it.effect.prop(
    "begins once and ends once, as its answer says, whatever happens in a session",
    { steps: FastCheck.array(step, { maxLength: 14 }), closes: FastCheck.boolean() },
    ({ closes, steps }) =>
      Effect.gen(function* () {
        const { entries, layer } = makeAuditLog()
        const tools = [
          textTool({ name: "quick" }),
          textTool({ name: "risky", risk: "process" }),
          textTool({ name: "slow", run: ({ text }) => Effect.delay(Effect.succeed({ text }), "1 second") }),
          textTool({ name: "stuck", run: () => Effect.never }),
          textTool({ name: "broken", run: () => Effect.die("x") })
        ]
        const answers = yield* Effect.gen(function* () {
          const session = yield* makeSession({ tools, audit: layer, limits: { commandTimeoutSeconds: 4 } })
          const calls: Array<Session.Call> = []
          for (const step of steps) {
            if (step.do === "call") {
              const tool = ["quick", "risky", "slow", "stuck", "broken", "unknown"][step.kind]!
              calls.push(yield* session.submit({ tool, input: { text: "x" } }))
            } else if (step.do === "cancel") {
              yield* session.cancel(String(step.index))
            } else if (step.do === "answer") {
              const [question] = yield* session.approvals
              const decision = step.yes ? ("approve" as const) : ("deny" as const)
              if (question !== undefined) yield* session.answer(question.approval_id, { decision, by: "test" })
            } else {
              yield* TestClock.adjust(step.ms)
            }
          }
          if (closes) yield* session.close
          else for (const { id } of calls) yield* session.cancel(id)
          return yield* Effect.forEach(calls, ({ result }) => result)
        }).pipe(Effect.scoped)
        for (const [index, answer] of answers.entries()) {
          const own = entries.filter(({ serial }) => serial === index + 1)
          const names = own.map(({ entry }) => entry)
          assert.strictEqual(names.indexOf("start"), 0)
          assert.strictEqual(names.lastIndexOf("start"), 0)
          assert.strictEqual(names.indexOf("end"), own.length - 1)
          const end = own.at(-1)
          assert.strictEqual(end?.entry === "end" ? end.status : undefined, answer.status)
        }
        assert.strictEqual(new Set(entries.map(({ serial }) => serial)).size, answers.length)
      }),
    { fastCheck: { numRuns: 80 } }
  )
})

describe("what is recorded", () => {
  const secret = Recorded.byDigest(Schema.String)
  const kept = { bytes: 6, sha256: sha256("s3cret") }

  const recordedPlan = <A, I>(schema: Schema.Schema<A, I>, plan: A) => {
    const encoded = Schema.encodeSync(schema)(plan)
    return Recorded.plan(schema.ast, encoded as never, sha256)
  }

  it("of a plan is all but what its schema marks, wherever that is", () => {
    interface Tree {
      readonly secret: string
      readonly below: ReadonlyArray<Tree>
    }
    const Tree: Schema.Schema<Tree> = Schema.Struct({
      secret,
      below: Schema.Array(Schema.suspend((): Schema.Schema<Tree> => Tree))
    })
    const cases: ReadonlyArray<readonly [unknown, unknown]> = [
      [recordedPlan(Schema.Struct({ a: Schema.String, b: secret }), { a: "x", b: "s3cret" }), { a: "x", b: kept }],
      [
        recordedPlan(Schema.Struct({ a: Schema.Array(Schema.Struct({ b: secret })) }), { a: [{ b: "s3cret" }] }),
        { a: [{ b: kept }] }
      ],
      [recordedPlan(Schema.Struct({ a: Schema.Tuple(Schema.Number, secret) }), { a: [1, "s3cret"] }), { a: [1, kept] }],
      [
        recordedPlan(Schema.Record({ key: Schema.String, value: secret }), { a: "s3cret", b: "s3cret" }),
        { a: kept, b: kept }
      ],
      [
        recordedPlan(Schema.Union(Schema.Struct({ a: Schema.String }), Schema.Struct({ a: secret })), { a: "s3cret" }),
        { a: kept }
      ],
      [recordedPlan(Schema.Struct({ a: Schema.optionalWith(secret, { exact: true }) }), { a: "s3cret" }), { a: kept }],
      [
        recordedPlan(Schema.Struct({ a: Schema.optionalWith(secret, { default: () => "" }) }), { a: "s3cret" }),
        { a: kept }
      ],
      [
        recordedPlan(Schema.Struct({ a: Schema.propertySignature(secret).pipe(Schema.fromKey("b")) }), { a: "s3cret" }),
        { b: kept }
      ],
      [recordedPlan(Schema.Struct({ a: secret.pipe(Schema.minLength(1)) }), { a: "s3cret" }), { a: kept }],
      [recordedPlan(Schema.Struct({ a: Schema.NullOr(secret) }), { a: "s3cret" }), { a: kept }],
      [
        recordedPlan(Schema.Struct({ a: Recorded.byDigest(Schema.Struct({ b: Schema.Number })) }), { a: { b: 1 } }),
        { a: { bytes: 7, sha256: sha256('{"b":1}') } }
      ],
      [recordedPlan(Schema.Struct({ a: Recorded.byDigest(Schema.Trim) }), { a: "s3cret" }), { a: kept }],
      [
        recordedPlan(Tree, { secret: "s3cret", below: [{ secret: "s3cret", below: [] }] }),
        { secret: kept, below: [{ secret: kept, below: [] }] }
      ]
    ]
    for (const [found, expected] of cases) assert.deepStrictEqual(found, expected)
  })

  it("of an output is its numbers and switches, what is marked, and the size of the rest", () => {
    const Output = Schema.Struct({
      name: Recorded.whole(Schema.String),
      text: Schema.String,
      list: Schema.Array(Schema.String),
      count: Schema.Number,
      isDone: Schema.Boolean,
      nothing: Schema.Null,
      maybe: Schema.optionalWith(Recorded.whole(Schema.String), { exact: true })
    })
    const output = { name: "a", text: "tëxt", list: ["x"], count: 3, isDone: true, nothing: null, maybe: "b" }
    assert.deepStrictEqual(Recorded.output(Output.ast)(output), {
      ...output,
      text: { bytes: 5 },
      list: { bytes: 5 }
    })
  })

  const anyText = FastCheck.string({ unit: "binary", maxLength: 200 })
  const hostile = FastCheck.oneof(
    anyText,
    FastCheck.constantFrom(
      '\n{"v":1,"entry":"end"}\n',
      "\u2028\u2029\u0085\r\n",
      "\u001b[2J\u202e\u200b\u009b31m",
      '","entry":"end"',
      "\ud800"
    )
  )

  const entryOf = (text: string, plan: unknown): AuditEntry.AuditEntry => ({
    v: 1,
    entry: "plan",
    time: "2025-01-31T00:00:00.000Z",
    session: text,
    serial: 1,
    risk: "process",
    plan,
    digest: "d",
    decision: { decision: "deny", by: text, reason: text }
  })

  it.prop(
    "is one line that holds nothing invisible and means the same",
    { text: hostile, key: hostile },
    ({ key, text }) => {
      const entry = entryOf(text.toWellFormed(), { [key.toWellFormed()]: [text.toWellFormed()] })
      const line = AuditEntry.line(entry)
      assert.match(line, /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]*\n$/u)
      assert.deepStrictEqual(AuditEntry.parse(line.trimEnd()), { entry, isTorn: false })
    }
  )

  it.prop(
    "is found behind a line that was cut short, and never within another one",
    { text: hostile, cut: FastCheck.nat(400) },
    ({ cut, text }) => {
      const inner = AuditEntry.line(entryOf("inner", { text })).trimEnd()
      const entry = entryOf("outer", { text: inner, inner: entryOf("inner", 1), last: inner })
      const line = AuditEntry.line(entry).trimEnd()
      assert.deepStrictEqual(AuditEntry.parse(line), { entry: JSON.parse(line), isTorn: false })
      const torn = line.slice(0, Math.max(1, Math.min(cut, line.length - 1)))
      assert.deepStrictEqual(AuditEntry.parse(torn), { entry: undefined, isTorn: true })
      assert.deepStrictEqual(AuditEntry.parse(torn + line), { entry: JSON.parse(line), isTorn: true })
    }
  )

  it.effect("of the largest call fits a line", () =>
    Effect.gen(function* () {
      const Anything = Schema.Record({ key: Schema.String, value: Schema.Unknown })
      const big = "\u0001".repeat(400_000)
      const many = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`k${i}`, "\u0001".repeat(20)]))
      for (const value of [{ big }, many, { numbers: Array(300_000).fill(-1.2345678901234567e-30) }]) {
        const tool = Tool.make({
          name: "any",
          description: "",
          risk: "process",
          input: InputSchema.struct({}),
          plan: Anything,
          output: Schema.Struct({ text: Recorded.whole(Schema.String) }),
          prepare: () => Effect.succeed({ summary: "", plan: value }),
          run: () => Effect.succeed({ text: big })
        })
        const approver = Layer.succeed(Approval.Approver, {
          decide: () => Effect.succeed({ decision: "approve" as const, by: big, reason: big })
        })
        const { entries, layer } = makeAuditLog()
        const session = yield* makeSession({ tools: [tool], approver, audit: layer, id: big })
        yield* session.call({ id: big, tool: "any", input: {} })
        assert.strictEqual(entries.length, 4)
        for (const entry of entries) assert.isAtMost(AuditEntry.line(entry).length, AuditEntry.maxLine)
      }
    }).pipe(Effect.scoped)
  )

  it.effect("of a command is all of it, as long as an argument can be", () =>
    Effect.gen(function* () {
      const text = `head ${"é".repeat(65_000)} tail`
      const { entries, layer } = makeAuditLog()
      const session = yield* makeSession({ tools: [textTool({})], audit: layer })
      yield* session.call({ tool: "echo", input: { text } })
      const plan = entries.find((entry) => entry.entry === "plan")
      assert.isTrue(plan?.entry === "plan" && JSON.stringify(plan.plan) === JSON.stringify({ text }))
    }).pipe(Effect.scoped)
  )

  it.effect("while a question is open is all but the answer", () =>
    Effect.gen(function* () {
      const { entries, layer } = makeAuditLog()
      const asked = yield* Deferred.make<void>()
      const approver = Layer.succeed(Approval.Approver, {
        decide: () => Effect.zipRight(Deferred.succeed(asked, undefined), Effect.never)
      })
      const session = yield* makeSession({ tools: [risky], approver, audit: layer })
      yield* session.submit(hi)
      yield* Deferred.await(asked)
      assert.deepStrictEqual(told(entries), ["start", "plan"])
    }).pipe(Effect.scoped)
  )
})
