import { assert, describe, it } from "@effect/vitest"
import { ProcessGroup } from "@scv/core"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import { play, type Scenario, simulatedTool } from "./support/processCalls.ts"
import { makeSession } from "./support/session.ts"
import * as SimulatedProcesses from "./support/simulatedProcesses.ts"
import { runVirtual } from "./support/virtualClock.ts"

type Tree = SimulatedProcesses.Tree

/** Plays a scenario on the test clock. */
const played = (scenario: Scenario) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkScoped(play(scenario))
    yield* TestClock.adjust("15 seconds")
    return yield* Fiber.join(fiber)
  })

const obeying: Tree = { exitAfter: "never", onTerm: 5 }
const ignoring: Tree = { exitAfter: "never", onTerm: "ignores" }
const short: Tree = { exitAfter: 100, onTerm: 5, writes: [[10, 7]] }
const quiet = { holdsOutput: false }

const parent = (tree: Tree, ...children: ReadonlyArray<Tree>): Tree => ({
  ...tree,
  forks: children.map((child) => [1, child] as const)
})

const left = (pid: number) => ({ pid, command: `process ${pid}` })

describe("a program that ends by itself", () => {
  it.scoped("is answered when it ends, and nothing is signalled", () =>
    Effect.gen(function* () {
      const { output, partials, returned, signals } = yield* played({ tree: { ...short, code: 3 } })
      assert.strictEqual(returned, 100)
      assert.deepStrictEqual(signals, [])
      assert.deepStrictEqual(output, {
        exit_code: 3,
        signal: null,
        output: "xxxxxxx",
        output_bytes: 7,
        truncated: false,
        omitted_bytes: 0,
        duration_ms: 100
      })
      assert.deepStrictEqual(partials, [output])
    })
  )

  it.scoped("and leaves one in the background: the output is drained for 250 ms, TERM, KILL after 2 s, a hint", () =>
    Effect.gen(function* () {
      const { output, returned, signals } = yield* played({ tree: parent(short, ignoring) })
      assert.deepStrictEqual(signals, ["TERM 350", "CONT 350", "KILL 2350"])
      assert.isAtMost(returned, 2360)
      assert.deepInclude(output, { exit_code: 0, hint: "background processes were ended with the call" })
      assert.notProperty(output, "left_running")
    })
  )

  it.scoped("and leaves one that obeys: no KILL", () =>
    Effect.gen(function* () {
      const { returned, signals } = yield* played({ tree: parent(short, { ...obeying, ...quiet }) })
      assert.deepStrictEqual(signals, ["TERM 100", "CONT 100"])
      assert.isAtMost(returned, 110)
    })
  )

  it.scoped("reports those that left the group on purpose, and leaves them alone", () =>
    Effect.gen(function* () {
      const stray = { ...obeying, ...quiet, escapes: true }
      const { output, returned, signals, world } = yield* played({ tree: parent(short, stray) })
      assert.strictEqual(returned, 100)
      assert.deepStrictEqual(signals, [])
      assert.deepStrictEqual(output?.left_running, [left(101)])
      assert.notProperty(output, "hint")
      assert.lengthOf(world.alive(), 1)
    })
  )

  it.scoped("of a tool that ends strays ends them like members", () =>
    Effect.gen(function* () {
      const stray = { ...ignoring, ...quiet, escapes: true }
      const { output, signals, world } = yield* played({ tree: parent(short, stray), strays: "end" })
      assert.deepStrictEqual(signals, ["TERM 100", "CONT 100", "KILL 2100"])
      assert.property(output, "hint")
      assert.lengthOf(world.alive(), 0)
    })
  )

  it.scoped("with its output held by a stray is answered after 250 ms without any", () =>
    Effect.gen(function* () {
      const stray: Tree = { ...obeying, escapes: true, writes: [[200, 3]] }
      const { output, returned, signals } = yield* played({ tree: parent(short, stray) })
      assert.strictEqual(returned, 451)
      assert.deepStrictEqual(signals, [])
      assert.strictEqual(output?.output_bytes, 10)
    })
  )

  it.scoped("with a survivor that floods is drained for 2 s", () =>
    Effect.gen(function* () {
      const writes = Array.from({ length: 60 }, (_, index) => [100 * index, 1] as const)
      const { output, returned, world } = yield* played({ tree: parent(short, { ...obeying, escapes: true, writes }) })
      assert.strictEqual(returned, 2100)
      assert.strictEqual(output?.output_bytes, 7 + 21)
      assert.isAbove(world.produced(), 50)
    })
  )

  it.scoped("and leaves only zombies is answered at once, without a signal", () =>
    Effect.gen(function* () {
      const zombie: Tree = { exitAfter: 10, onTerm: 5, isZombie: true }
      const { output, returned, signals, world } = yield* played({ tree: parent(short, zombie, zombie) })
      assert.strictEqual(returned, 100)
      assert.deepStrictEqual(signals, [])
      assert.lengthOf(world.zombies(), 2)
      assert.notProperty(output, "left_running")
    })
  )

  it.scoped("and leaves one that cannot be killed reports it", () =>
    Effect.gen(function* () {
      const unkillable: Tree = { ...ignoring, ...quiet, onKill: "never" }
      const { output, returned, signals } = yield* played({ tree: parent(short, unkillable) })
      assert.deepStrictEqual(signals.slice(0, 3), ["TERM 100", "CONT 100", "KILL 2100"])
      assert.isTrue(signals.slice(2).every((signal) => signal.startsWith("KILL")))
      assert.isAtMost(returned, 3200)
      assert.deepStrictEqual(output?.left_running, [left(101)])
    })
  )
})

