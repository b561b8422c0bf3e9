/** Asks the person at the terminal; without one, denies and says how to allow. */
import * as readline from "node:readline"
import { Approval } from "@scv/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Stdio } from "./Stdio.ts"

const question = (request: Approval.ApprovalRequest): string =>
  [
    `approval needed for ${request.tool} (risk: ${request.risk})`,
    request.summary,
    `  workspace: ${request.workspace}`,
    ""
  ].join("\n")

type Answer = "yes" | "no" | "unclear" | "gone"

const answerOf = (line: string): Answer => {
  const word = line.trim().toLowerCase()
  if (word === "y" || word === "yes") return "yes"
  return word === "" || word === "n" || word === "no" ? "no" : "unclear"
}

const readAnswer = (input: NodeJS.ReadableStream): Effect.Effect<Answer> =>
  Effect.async<Answer>((resume) => {
    const lines = readline.createInterface({ input, terminal: false })
    lines.once("line", (line) => {
      resume(Effect.succeed(answerOf(line)))
      lines.close()
    })
    lines.once("close", () => resume(Effect.succeed("gone")))
    return Effect.sync(() => lines.close())
  })

const noTerminal = "there is no terminal to ask on; --yes approves what it would ask"

/** The approver of one command line. */
export const layer: Layer.Layer<Approval.Approver, never, Stdio> = Layer.effect(
  Approval.Approver,
  Effect.map(Stdio, (stdio) => {
    const ask: Effect.Effect<Approval.Decision> = Effect.gen(function* () {
      yield* stdio.err("Approve? [y/N] ")
      const answer = yield* readAnswer(stdio.input)
      if (answer === "unclear") {
        yield* stdio.err("Please answer y or n.\n")
        return yield* ask
      }
      if (answer === "yes") return { decision: "approve", by: "terminal" }
      return { decision: "deny", reason: answer === "no" ? "answered no" : "the terminal is gone", by: "terminal" }
    })
    return {
      decide: (request) =>
        Effect.gen(function* () {
          yield* stdio.err(question(request))
          if (stdio.isInteractive) return yield* ask
          yield* stdio.err(`denied: ${noTerminal}\n`)
          return { decision: "deny", reason: noTerminal, by: "no terminal" }
        })
    }
  })
)
