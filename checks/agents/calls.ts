/** What the checks of an agent are made of: runs of `scv` that answer with what was seen, or fail with it. */
import type { ProcessGroup } from "@scv/core"
import * as Effect from "effect/Effect"
import { type Ended, envelopeOf, type Running } from "../../apps/cli/test/support/scv.ts"
import type { Asked, ModelService } from "./modelService.ts"
import type { Found } from "./processes.ts"
import { key } from "./setups.ts"
import { type Meanwhile, scvIn, until, type World } from "./world.ts"

/** What every agent is asked to do. */
const prompt = "Say what the answer is."

/**
 * The most seconds until nothing of a call is left: from a cancel, with its grace of two, and from a deadline. A busy
 * machine is slow to look.
 */
const most = { INT: 6, deadline: 4 }

export const expect = (holds: boolean, otherwise: string): Effect.Effect<void, string> =>
  holds ? Effect.void : Effect.fail(otherwise)

export const quoted = (text: string): string => JSON.stringify(text.length > 300 ? `...${text.slice(-300)}` : text)

/** The answer of a call, taken apart. */
interface Answer {
  readonly status: string
  readonly result: Partial<ProcessGroup.Output>
  /** All of it that matters, in one line. */
  readonly line: string
}

const answerOf = (run: Ended): Effect.Effect<Answer, string> =>
  Effect.try({
    try: () => {
      const { error, result: given, status } = envelopeOf(run)
      const result = (given ?? {}) as Answer["result"]
      const { exit_code, hint, left_running, output = "", signal } = result
      const ended = `${exit_code ?? signal}, ${quoted(output)}, hint ${hint}, left ${JSON.stringify(left_running)}`
      return { status, result, line: `${status}, ${given === undefined ? error?.message : ended}` }
    },
    catch: () => `no envelope, exit code ${run.code}, ${quoted(run.stdout + run.stderr)}`
  })

export interface Calls {
  /** Runs `scv`. */
  readonly scv: (args: ReadonlyArray<string>, meanwhile?: Meanwhile | string) => Effect.Effect<Ended, string>
  /** The line of `scv agents status` matches and the exit code is this one. */
  readonly status: (line: RegExp, code: number) => Effect.Effect<string, string>
  /** A call fails with a hint that holds a text. */
  readonly failing: (hint: string, workspace?: string) => Effect.Effect<string, string>
  /** A call is answered by the service, which is asked with a key. */
  readonly answering: (
    input?: object,
    options?: { readonly credential?: string; readonly workspace?: string }
  ) => Effect.Effect<{ readonly asked: Asked; readonly seen: string }, string>
  /** A call whose service is silent, or has it run a command, ends by INT or by its deadline, and nothing is left of it. */
  readonly stopped: (by: "INT" | "deadline", during: "silence" | "command") => Effect.Effect<string, string>
  /** Nothing is left of a call that ends by itself, though its agent's command has left something in the background. */
  readonly leaving: Effect.Effect<string, string>
  /** All that `scv` printed. */
  readonly printed: () => string
}

/** A number by which a command is known among all others. */
const freshId = (): string => String(1e6 + Math.floor(Math.random() * 1e6))

/** Runs for ever. `sleep` alone is refused by some agents. */
const endless = (id: string): string => `tail -s ${id} -f /dev/null`

const isEndless =
  (id: string) =>
  ({ argv }: Found) =>
    argv[0] === "tail" && argv[2] === id