describe("a cancel", () => {
  it.scoped("ends a leader that obeys by TERM, and keeps its output", () =>
    Effect.gen(function* () {
      const { exit, output, returned, signals } = yield* played({
        tree: { ...obeying, writes: [[10, 7]] },
        acts: [[50, "cancel"]]
      })
      assert.isTrue(Exit.isInterrupted(exit))
      assert.deepStrictEqual(signals, ["TERM 50", "CONT 50"])
      assert.isAtMost(returned, 60)
      assert.deepInclude(output, { exit_code: null, signal: "SIGTERM", output: "xxxxxxx", output_bytes: 7 })
    })
  )

  it.scoped("kills what ignores TERM after exactly 2 s", () =>
    Effect.gen(function* () {
      const { output, returned, signals } = yield* played({ tree: ignoring, acts: [[50, "cancel"]] })
      assert.deepStrictEqual(signals, ["TERM 50", "CONT 50", "KILL 2050"])
      assert.isAtMost(returned, 2060)
      assert.strictEqual(output?.signal, "SIGKILL")
    })
  )

  it.scoped("gives the grace to the members, not to the leader alone", () =>
    Effect.gen(function* () {
      const slow: Tree = { exitAfter: "never", onTerm: 1500 }
      const { returned, signals } = yield* played({ tree: parent(obeying, slow), acts: [[50, "cancel"]] })
      assert.deepStrictEqual(signals, ["TERM 50", "CONT 50"])
      assert.isAtLeast(returned, 1550)
      assert.isAtMost(returned, 1650)
    })
  )

  it.scoped("kills a member that ignores TERM though the leader is gone", () =>
    Effect.gen(function* () {
      const { signals, world } = yield* played({ tree: parent(obeying, ignoring), acts: [[50, "cancel"]] })
      assert.deepStrictEqual(signals, ["TERM 50", "CONT 50", "KILL 2050"])
      assert.deepStrictEqual(world.log.at(-1)?.hit, [101])
      assert.deepStrictEqual(world.violations, [])
    })
  )

  it.scoped("reaches those outside the group too, and what they start upon TERM", () =>
    Effect.gen(function* () {
      const stray: Tree = { ...obeying, escapes: true, forksOnTerm: [ignoring] }
      const { signals, world } = yield* played({ tree: parent(obeying, stray), acts: [[50, "cancel"]] })
      // The second TERM is for what left the group after the first one; the look that finds it comes a moment later.
      assert.deepStrictEqual(signals.slice(0, 2), ["TERM 50", "CONT 50"])
      assert.strictEqual(signals.at(-1), "KILL 2050")
      assert.deepStrictEqual(
        world.log.slice(2, 4).map(({ hit, signal }) => `${signal} ${hit}`),
        ["TERM 102", "CONT 102"]
      )
      assert.deepStrictEqual(world.log.at(-1)?.hit, [102])
      assert.lengthOf(world.alive(), 0)
    })
  )

  it.scoped("makes a stopped process go on, so that it acts on TERM", () =>
    Effect.gen(function* () {
      const { returned, signals } = yield* played({ tree: { ...obeying, isStopped: true }, acts: [[50, "cancel"]] })
      assert.deepStrictEqual(signals, ["TERM 50", "CONT 50"])
      assert.isAtMost(returned, 60)
    })
  )

  it.scoped("a second time ends the grace", () =>
    Effect.gen(function* () {
      const acts = [
        [50, "cancel"],
        [700, "cancel"],
        [701, "cancel"]
      ] as const
      const { cause, returned, signals } = yield* played({ tree: ignoring, acts })
      assert.strictEqual(cause, "cancelled")
      assert.deepStrictEqual(signals, ["TERM 50", "CONT 50", "KILL 700"])
      assert.isAtMost(returned, 710)
    })
  )

  it.scoped("that comes twice at once kills at once", () =>
    // A shrunk counterexample to "no TERM where a hurry comes in the same millisecond": the order in it decides.
    Effect.gen(function* () {
      const { returned, signals } = yield* played({
        tree: ignoring,
        acts: [
          [50, "cancel"],
          [50, "cancel"]
        ]
      })
      assert.strictEqual(signals.at(-1), "KILL 50")
      assert.isAtMost(returned, 60)
    })
  )

  it.scoped("of a call whose output is held by one that nobody can know returns after 250 ms", () =>
    Effect.gen(function* () {
      const unknown: Tree = { ...ignoring, isUnknown: true, writes: [[200, 3]] }
      const { output, returned } = yield* played({ tree: parent(obeying, unknown), acts: [[50, "cancel"]] })
      assert.isAtLeast(returned, 451)
      assert.isAtMost(returned, 460)
      assert.deepInclude(output, { signal: "SIGTERM", output_bytes: 3 })
    })
  )

  it.scoped("whose grace the deadline ends", () =>
    Effect.gen(function* () {
      const acts = [
        [50, "cancel"],
        [700, "deadline"]
      ] as const
      const { cause, signals } = yield* played({ tree: ignoring, acts })
      assert.strictEqual(cause, "cancelled")
      assert.deepStrictEqual(signals, ["TERM 50", "CONT 50", "KILL 700"])
    })
  )

  it.scoped("in the grace of a normal end sends no second TERM and does not prolong it", () =>
    Effect.gen(function* () {
      const tree = parent(short, { ...ignoring, ...quiet })
      const { output, signals } = yield* played({ tree, acts: [[1000, "cancel"]] })
      assert.deepStrictEqual(signals, ["TERM 100", "CONT 100", "KILL 2100"])
      assert.deepInclude(output, { exit_code: 0, output_bytes: 7 })
    })
  )

  it.scoped("after the KILL of a normal end sends no TERM", () =>
    Effect.gen(function* () {
      const tree = parent(short, { ...ignoring, ...quiet, onKill: 300 })
      const { exit, returned, signals } = yield* played({ tree, acts: [[2200, "cancel"]] })
      assert.isTrue(Exit.isInterrupted(exit))
      assert.deepStrictEqual(
        signals.filter((signal) => !signal.startsWith("KILL")),
        ["TERM 100", "CONT 100"]
      )
      assert.isAtMost(returned, 2510)
    })
  )

  it.scoped("reports what cannot be killed, and returns", () =>
    Effect.gen(function* () {
      const tree = parent({ ...ignoring, onKill: "never" }, ignoring)
      const { output, returned } = yield* played({ tree, acts: [[50, "cancel"]] })
      assert.deepStrictEqual(output?.left_running, [left(100)])
      assert.isAtMost(returned, 50 + 2000 + 1000 + 100 + 250 + 250)
    })
  )
})

