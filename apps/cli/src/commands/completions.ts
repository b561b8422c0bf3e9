import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as CommandDescriptor from "@effect/cli/CommandDescriptor"
import * as Effect from "effect/Effect"
import { Stdio } from "../Stdio.ts"

const shell = Args.choice(
  [
    ["bash", "bash"],
    ["zsh", "zsh"],
    ["fish", "fish"]
  ],
  { name: "SHELL" }
).pipe(Args.withDescription("bash, zsh or fish."))

const generators = {
  bash: CommandDescriptor.getBashCompletions,
  zsh: CommandDescriptor.getZshCompletions,
  fish: CommandDescriptor.getFishCompletions
}

/** `scv completions`: a completion script for a shell, of the command that `root` gives. */
export const completions = (root: () => CommandDescriptor.Command<unknown>) =>
  Command.make("completions", { shell }, ({ shell }) =>
    Effect.gen(function* () {
      const stdio = yield* Stdio
      const script = yield* generators[shell as keyof typeof generators](root(), "scv")
      yield* stdio.out(`${script.join("\n")}\n`)
    })
  ).pipe(Command.withDescription("Prints a completion script: source it from the shell's start-up file."))
