/**
 * An agent: a model, the tools of a session, and a loop. It asks at the terminal before a call that could do harm. Run,
 * with ANTHROPIC_API_KEY or OPENAI_API_KEY set: npx tsx examples/agent-loop.ts "what is in this folder?"
 */
import { createInterface } from "node:readline/promises"
import { pathToFileURL } from "node:url"
import { LanguageModel, Prompt, Response } from "@effect/ai"
import { AnthropicClient, AnthropicLanguageModel } from "@effect/ai-anthropic"
import { OpenAiClient, OpenAiLanguageModel } from "@effect/ai-openai"
import { FetchHttpClient } from "@effect/platform"
import { SessionToolkit } from "@scv/ai"
import { Approval, type Session } from "@scv/core"
import { builtins, LocalSession } from "@scv/runtime"
import { Console, Effect, Layer, Redacted } from "effect"

/** Works on a task until the model has nothing more to do; gives its last words. */
export const work = (session: Session.Session, task: string, maxTurns = 50) =>
  Effect.gen(function* () {
    let prompt = Prompt.make(task)
    for (let turn = 0; turn < maxTurns; turn++) {
      const toolkit = yield* SessionToolkit.make(session)
      const answer = yield* LanguageModel.generateText({ prompt, toolkit, disableToolCallResolution: true }).pipe(
        // Such as a call of a tool that there is not. Nothing of the answer has been done.
        Effect.catchTag("MalformedOutput", () => Effect.succeed(undefined))
      )
      if (answer === undefined) {
        const known = Object.keys(toolkit.tools).join(", ")
        prompt = Prompt.merge(prompt, `Your last answer could not be used. The tools that there are: ${known}`)
        continue
      }
      prompt = Prompt.merge(prompt, Prompt.fromResponseParts(answer.content))
      if (answer.toolCalls.length === 0) return answer.text
      const results = yield* Effect.forEach(answer.toolCalls, ({ id, name, params }) =>
        Effect.map(toolkit.handle(name, params), (result) =>
          Response.toolResultPart({ id, name, providerExecuted: false, ...result })
        )
      )
      prompt = Prompt.merge(prompt, Prompt.fromResponseParts(results))
    }
    return `not done after ${maxTurns} turns`
  })

const { ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, MODEL, OPENAI_API_KEY, OPENAI_BASE_URL } = process.env

const anthropic = (key: string) =>
  AnthropicLanguageModel.layer({ model: MODEL ?? "claude-sonnet-4-5" }).pipe(
    Layer.provide(AnthropicClient.layer({ apiKey: Redacted.make(key), apiUrl: ANTHROPIC_BASE_URL }))
  )

const openai = (key: string) =>
  // Its strict mode wants every property to be required; ours has properties that may be left out.
  OpenAiLanguageModel.layer({ model: MODEL ?? "gpt-5", config: { strict: false } }).pipe(
    Layer.provide(OpenAiClient.layer({ apiKey: Redacted.make(key), apiUrl: OPENAI_BASE_URL }))
  )

const terminal = Layer.succeed(Approval.Approver, {
  decide: ({ summary }) =>
    Effect.promise(async (signal) => {
      if (!process.stdin.isTTY) return { decision: "deny", reason: "there is no terminal to ask on", by: "terminal" }
      const terminal = createInterface({ input: process.stdin, output: process.stderr })
      const answer = await terminal.question(`${summary}\nApprove? [y/N] `, { signal }).finally(() => terminal.close())
      return { decision: answer.trim() === "y" ? "approve" : "deny", by: "terminal" }
    })
})

const main = Effect.gen(function* () {
  const task = process.argv[2]
  const model = ANTHROPIC_API_KEY ? anthropic(ANTHROPIC_API_KEY) : OPENAI_API_KEY ? openai(OPENAI_API_KEY) : undefined
  if (task === undefined || model === undefined) {
    return yield* Console.error(
      "usage: ANTHROPIC_API_KEY=... (or OPENAI_API_KEY=...) npx tsx examples/agent-loop.ts TASK"
    )
  }
  const session = yield* LocalSession.make()
  const text = yield* Effect.provide(work(session, task), Layer.provide(model, FetchHttpClient.layer))
  yield* Console.log(text)
}).pipe(
  Effect.scoped,
  Effect.provide([terminal, LocalSession.single({ workspace: "." }, builtins)]),
  Effect.catchAll(({ message }) =>
    Effect.sync(() => {
      console.error(message)
      process.exitCode = 1
    })
  )
)

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await Effect.runPromise(main)
