/** `tools/call` as a call of a session: its questions, its progress, its cancellation. */
import type { Approval, Session, SessionEvent, ToolResult } from "@scv/core"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import type { Tell } from "./Progress.ts"

/** What a question leads to: an answer, nothing yet (somebody else answers it), or another round with the client. */
export type Reply = Approval.Decision | "left open" | "ask in a round"

export interface Handlers {
  readonly decide: (request: Approval.ApprovalRequest) => Effect.Effect<Reply>
  readonly tell: Tell
}

/** The question that the client is to be asked before the call is made again. */
export interface Round {
  readonly round: Approval.ApprovalRequest
}

const phase: Partial<Record<SessionEvent["event"], string>> = {
  proposed: "waiting for its turn",
  approval_requested: "waiting for approval",
  started: "running"
}

/**
 * Makes a call. Its answer is the envelope, or the question that it came to, where that takes another round: the call
 * is cancelled then, having done nothing. Interruption cancels the call and waits for its release.
 */
export const call = (
  session: Session.Session,
  request: { readonly tool: string; readonly input: unknown },
  { decide, tell }: Handlers
): Effect.Effect<ToolResult | Round> =>
  Effect.scoped(
    Effect.gen(function* () {
      const events = yield* session.events
      const round = yield* Deferred.make<Round>()

      const answer = (question: Approval.ApprovalRequest) =>
        Effect.flatMap(decide(question), (reply) => {
          if (reply === "left open") return Effect.void
          if (reply === "ask in a round") return Deferred.succeed(round, { round: question })
          // Whoever else sees the question may have been first.
          return Effect.ignore(session.answer(question.approval_id, reply))
        })

      let asking: Fiber.RuntimeFiber<unknown> | undefined
      const watch = (id: string) =>
        Stream.runForEach(
          Stream.filter(events, (event) => event.id === id),
          (event) =>
            Effect.gen(function* () {
              yield* tell(event.event === "progress" ? event.text : (phase[event.event] ?? ""))
              // Beside the events, so that one more is seen while a person thinks.
              if (event.event === "approval_requested") {
                asking = yield* Effect.forkScoped(answer({ ...event, call_id: event.id }))
              }
              // Somebody else may have been first: the client need not ask any more.
              if (event.event === "approval_resolved" && asking !== undefined) yield* Fiber.interruptFork(asking)
            })
        )

      return yield* Effect.uninterruptibleMask((restore) =>
        Effect.gen(function* () {
          const { id, result } = yield* Effect.orDie(session.submit(request))
          const cancel = Effect.zipRight(session.cancel(id), result)
          const watching = yield* Effect.fork(Effect.interruptible(watch(id)))
          return yield* restore(Effect.raceFirst(result, Deferred.await(round))).pipe(
            Effect.tap((ending) => ("round" in ending ? cancel : Effect.void)),
            Effect.onInterrupt(() => cancel),
            Effect.ensuring(Fiber.interrupt(watching))
          )
        })
      )
    })
  )