describe("who counts only since a cancel", () => {
  it.scoped("a stray that a cancel finds in the grace of a normal end gets its TERM before KILL", () =>
    Effect.gen(function* () {
      const stray = { ...obeying, ...quiet, escapes: true }
      const { world } = yield* played({
        tree: parent(short, stray, { ...ignoring, ...quiet }),
        acts: [[1000, "cancel"]]
      })
      const pid = world.processes.find(({ tree }) => tree === stray)!.pid
      const first = world.log.find(({ hit, signal }) => signal !== "CONT" && hit.includes(pid))
      assert.strictEqual(first?.signal, "TERM")
    })
  )

  it.scoped("a cancel after the leader's end signals nobody where nobody is left", () =>
    // A shrunk counterexample.
    Effect.gen(function* () {
      const tree = parent(short, { ...ignoring, isUnknown: true })
      const { world } = yield* played({ tree, acts: [[200, "cancel"]] })
      assert.deepStrictEqual(world.aimless, [])
    })
  )

  it.scoped("what dies while the output of a cancelled call is drained is not reported as left", () =>
    Effect.gen(function* () {
      const { output } = yield* played({ tree: { ...ignoring, onKill: 1200 }, acts: [[50, "deadline"]] })
      assert.strictEqual(output?.signal, "SIGKILL")
      assert.notProperty(output, "left_running")
    })
  )
})

