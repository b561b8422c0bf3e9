/** The open questions of all sessions, and what became of those before. */
import { type Approval, Display, type Session } from "@scv/core"
import { Failure, type PendingApproval } from "@scv/protocol"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Bounds from "./Bounds.ts"
import { isoOf } from "./iso.ts"

/** The session that questions come from. */
export interface Asking {
  readonly sessionId: string
  /** Seconds after which an unanswered question counts as denied. */
  readonly timeoutSeconds: number
  /** Known once the session is made, and so before it can ask. */
  readonly session: () => Session.Session
}

export class Approvals extends Context.Tag("scvd/Approvals")<
  Approvals,
  {
    /** Puts the questions of a session into the list. */
    readonly approver: (asking: Asking) => typeof Approval.Approver.Service
    /** Oldest first. */
    readonly list: Effect.Effect<ReadonlyArray<PendingApproval>>
    /**
     * Answers a question. The first answer wins: a later one fails with `conflict`, saying what was decided, and one to a
     * question that was never asked with `not_found`.
     */
    readonly answer: (approvalId: string, decision: Approval.Decision) => Effect.Effect<Approval.Decision, Failure>
  }
>() {}

const said = ({ by, decision }: Approval.Decision): string =>
  `it was ${decision === "approve" ? "approved" : "denied"} already (by ${by})`

export const layer: Layer.Layer<Approvals> = Layer.sync(Approvals, () => {
  const open = new Map<string, { readonly pending: PendingApproval; readonly asking: Asking }>()
  const settled = new Map<string, string>()

  const settle = (id: string, how: string): void => {
    open.delete(id)
    if (settled.has(id)) return
    settled.set(id, how)
    for (const oldest of settled.keys()) {
      if (settled.size <= Bounds.answers) break
      settled.delete(oldest)
    }
  }

  const decide = (asking: Asking, request: Approval.ApprovalRequest): Effect.Effect<never> => {
    const id = request.approval_id
    const { sessionId, timeoutSeconds } = asking
    const reason = `nobody answered within ${timeoutSeconds} s`
    const expire = Effect.suspend(() => asking.session().answer(id, { decision: "deny", reason, by: "timeout" })).pipe(
      Effect.zipRight(Effect.sync(() => settle(id, `it has expired: ${reason}`))),
      // Somebody was faster.
      Effect.ignore
    )
    return Effect.acquireUseRelease(
      Effect.map(Clock.currentTimeMillis, (now) => {
        const pending = {
          session_id: sessionId,
          ...request,
          asked_at: isoOf(now),
          expires_at: isoOf(now + timeoutSeconds * 1000)
        }
        open.set(id, { pending, asking })
      }),
      () => Effect.zipRight(Effect.delay(expire, `${timeoutSeconds} seconds`), Effect.never),
      () => Effect.sync(() => settle(id, "its call has ended"))
    )
  }

  return {
    approver: (asking) => ({ decide: (request) => decide(asking, request) }),
    list: Effect.sync(() => [...open.values()].map(({ pending }) => pending)),
    answer: (id, decision) =>
      Effect.suspend(() => {
        const question = open.get(id)
        const shown = JSON.stringify(Display.bounded(id, 64))
        if (question === undefined) {
          const how = settled.get(id)
          return how === undefined
            ? new Failure({ kind: "not_found", message: `no question ${shown} was asked` })
            : new Failure({ kind: "conflict", message: `question ${shown} takes no answer: ${how}` })
        }
        return question.asking
          .session()
          .answer(id, decision)
          .pipe(
            Effect.mapError(
              () => new Failure({ kind: "conflict", message: `question ${shown} takes no answer: its call has ended` })
            ),
            Effect.zipRight(Effect.sync(() => settle(id, said(decision)))),
            Effect.as(decision),
            // The session is told and the list is told, or neither.
            Effect.uninterruptible
          )
      })
  }
})
