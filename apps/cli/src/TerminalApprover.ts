/** Asks the person at the terminal; without one, denies and says how to allow. */
import * as fs from "node:fs"
import * as tty from "node:tty"
import { Approval } from "@scv/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Stdio } from "./Stdio.ts"

type Answer = "yes" | "no" | "unclear" | "gone"

const answerOf = (line: string): Answer => {
  const word = line.trim().toLowerCase()
  if (word === "y" || word === "yes") return "yes"
  return word === "" || word === "n" || word === "no" ? "no" : "unclear"
}

/** The terminal itself: stdin may have been read to its end for the input. */
const terminal = "/dev/tty"

/** What was typed before the question was there is no answer to it. */
const discardTyped = Effect.sync(() => {
  const { O_NOCTTY, O_NONBLOCK, O_RDONLY } = fs.constants
  let fd: number | undefined
  try {
    fd = fs.openSync(terminal, O_RDONLY | O_NONBLOCK | O_NOCTTY)
    const typed = Buffer.alloc(4096)
    while (fs.readSync(fd, typed) > 0) typed.fill(0)
  } catch {
    // EAGAIN: nothing is left. Without a terminal there is nothing either.
  } finally {
    if (fd !== undefined) fs.closeSync(fd)
  }
})

/** The next whole line; what is cut off by the end of the terminal is none. */
const readAnswer: Effect.Effect<Answer> = Effect.async<Answer>((resume) => {
  let input: tty.ReadStream
  try {
    input = new tty.ReadStream(fs.openSync(terminal, "r"))
  } catch {
    resume(Effect.succeed("gone"))
    return
  }
  let line = ""
  const end = (answer: Answer) => {
    resume(Effect.succeed(answer))
    input.destroy()
  }
  input.setEncoding("utf8")
  input.on("data", (text: string) => {
    line += text
    const lineEnd = line.indexOf("\n")
    if (lineEnd !== -1) end(answerOf(line.slice(0, lineEnd)))
  })
  for (const event of ["end", "close", "error"] as const) input.once(event, () => end("gone"))
  return Effect.sync(() => input.destroy())
})

const noTerminal = "there is no terminal to ask on; --yes approves what it would ask"

/** Puts the question after some text. What was typed before it can be seen is no answer to it, and nothing else is lost. */
const askAfter = (text: string): Effect.Effect<Approval.Decision, never, Stdio> =>
  Effect.gen(function* () {
    const stdio = yield* Stdio
    yield* discardTyped
    yield* stdio.err(`${text}Approve? [y/N] `)
    const answer = yield* readAnswer
    if (answer === "unclear") return yield* askAfter("Please answer y or n.\n")
    if (answer === "yes") return { decision: "approve", by: "terminal" }
    return { decision: "deny", reason: answer === "no" ? "answered no" : "the terminal is gone", by: "terminal" }
  })

/** Asks at the terminal, which is there, until the answer is a clear one. */
export const ask: Effect.Effect<Approval.Decision, never, Stdio> = askAfter("")

/** The approver of one command line. */
export const layer: Layer.Layer<Approval.Approver, never, Stdio> = Layer.effect(
  Approval.Approver,
  Effect.map(Stdio, (stdio) => ({
    decide: (request) =>
      Effect.gen(function* () {
        yield* stdio.err(`${Approval.question(request)}\n`)
        if (stdio.isInteractive) return yield* Effect.provideService(ask, Stdio, stdio)
        yield* stdio.err(`denied: ${noTerminal}\n`)
        return { decision: "deny", reason: noTerminal, by: "no terminal" }
      })
  }))
)