describe("a deadline", () => {
  it.scoped("kills at once, without TERM, and keeps the output", () =>
    Effect.gen(function* () {
      const tree = parent({ ...obeying, writes: [[10, 7]] }, { ...obeying, escapes: true })
      const { output, returned, signals, world } = yield* played({ tree, acts: [[50, "deadline"]] })
      assert.deepStrictEqual(signals, ["KILL 50"])
      assert.isAtMost(returned, 55)
      assert.deepInclude(output, { signal: "SIGKILL", output_bytes: 7 })
      assert.lengthOf(world.alive(), 0)
    })
  )

  it.scoped("kills what is forked while it kills too", () =>
    Effect.gen(function* () {
      const tree: Tree = { ...obeying, forksOnKill: [{ ...obeying, escapes: true, forksOnKill: [obeying] }, obeying] }
      const { returned, world } = yield* played({ tree, acts: [[50, "deadline"]] })
      assert.lengthOf(world.processes, 4)
      assert.lengthOf(world.alive(), 0)
      assert.isAtMost(returned, 70)
    })
  )

  it.scoped("in the grace of a normal end ends it", () =>
    Effect.gen(function* () {
      const tree = parent(short, { ...ignoring, ...quiet })
      const { signals } = yield* played({ tree, acts: [[1000, "deadline"]] })
      assert.deepStrictEqual(signals, ["TERM 100", "CONT 100", "KILL 1000"])
    })
  )
})

