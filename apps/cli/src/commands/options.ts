import * as Options from "@effect/cli/Options"
import { Approval } from "@scv/core"

export const workspace = Options.text("workspace").pipe(
  Options.withPseudoName("DIR"),
  Options.withDescription("The directory to work in."),
  Options.withDefault(".")
)

export const yes = Options.boolean("yes").pipe(
  Options.withDescription("Answer every question with yes. It does not turn the policy `never` into yes.")
)

export const policy = Options.choice("policy", Approval.ApprovalPolicy.literals).pipe(
  Options.withDescription("What to ask about: on-risk (all but read_only), always, or never (deny all but read_only)."),
  Options.withDefault("on-risk" as const)
)

export const json = Options.boolean("json").pipe(Options.withDescription("Print JSON."))
