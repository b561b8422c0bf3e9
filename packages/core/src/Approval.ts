import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Display from "./Display.ts"
import { ToolRisk } from "./ToolRisk.ts"

/**
 * When a call is asked about: `on-risk` unless it is `read_only`, `always`, or `never`, which denies all but
 * `read_only` and asks nobody. Source: design, "Words on the wire".
 */
export const ApprovalPolicy = Schema.Literal("on-risk", "always", "never")

export type ApprovalPolicy = typeof ApprovalPolicy.Type

const strictness: Record<ApprovalPolicy, number> = { "on-risk": 0, always: 1, never: 2 }

/** Whether policy `a` is stricter than policy `b`: never > always > on-risk. */
export const isStricter = (a: ApprovalPolicy, b: ApprovalPolicy): boolean => strictness[a] > strictness[b]

/** What a policy says of a risk. */
export const verdict = (policy: ApprovalPolicy, risk: ToolRisk): "allow" | "ask" | "deny" => {
  if (policy === "always") return "ask"
  if (risk === "read_only") return "allow"
  return policy === "never" ? "deny" : "ask"
}

/** The question that a call waits with: the exact plan that runs if the answer is yes. */
export const ApprovalRequest = Schema.Struct({
  approval_id: Schema.String,
  call_id: Schema.String,
  tool: Schema.String,
  risk: ToolRisk,
  workspace: Schema.String,
  summary: Schema.String,
  plan: Schema.Unknown,
  digest: Schema.String
})

export type ApprovalRequest = typeof ApprovalRequest.Type

/** The question as a person is shown it: what is asked for, its summary, and where. Several lines, safe to show. */
export const question = (request: ApprovalRequest): string =>
  [
    `approval needed for ${Display.inline(request.tool)} (risk: ${request.risk})`,
    Display.lines(request.summary),
    `  workspace: ${Display.inline(request.workspace)}`
  ].join("\n")

/** The answer to a question, and who gave it. */
export const Decision = Schema.Struct({
  decision: Schema.Literal("approve", "deny"),
  reason: Schema.optionalWith(Schema.String, { exact: true }),
  by: Schema.String
})

export type Decision = typeof Decision.Type

/**
 * Whoever answers questions. It is interrupted when the call ends first, or when the session is told the answer by
 * another way; one that only others answer for is {@link unattended}.
 */
export class Approver extends Context.Tag("@scv/core/Approver")<
  Approver,
  {
    readonly decide: (request: ApprovalRequest) => Effect.Effect<Decision>
  }
>() {}

/** Never answers: the session's own `answer` does. */
export const unattended: Layer.Layer<Approver> = Layer.succeed(Approver, { decide: () => Effect.never })

/** Denies every question for the same reason. */
export const denying = (reason: string): Layer.Layer<Approver> =>
  Layer.succeed(Approver, { decide: () => Effect.succeed({ decision: "deny", reason, by: "policy" }) })