describe("through a session", () => {
  const called = (tree: Tree, timeoutSeconds: number, cancels: ReadonlyArray<number>) =>
    Effect.gen(function* () {
      const world = yield* SimulatedProcesses.make(tree)
      const session = yield* makeSession({ tools: [simulatedTool(world, timeoutSeconds)] })
      const { id, result } = yield* session.submit({ tool: "simulated", input: {} })
      for (const at of cancels) yield* Effect.forkScoped(Effect.delay(session.cancel(id), at))
      const answer = yield* result
      return { answer, signals: world.log.map(({ signal, time }) => `${signal} ${time}`) }
    })

  const calledNow = (tree: Tree, timeoutSeconds: number, cancels: ReadonlyArray<number>) =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkScoped(called(tree, timeoutSeconds, cancels))
      yield* TestClock.adjust("15 seconds")
      return yield* Fiber.join(fiber)
    })

  it.scoped("a call that is cancelled carries its output", () =>
    Effect.gen(function* () {
      const { answer } = yield* calledNow({ ...ignoring, writes: [[10, 7]] }, 10, [50])
      assert.strictEqual(answer.status, "cancelled")
      assert.deepInclude(answer.result, { output: "xxxxxxx", output_bytes: 7, signal: "SIGKILL" })
    })
  )

  it.scoped("a deadline in the grace of a cancel ends it, and the call is cancelled", () =>
    Effect.gen(function* () {
      const { answer, signals } = yield* calledNow(ignoring, 1, [500])
      assert.strictEqual(answer.status, "cancelled")
      assert.deepStrictEqual(signals, ["TERM 500", "CONT 500", "KILL 1000"])
    })
  )

  it.scoped("a second cancel ends the grace", () =>
    Effect.gen(function* () {
      const { signals } = yield* calledNow(ignoring, 10, [500, 900])
      assert.deepStrictEqual(signals, ["TERM 500", "CONT 500", "KILL 900"])
    })
  )

  it.scoped("a deadline is timed_out with the output, and a cancel after it changes nothing", () =>
    Effect.gen(function* () {
      const { answer, signals } = yield* calledNow({ ...ignoring, onKill: 50, writes: [[10, 7]] }, 1, [1010])
      assert.strictEqual(answer.status, "timed_out")
      assert.deepInclude(answer.result, { output_bytes: 7 })
      assert.isTrue(signals.every((signal) => signal.startsWith("KILL")))
    })
  )

  it("the first cause names the status, in any tree", { timeout: 60_000 }, () =>
    forAll(
      FastCheck.record({
        tree: anyTree,
        cancels: FastCheck.array(FastCheck.integer({ min: 1, max: 5000 }), { maxLength: 2 }),
        deadline: FastCheck.integer({ min: 1, max: 5000 })
      }),
      150,
      async ({ cancels, deadline, tree }) => {
        const exit = await runVirtual(
          Effect.scoped(
            Effect.gen(function* () {
              const { answer } = yield* called(tree, deadline / 1000, cancels)
              const clock = yield* Effect.clock
              return { answer, returned: clock.unsafeCurrentTimeMillis() }
            })
          )
        )
        if (!Exit.isSuccess(exit)) return ["it broke"]
        const { answer, returned } = exit.value
        const cancel = Math.min(...cancels, Number.POSITIVE_INFINITY)
        const cause = Math.min(cancel, deadline)
        const byItself = ["completed", "failed"]
        const expected = [
          ...(cause >= returned ? byItself : []),
          ...(cancel <= deadline && cancel <= returned ? ["cancelled"] : []),
          ...(deadline <= cancel && deadline <= returned ? ["timed_out"] : [])
        ]
        return [
          ...(expected.includes(answer.status) ? [] : [`${answer.status} at ${returned}`]),
          ...(answer.result === undefined ? ["no output"] : [])
        ]
      }
    )
  )
})

/** Checks a property, and says briefly what breaks it: a long message would hold the reporter up. */
const forAll = async <A>(
  arbitrary: FastCheck.Arbitrary<A>,
  numRuns: number,
  faults: (value: A) => Promise<ReadonlyArray<string>>
): Promise<void> => {
  let last: ReadonlyArray<string> = []
  const { counterexample, error, failed, seed } = await FastCheck.check(
    FastCheck.asyncProperty(arbitrary, async (value) => {
      const found = await faults(value)
      if (found.length === 0) return
      last = found
      throw new Error(found.join("\n"))
    }),
    { numRuns }
  )
  if (!failed) return
  const example = JSON.stringify(counterexample, null, 1).slice(0, 3000)
  assert.fail(`seed ${seed}\n${last.join("\n") || error?.slice(0, 500)}\n${example}`)
}

const often = <A>(usual: A, ...others: ReadonlyArray<FastCheck.Arbitrary<A>>): FastCheck.Arbitrary<A> =>
  FastCheck.oneof(
    { arbitrary: FastCheck.constant(usual), weight: 2 * others.length },
    ...others.map((arbitrary) => ({ arbitrary, weight: 1 }))
  )

const millis = (max: number) => FastCheck.integer({ min: 1, max })

const node = (children: FastCheck.Arbitrary<Tree>, maxChildren: number): FastCheck.Arbitrary<Tree> =>
  FastCheck.record({
    exitAfter: FastCheck.oneof(millis(3000), FastCheck.constant("never" as const)),
    onTerm: FastCheck.oneof(millis(100), millis(3000), FastCheck.constant("ignores" as const)),
    onKill: often<number | "never">(0, millis(400), FastCheck.constant("never" as const)),
    escapes: often(false, FastCheck.boolean()),
    isUnknown: often(false, FastCheck.boolean()),
    isZombie: often(false, FastCheck.boolean()),
    isStopped: often(false, FastCheck.boolean()),
    holdsOutput: often(true, FastCheck.boolean()),
    writes: FastCheck.array(FastCheck.tuple(millis(3000), FastCheck.integer({ min: 1, max: 100 })), { maxLength: 4 }),
    forks: FastCheck.array(FastCheck.tuple(millis(2500), children), { maxLength: maxChildren }),
    forksOnTerm: often<ReadonlyArray<Tree>>([], FastCheck.array(children, { maxLength: Math.min(1, maxChildren) })),
    forksOnKill: often<ReadonlyArray<Tree>>([], FastCheck.array(children, { maxLength: Math.min(1, maxChildren) }))
  })

