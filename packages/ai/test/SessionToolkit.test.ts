import * as fs from "node:fs"
import * as AiTool from "@effect/ai/Tool"
import { expect, it } from "@effect/vitest"
import { builtins } from "@scv/runtime"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import { toolCall } from "./support/model.ts"
import { generate, openSession, stream } from "./support/session.ts"
import { greet } from "./support/tools.ts"

it.scopedLive("shows the model every tool as the session has it, a foreign one too", () =>
  Effect.gen(function* () {
    const { session, toolkit } = yield* openSession([...builtins, greet()])
    const { tools } = yield* toolkit
    expect(Object.keys(tools)).toContain("greet")
    for (const tool of session.tools) {
      if (Option.isSome(yield* tool.unavailable)) continue
      const shown = tools[tool.name]!
      expect(AiTool.getJsonSchema(shown)).toEqual(tool.inputSchema)
      expect(AiTool.getDescription(shown)).toBe(tool.description)
    }
  })
)

it.scopedLive("shows schemas that keep to the providers' rules", () =>
  Effect.gen(function* () {
    const { toolkit } = yield* openSession([...builtins, greet()])
    for (const tool of Object.values((yield* toolkit).tools)) {
      const schema: object = AiTool.getJsonSchema(tool)
      expect(schema).toMatchObject({ type: "object", properties: {}, additionalProperties: false })
      for (const key of ["anyOf", "oneOf", "allOf", "$ref", "$defs", "$id"]) expect(schema).not.toHaveProperty([key])
      expect(tool.name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
    }
  })
)

it.scopedLive("gives the model the envelope", () =>
  Effect.gen(function* () {
    const opened = yield* openSession([...builtins, greet()])
    fs.writeFileSync(`${opened.directory}/a.txt`, "hello")
    const { toolResults } = yield* generate(opened, [
      toolCall("read", { path: "a.txt" }),
      toolCall("greet", { name: "Ada" }),
      toolCall("read", { path: "nope" })
    ])
    expect(toolResults.map(({ encodedResult }) => encodedResult)).toMatchObject([
      { call_id: "1", tool: "read", status: "completed", result: { content: "hello" } },
      { call_id: "2", tool: "greet", status: "completed", result: { greeting: "hello Ada" } },
      { call_id: "3", tool: "read", status: "failed", error: { kind: "not_found" } }
    ])
    expect(toolResults.map(({ isFailure }) => isFailure)).toEqual([false, false, true])
  })
)

it.scopedLive("answers bad arguments with what would be right", () =>
  Effect.gen(function* () {
    const opened = yield* openSession(builtins)
    const { toolResults } = yield* generate(opened, [toolCall("read", { path: "a", lmit: 5 }), toolCall("read", null)])
    expect(toolResults.map(({ encodedResult }) => encodedResult)).toMatchObject([
      { status: "invalid", error: { kind: "invalid_input", message: expect.stringContaining("did you mean `limit`") } },
      { status: "invalid", error: { message: "input: expected a JSON object, got null" } }
    ])
    expect(toolResults.every(({ isFailure }) => isFailure)).toBe(true)
  })
)

it.scopedLive("survives whatever JSON a model sends", () =>
  Effect.gen(function* () {
    const opened = yield* openSession([greet()])
    const inputs = FastCheck.sample(FastCheck.jsonValue(), { numRuns: 100, seed: 1 })
    for (const input of inputs) {
      const { toolResults } = yield* generate(opened, [toolCall("greet", input)])
      expect(toolResults[0]?.result.status).toBe("invalid")
    }
  })
)

it.scopedLive("offers a tool as soon as it is available, and not before", () =>
  Effect.gen(function* () {
    const reason = yield* Ref.make(Option.some("not installed"))
    const { toolkit } = yield* openSession([greet({ unavailable: Ref.get(reason) })])
    expect(Object.keys((yield* toolkit).tools)).toEqual([])
    yield* Ref.set(reason, Option.none())
    expect(Object.keys((yield* toolkit).tools)).toEqual(["greet"])
  })
)

it.scopedLive("hands out results in a stream too", () =>
  Effect.gen(function* () {
    const opened = yield* openSession([greet()])
    const parts = yield* Stream.runCollect(stream(opened, [toolCall("greet", { name: "Ada" })]))
    const results = [...parts].filter((part) => part.type === "tool-result")
    expect(results.map(({ result }) => result)).toMatchObject([{ status: "completed" }])
  })
)

it.scopedLive("cancels the call of a request that is interrupted, and waits for its release", () =>
  Effect.gen(function* () {
    const started = yield* Deferred.make<void>()
    const released = yield* Ref.make(false)
    const run = Effect.zipRight(Deferred.succeed(started, undefined), Effect.never).pipe(
      Effect.onInterrupt(() => Effect.delay(Ref.set(released, true), "100 millis"))
    )
    const opened = yield* openSession([greet({ run: () => run })])
    const request = yield* Effect.fork(generate(opened, [toolCall("greet", { name: "Ada" })]))
    yield* Deferred.await(started)
    yield* Fiber.interrupt(request)
    expect(yield* Ref.get(released)).toBe(true)
    expect(yield* opened.session.live).toEqual([])
  })
)

it.scopedLive("cancels the call of a stream that is left, and waits for its release", () =>
  Effect.gen(function* () {
    const started = yield* Deferred.make<void>()
    const released = yield* Ref.make(false)
    const run = Effect.zipRight(Deferred.succeed(started, undefined), Effect.never).pipe(
      Effect.onInterrupt(() => Effect.delay(Ref.set(released, true), "100 millis"))
    )
    const opened = yield* openSession([greet({ run: () => run })])
    yield* stream(opened, [toolCall("greet", { name: "Ada" })]).pipe(
      Stream.interruptWhen(Deferred.await(started)),
      Stream.runDrain
    )
    expect(yield* Ref.get(released)).toBe(true)
    expect(yield* opened.session.live).toEqual([])
  })
)

it.scopedLive("ends the processes of a request that is interrupted", () =>
  Effect.gen(function* () {
    const opened = yield* openSession(builtins)
    const pidFile = `${opened.directory}/pid`
    const command = "echo $$ > pid.new; mv pid.new pid; exec sleep 300"
    const request = yield* Effect.fork(generate(opened, [toolCall("bash", { command })]))
    yield* Effect.repeat(Effect.sleep("20 millis"), { until: () => fs.existsSync(pidFile) })
    const pid = fs.readFileSync(pidFile, "utf8").trim()
    yield* Fiber.interrupt(request)
    expect(fs.existsSync(`/proc/${pid}`)).toBe(false)
  })
)