export const makeCalls = (agent: string, world: World, service: ModelService): Calls => {
  let printed = ""
  /** The longest that a call took that was answered, in seconds. */
  let slowest = 0

  const scv: Calls["scv"] = (args, meanwhile) =>
    Effect.tap(scvIn(world, args, meanwhile), ({ stderr, stdout }) => {
      printed += stdout + stderr
    })

  const call = (input: object, workspace = world.workspace, meanwhile?: Meanwhile) =>
    scv(["call", `agent_${agent}`, JSON.stringify({ prompt, ...input }), "--workspace", workspace, "--yes"], meanwhile)

  const asked = () => service.asked.find(({ text }) => text.includes(prompt))

  const ofCall = () => world.processes().filter(({ isOfCall }) => isOfCall)

  /** Waits until something is there while a call runs, and counts its processes then. */
  const seen = (running: Running, what: string, isThere: () => boolean) =>
    Effect.gen(function* () {
      yield* Effect.raceFirst(
        until(what, 60, isThere),
        Effect.flatMap(running.ended, ({ stdout }) => Effect.fail(`${what} never was: ${quoted(stdout)}`))
      )
      const processes = ofCall()
      return `processes ${processes.length}, sessions ${new Set(processes.map(({ session }) => session)).size}`
    })

  /** Holds in the moment of the answer of a call. */
  const nothingLeft = ({ line, result }: Answer, was: string) => {
    const left = ofCall().map(({ argv, pid }) => `${pid} ${argv.join(" ").slice(0, 80)}`)
    return expect(left.length === 0 && result.left_running === undefined, `of ${was} left: ${left.join("; ")} ${line}`)
  }

  const leaving: Calls["leaving"] = Effect.gen(function* () {
    const id = freshId()
    const text = "It runs in the background."
    // The second one lives long enough for the first to be seen.
    const command = `setsid ${endless(id)} > /dev/null 2>&1 & timeout 3 tail -f /dev/null || true`
    service.behave({ does: "run", command, text })
    let was = ""
    const run = yield* call({}, world.workspace, (running) =>
      Effect.map(
        seen(running, endless(id), () => ofCall().some(isEndless(id))),
        (processes) => {
          was = processes
        }
      )
    )
    const answer = yield* answerOf(run)
    yield* nothingLeft(answer, was)
    yield* expect(answer.status === "completed" && answer.result.output?.includes(text) === true, answer.line)
    return `completed; ${was}, all gone`
  })

  const stopped: Calls["stopped"] = (by, during) =>
    Effect.gen(function* () {
      const id = freshId()
      const [what, isThere] =
        during === "silence"
          ? ["a request to the service", () => asked() !== undefined]
          : [endless(id), () => ofCall().some(isEndless(id))]
      // After TERM an agent may answer all the same, if it is let; after a while it may wait for its command no longer.
      const text = by === "INT" ? "It ran all the same." : undefined
      service.behave(during === "silence" ? { does: "stay silent" } : { does: "run", command: endless(id), text })
      // Long enough for the agent to get there.
      const deadline = Math.ceil(5 + 2 * slowest)
      let was = ""
      let spent = 0
      const run = yield* call(by === "INT" ? {} : { timeout_seconds: deadline }, world.workspace, (running) =>
        Effect.gen(function* () {
          was = yield* seen(running, what, isThere)
          if (by === "deadline") return
          const from = performance.now()
          running.kill("SIGINT")
          yield* until("an end of the call", 30, () => ofCall().length === 0)
          spent = (performance.now() - from) / 1000
        })
      )
      const answer = yield* answerOf(run)
      yield* nothingLeft(answer, was)
      const { line, result, status } = answer
      if (by === "deadline") spent = (result.duration_ms ?? 0) / 1000 - deadline
      const [wanted, code] = by === "INT" ? ["cancelled", 130] : ["timed_out", 124]
      yield* expect(status === wanted && run.code === code, `exit code ${run.code}: ${line}`)
      yield* expect(spent >= 0 && spent <= most[by], `gone after ${spent.toFixed(1)} s`)
      yield* until("an end of all that scv started", 5, () => world.processes().length === 0)
      return `${status}; ${was}, all gone after ${spent.toFixed(1)} s`
    })

  return {
    scv,
    status: (line, code) =>
      Effect.gen(function* () {
        const run = yield* scv(["agents", "status", agent])
        const said = run.stdout.trim()
        yield* expect(run.code === code && line.test(said), `exit code ${run.code}, ${quoted(said + run.stderr)}`)
        return said
      }),
    failing: (hint, workspace) =>
      Effect.gen(function* () {
        const answer = yield* Effect.flatMap(call({}, workspace), answerOf)
        yield* expect(answer.status === "failed" && answer.result.hint?.includes(hint) === true, answer.line)
        return `failed, hint ${quoted(answer.result.hint ?? "")}`
      }),
    answering: (input = {}, { credential = key, workspace } = {}) =>
      Effect.gen(function* () {
        const text = `The answer is ${Math.floor(Math.random() * 1e9)}.`
        service.behave({ does: "answer", text })
        const answer = yield* Effect.flatMap(call(input, workspace), answerOf)
        yield* expect(answer.status === "completed" && answer.result.output?.includes(text) === true, answer.line)
        const { duration_ms = 0, hint, left_running } = answer.result
        slowest = Math.max(slowest, duration_ms / 1000)
        yield* expect(hint === undefined && left_running === undefined, answer.line)
        const found = asked()
        if (found === undefined) return yield* Effect.fail("the prompt did not reach the service")
        yield* expect(found.credential === credential, "the service was asked with another key")
        return { asked: found, seen: `completed, ${quoted(text)}` }
      }),
    stopped,
    leaving,
    printed: () => printed
  }
}
