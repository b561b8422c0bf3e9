/** `scv call --daemon`: the call runs in the daemon, and its question can be answered there too. */
import * as path from "node:path"
import { Approval, Display, type ToolResult } from "@scv/core"
import { RemoteSession } from "@scv/protocol"
import { Unusable } from "@scv/runtime"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { type Given, inputOf } from "./Call.ts"
import { Daemon, explain, using } from "./DaemonClient.ts"
import { Signals } from "./Signals.ts"
import { Stdio } from "./Stdio.ts"
import * as TerminalApprover from "./TerminalApprover.ts"

/** Answers questions, or tells who can. An answer that comes too late is no fault: somebody else was faster. */
const answering = (session: string, yes: boolean) =>
  Effect.gen(function* () {
    const daemon = yield* Daemon
    const stdio = yield* Stdio
    const answer = (approval: string, payload: { decision: "approve" | "deny"; reason?: string }) =>
      Effect.ignore(daemon.approvals.answer({ path: { approval }, payload }))
    let asking: Fiber.RuntimeFiber<unknown> | undefined
    const stop = Effect.suspend(() => (asking === undefined ? Effect.void : Fiber.interrupt(asking)))
    const connected = yield* Deferred.make<void>()
    const following = yield* Effect.forkScoped(
      Stream.runForEach(daemon.stream({ session }), ({ event }) =>
        Effect.gen(function* () {
          if (event.event === "connected") yield* Deferred.succeed(connected, undefined)
          if (event.event === "progress" && stdio.isWatched) yield* stdio.err(Display.lines(event.text))
          if (event.event === "approval_resolved") {
            yield* stop
            if (event.decision === "deny" || !yes) {
              yield* stdio.err(`${event.decision === "deny" ? "denied" : "approved"} by ${Display.inline(event.by)}\n`)
            }
          }
          if (event.event !== "approval_requested") return
          const id = event.approval_id
          if (yes) return yield* answer(id, { decision: "approve" })
          yield* stdio.err(`${Approval.question({ ...event, call_id: event.id })}\n`)
          yield* stdio.err(`it waits for: scv approve ${id}, or scv deny ${id}\n`)
          if (!stdio.isInteractive) return
          asking = yield* Effect.fork(
            Effect.flatMap(TerminalApprover.ask, ({ decision, reason }) =>
              answer(id, { decision, ...(reason === undefined ? {} : { reason }) })
            )
          )
        })
      )
    )
    yield* Effect.raceFirst(Deferred.await(connected), Effect.asVoid(Fiber.join(following)))
    return stop
  })

/** The envelope of one call in a session of its own, which is closed in the end. Ctrl-C cancels, a second one hurries. */
export const envelope = (given: Given) =>
  Effect.gen(function* () {
    const input = yield* inputOf(given)
    const daemon = yield* Daemon
    const signals = yield* Signals
    const policy = given.policy["tools.approval_policy"]
    const workspace = yield* Effect.try({
      try: () => path.resolve(given.workspace),
      catch: () => new Unusable({ kind: "invalid_input", message: "the current directory does not exist any more" })
    })
    const session = yield* RemoteSession.hold(daemon, { workspace, policy })
    const stop = yield* answering(session, given.yes)
    const made = yield* Effect.forkScoped(
      daemon.calls.make({ path: { session }, payload: { tool: given.tool, input } })
    )
    const cancel = Effect.gen(function* () {
      const { live } = yield* daemon.sessions.get({ path: { session } })
      for (const call of live) yield* daemon.calls.cancel({ path: { session, call } })
    })
    const exit = yield* signals.handledBy(Effect.ignore(cancel))(Fiber.await(made))
    yield* stop
    if (Exit.isFailure(exit)) return yield* Effect.mapError(Effect.failCause(exit.cause), explain)
    if ("status" in exit.value) return exit.value satisfies ToolResult
    return yield* Effect.failCause(Cause.die("a call that nobody waits for was not asked for"))
  }).pipe(Effect.scoped, using("call"))