const anyTree = node(node(node(FastCheck.constant(obeying), 0), 2), 4)

const { grace, idle, maxDrain, maxReap } = ProcessGroup

/** The longest wait between two looks. */
const look = 100

/** Everything that is wrong with how a scenario went. */
const faultsOf = async (scenario: Scenario): Promise<ReadonlyArray<string>> => {
  const exit = await runVirtual(
    Effect.scoped(
      Effect.map(play(scenario), (end) => ({
        ...end,
        // As it is when the call returns.
        alive: end.world.alive().map(({ inGroup, pid, tree }) => ({ inGroup, pid, tree })),
        produced: end.world.produced(),
        isOutputHeld: end.world.isOutputHeld()
      }))
    )
  )
  if (!Exit.isSuccess(exit)) return ["it broke"]
  const { alive, causeAt, cause, hurriedAt, isOutputHeld, output, partials, produced, returned, world } = exit.value
  const { sentAtCause, sentAtHurry } = exit.value
  if (output === undefined) return ["no output"]
  const faults: Array<string> = [...world.violations]
  const check = (isGood: boolean, fault: string): void => void (isGood || faults.push(fault))
  const infinity = Number.POSITIVE_INFINITY

  const { log } = world
  const { strays } = scenario
  const isOutside = (pid: number): boolean => world.processes[pid - SimulatedProcesses.leaderPid]?.inGroup === false
  const terms = log.filter(({ signal }) => signal === "TERM")
  const kills = log.filter(({ signal }) => signal === "KILL")
  const term = terms[0]?.time
  const kill = kills[0]?.time
  const termed = terms.flatMap(({ hit }) => hit)
  check(new Set(termed).size === termed.length, "TERM twice to one process")
  check(
    kills.every(({ hit }) => hit.length > 0),
    "KILL to nobody"
  )
  const firstKill = log.findIndex(({ signal }) => signal === "KILL")
  check(firstKill < 0 || log.slice(firstKill).every(({ signal }) => signal === "KILL"), "something else after KILL")

  const leaderEnded = world.leaderEnded()
  // By order, since all of it can come in the same millisecond.
  const isKill = ({ signal }: (typeof log)[number]): boolean => signal === "KILL"
  check(log.slice(sentAtHurry).every(isKill), "TERM though hurried")
  check(cause !== "timed_out" || log.slice(sentAtCause).every(isKill), "TERM at a deadline")
  const graceEnds = Math.min(term === undefined ? infinity : term + grace, hurriedAt ?? infinity)
  // Strays only count once the call is cancelled, which can be after the grace of a normal end.
  const isLate = strays !== "end" && causeAt !== undefined && kills[0]?.hit.every(isOutside) === true
  // Where nobody is left who was told before, they have a grace of their own.
  const due = isLate
    ? [graceEnds, Math.max(graceEnds, causeAt), Math.min(causeAt + grace, hurriedAt ?? infinity)]
    : [graceEnds]
  if (kill !== undefined) check(due.includes(kill), `KILL at ${kill}, not ${due}`)
  const counts = ({ inGroup }: { readonly inGroup: boolean }): boolean =>
    inGroup || strays === "end" || (causeAt !== undefined && causeAt === term)
  if (graceEnds < returned && world.aliveAt(graceEnds).some(counts)) {
    check(kill === graceEnds, `no KILL at ${graceEnds}`)
  }
  if (strays !== "end") {
    const outside = log.slice(0, sentAtCause).filter(({ hit }) => hit.some(isOutside))
    check(outside.length === 0, "a stray was signalled")
  }

  const byCause = (causeAt ?? infinity) + grace + maxReap + idle + maxDrain + look
  const byItself = (leaderEnded ?? infinity) + 2 * maxDrain + grace + maxReap + look
  check(returned <= Math.min(byCause, byItself), `returned at ${returned}`)

  const left = alive.filter(({ tree }) => tree.onKill !== "never")
  check(!left.some(({ inGroup }) => inGroup), "a member is left")
  const endsStrays = strays === "end" || causeAt !== undefined
  check(!(endsStrays && left.length > 0), "a stray is left")
  const reported = (output.left_running ?? []).map(({ pid }) => pid)
  check(String(reported) === String(alive.map(({ pid }) => pid)), `left ${reported}`)

  check(output.output_bytes === produced, `${output.output_bytes} bytes of ${produced}`)
  check(partials.at(-1) === output, "another partial")
  const since = Math.min(causeAt ?? infinity, leaderEnded ?? infinity)
  const isQuiet = returned - Math.max(world.lastOutput(), since) >= idle
  check(!isOutputHeld || isQuiet || returned - since >= maxDrain, "not drained")
  check(Exit.isSuccess(exit.value.exit) || causeAt !== undefined, "failed by itself")
  return faults
}

