/** A question as a person is shown it. */
import { type Approval, Display } from "@scv/core"

/** Lines, each ended; the summary comes from the session and is safe to show. */
export const question = (request: Approval.ApprovalRequest): string =>
  [
    `approval needed for ${Display.inline(request.tool)} (risk: ${request.risk})`,
    Display.lines(request.summary),
    `  workspace: ${Display.inline(request.workspace)}`,
    ""
  ].join("\n")
