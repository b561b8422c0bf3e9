import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { LanguageModel, type Prompt, type Response } from "@effect/ai"
import { expect, it } from "@effect/vitest"
import { Approval } from "@scv/core"
import { builtins, LocalSession } from "@scv/runtime"
import { Effect, Layer, Stream } from "effect"
import { work } from "../agent-loop.ts"
import { wordCount } from "../word-count.ts"

let calls = 0

const call = (name: string, params: unknown): Response.ToolCallPartEncoded => ({
  type: "tool-call",
  id: `model-${++calls}`,
  name,
  params
})

/** A model that says the given turns, one a request, and keeps what it was sent. */
const scripted = (turns: ReadonlyArray<ReadonlyArray<Response.PartEncoded>>) => {
  const prompts: Array<Prompt.Prompt> = []
  const model = LanguageModel.make({
    generateText: ({ prompt }) =>
      Effect.sync(() => {
        prompts.push(prompt)
        return [...(turns[prompts.length - 1] ?? [{ type: "text", text: "done" } as const])]
      }),
    streamText: () => Stream.empty
  })
  return { prompts, layer: Layer.effect(LanguageModel.LanguageModel, model) }
}

/** What came back for the calls of the turn before, as the model sees it. */
const results = (prompt: Prompt.Prompt | undefined) => {
  const last = prompt?.content.at(-1)
  return last?.role === "tool" ? last.content.map(({ isFailure, result }) => ({ isFailure, result })) : []
}

const openSession = Effect.gen(function* () {
  const directory = yield* Effect.acquireRelease(
    Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "scv-loop-")))),
    (made) => Effect.sync(() => fs.rmSync(made, { recursive: true, force: true }))
  )
  process.env.SCV_HOME = `${directory}/.scv`
  fs.writeFileSync(`${directory}/a.txt`, "one two three")
  const approver = Layer.succeed(Approval.Approver, {
    decide: ({ tool }) => Effect.succeed({ decision: tool === "write" ? "approve" : "deny", by: "test" })
  })
  const services = LocalSession.single({ workspace: directory }, [...builtins, wordCount])
  const session = yield* Effect.provide(LocalSession.make(), yield* Layer.build(Layer.merge(services, approver)))
  return { directory, session }
})

it.scopedLive("works until the model has no more calls, and shows it every result", () =>
  Effect.gen(function* () {
    const { directory, session } = yield* openSession
    const { layer, prompts } = scripted([
      [call("word_count", { path: "a.txt" }), call("read", { path: "a.txt", lmit: 1 })],
      [call("write", { path: "b.txt", content: "3", mode: "create" }), call("bash", { command: "rm a.txt" })]
    ])
    expect(yield* Effect.provide(work(session, "count"), layer)).toBe("done")
    expect(results(prompts[1])).toMatchObject([
      { isFailure: false, result: { status: "completed", result: { words: 3 } } },
      { isFailure: true, result: { status: "invalid", error: { kind: "invalid_input" } } }
    ])
    expect(results(prompts[2])).toMatchObject([
      { isFailure: false, result: { status: "completed" } },
      { isFailure: true, result: { status: "denied" } }
    ])
    expect(fs.readFileSync(`${directory}/b.txt`, "utf8")).toBe("3")
    expect(fs.existsSync(`${directory}/a.txt`)).toBe(true)
  })
)

it.scopedLive("does nothing of an answer that calls a tool that there is not, and says so", () =>
  Effect.gen(function* () {
    const { directory, session } = yield* openSession
    const { layer, prompts } = scripted([
      [call("write", { path: "b.txt", content: "3", mode: "create" }), call("remove", { path: "a.txt" })]
    ])
    expect(yield* Effect.provide(work(session, "count"), layer)).toBe("done")
    expect(JSON.stringify(prompts[1]?.content.at(-1))).toMatch(/could not be used.*read, write, bash/)
    expect(fs.existsSync(`${directory}/b.txt`)).toBe(false)
  })
)

it.scopedLive("gives up after the turns that it has", () =>
  Effect.gen(function* () {
    const { session } = yield* openSession
    const { layer } = scripted(Array.from({ length: 3 }, () => [call("read", { path: "a.txt" })]))
    expect(yield* Effect.provide(work(session, "count", 3), layer)).toBe("not done after 3 turns")
  })
)