const act = FastCheck.tuple(millis(5000), FastCheck.constantFrom("cancel" as const, "deadline" as const))
const anyStrays = FastCheck.constantFrom("report" as const, "end" as const)
/** So that every call ends. */
const last = [6000, "cancel"] as const

/** What properties found once, shrunk. */
const found: ReadonlyArray<readonly [name: string, scenario: Scenario]> = [
  [
    "a leader that ends in the moment of the cancel, and leaves one that nobody can know",
    { tree: { ...ignoring, exitAfter: 1, forks: [[1, { ...obeying, isUnknown: true }]] }, acts: [[1, "cancel"]] }
  ],
  [
    "two cancels at once",
    {
      tree: { ...obeying, onTerm: 1 },
      acts: [
        [13, "cancel"],
        [13, "cancel"]
      ]
    }
  ],
  [
    "two cancels at once of a stopped leader",
    {
      tree: { ...ignoring, isStopped: true, onKill: 1 },
      acts: [
        [399, "cancel"],
        [399, "cancel"]
      ]
    }
  ],
  [
    "a cancel after the grace of a normal end, when only a stray that floods is left",
    {
      tree: {
        ...short,
        forks: [
          [1, { ...ignoring, onTerm: 1900 }],
          [2, { ...ignoring, escapes: true, writes: Array.from({ length: 60 }, (_, at) => [100 * at + 1, 1] as const) }]
        ]
      },
      acts: [[4500, "cancel"]]
    }
  ]
]

describe("in any tree", () => {
  it.each(found)("the rules hold for %s", async (_, scenario) => {
    assert.deepStrictEqual(await faultsOf(scenario), [])
  })

  it("the rules hold when the leader ends by itself", { timeout: 60_000 }, () =>
    forAll(
      FastCheck.record({
        tree: FastCheck.tuple(anyTree, millis(1500)).map(([tree, exitAfter]) => ({
          ...tree,
          exitAfter,
          isStopped: false
        })),
        strays: anyStrays
      }),
      300,
      (scenario) => faultsOf(scenario)
    )
  )

  it("the rules hold at any moments of cancel, second cancel and deadline", { timeout: 60_000 }, () =>
    forAll(
      FastCheck.record({ tree: anyTree, strays: anyStrays, acts: FastCheck.array(act, { maxLength: 3 }) }),
      400,
      (scenario) => faultsOf({ ...scenario, acts: [...scenario.acts, last] })
    )
  )

  it("the rules hold at moments close together", { timeout: 60_000 }, () =>
    forAll(
      FastCheck.record({
        tree: FastCheck.tuple(anyTree, millis(100)).map(([tree, exitAfter]) => ({ ...tree, exitAfter })),
        strays: anyStrays,
        acts: FastCheck.array(
          FastCheck.tuple(millis(400), FastCheck.constantFrom("cancel" as const, "deadline" as const)),
          { minLength: 1, maxLength: 3 }
        )
      }),
      400,
      (scenario) => faultsOf({ ...scenario, acts: [...scenario.acts, last] })
    )
  )
})
