import * as HelpDoc from "@effect/cli/HelpDoc"
import * as Options from "@effect/cli/Options"
import * as ValidationError from "@effect/cli/ValidationError"
import type { Flags } from "@scv/config"
import { Approval, Display } from "@scv/core"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

/** A value that an option does not take. */
export const invalid = (option: string, expected: string, given: string) =>
  ValidationError.invalidValue(HelpDoc.p(`--${option}: expected ${expected}, got ${Display.bounded(given, 60)}`))

export const workspace = Options.text("workspace").pipe(
  Options.withPseudoName("DIR"),
  Options.withDescription("the directory to work in"),
  Options.withDefault(".")
)

export const yes = Options.boolean("yes").pipe(Options.withDescription("answer every question with yes"))

const isPolicy = Schema.is(Approval.ApprovalPolicy)

/** What the command line says of the policy, as a layer of the configuration. */
export const policy = Options.text("policy").pipe(
  Options.withPseudoName("POLICY"),
  Options.withDescription(Approval.ApprovalPolicy.literals.join(", ")),
  // The library's own choice does not say which option was wrong.
  Options.mapEffect((given) => (isPolicy(given) ? Effect.succeed(given) : Effect.fail(noPolicy(given)))),
  Options.optional,
  Options.map((given): Flags => ({ "tools.approval_policy": Option.getOrUndefined(given) }))
)

const noPolicy = (given: string) => invalid("policy", `one of ${Approval.ApprovalPolicy.literals.join(", ")}`, given)

export const daemon = Options.boolean("daemon").pipe(
  Options.withDescription("make the calls in the daemon, where their questions can be answered too")
)

export const json = Options.boolean("json").pipe(Options.withDescription("print JSON"))

/** Every option that some command takes. */
export const names: ReadonlyArray<string> = [
  "--workspace",
  "--yes",
  "--policy",
  "--json",
  "--from",
  "--session",
  "--tool",
  "--day",
  "--status",
  "--daemon",
  "--listen",
  "--now",
  "--reason",
  "--help"
]
