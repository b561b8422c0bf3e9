import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as CommandDescriptor from "@effect/cli/CommandDescriptor"
import * as HelpDoc from "@effect/cli/HelpDoc"
import { Display } from "@scv/core"
import * as Effect from "effect/Effect"
import { Stdio } from "../Stdio.ts"

const generators = {
  bash: CommandDescriptor.getBashCompletions,
  zsh: CommandDescriptor.getZshCompletions,
  fish: CommandDescriptor.getFishCompletions
}

const isShell = (given: string): given is keyof typeof generators => Object.hasOwn(generators, given)

const shell = Args.text({ name: "SHELL" }).pipe(
  Args.withDescription(Object.keys(generators).join(", ")),
  // The library's own choice does not say which argument was wrong.
  Args.mapEffect((given) =>
    isShell(given)
      ? Effect.succeed(given)
      : Effect.fail(
          HelpDoc.p(`SHELL: expected one of ${Object.keys(generators).join(", ")}, got ${Display.bounded(given, 60)}`)
        )
  )
)

/** `scv completions`: a completion script for a shell, of the command that `root` gives. */
export const completions = (root: () => CommandDescriptor.Command<unknown>) =>
  Command.make("completions", { shell }, ({ shell }) =>
    Effect.gen(function* () {
      const stdio = yield* Stdio
      const script = yield* generators[shell](root(), "scv")
      yield* stdio.out(`${script.join("\n")}\n`)
    })
  ).pipe(Command.withDescription("Prints a completion script: source it from the shell's start-up file."))
