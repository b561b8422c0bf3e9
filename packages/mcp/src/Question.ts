/** The question of a call as an elicitation, and what a client makes of it. Source: MCP, "Elicitation". */
import { Approval, statusOf, type ToolResult } from "@scv/core"
import * as Schema from "effect/Schema"

/** The form: nothing to fill in, since accepting it is the approval. */
export const elicitation = (request: Approval.ApprovalRequest) => ({
  message: Approval.question(request),
  requestedSchema: { type: "object" as const, properties: {} }
})

const Answer = Schema.Struct({ action: Schema.Literal("accept", "decline", "cancel") })

const isAnswer = Schema.is(Answer)

const deny = (reason: string): Approval.Decision => ({ decision: "deny", reason, by: "client" })

/** What an answer to an elicitation decides. Whatever is no clear yes is a no. */
export const decisionOf = (answer: unknown): Approval.Decision => {
  if (!isAnswer(answer)) return deny("the client's answer to the question could not be understood")
  if (answer.action === "accept") return { decision: "approve", by: "client" }
  return deny(answer.action === "decline" ? "answered no" : "the question was dismissed")
}

/** The question of an earlier round, as it passes through the client and back: signed. */
export const Asked = Schema.Struct({
  /** No other question has it. */
  nonce: Schema.String,
  call_id: Schema.String,
  tool: Schema.String,
  workspace: Schema.String,
  risk: Schema.String,
  digest: Schema.String
})

export type Asked = typeof Asked.Type

export const askedOf = ({ call_id, digest, risk, tool, workspace }: Approval.ApprovalRequest): Asked => ({
  nonce: crypto.randomUUID(),
  call_id,
  tool,
  workspace,
  risk,
  digest
})

/** A yes to the question of an earlier round counts for the very same plan alone. */
export const approvalOf = (asked: Asked, request: Approval.ApprovalRequest): Approval.Decision => {
  const isSame =
    asked.tool === request.tool &&
    asked.workspace === request.workspace &&
    asked.risk === request.risk &&
    asked.digest === request.digest
  return isSame
    ? { decision: "approve", by: "client" }
    : deny("what the call would do has changed since it was approved; call again to be asked again")
}

/** Why an answer is refused that came before. */
export const usedAlready = "the answer to this question was used already; call again to be asked again"

/** The envelope of a call whose question was answered with no in a later round: it is not made again. */
export const refusalOf = ({ call_id, tool }: Asked, reason: string | undefined): ToolResult => ({
  call_id,
  tool,
  status: statusOf("denied"),
  error: { kind: "denied", message: `${tool} was denied: ${reason ?? "answered no"}` }
})
