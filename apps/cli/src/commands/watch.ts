/** `scv watch`: what happens in the daemon as it happens, and the questions that wait, which a key answers. */
import * as Command from "@effect/cli/Command"
import { Approval, Display } from "@scv/core"
import type { Event, PendingApproval } from "@scv/protocol"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import { Daemon, using } from "../DaemonClient.ts"
import { ExitCode, interrupted } from "../ExitCode.ts"
import * as Keys from "../Keys.ts"
import { Stdio } from "../Stdio.ts"
import { refuseInsideCall } from "./answer.ts"
import * as options from "./options.ts"

/** An event as one line or more; nothing for what needs none. */
const lineOf = (event: Event): string | undefined => {
  switch (event.event) {
    case "session_opened":
      return `${event.session_id}: session opened in ${Display.inline(event.workspace)}`
    case "session_closed":
      return `${event.session_id}: session closed`
    case "proposed":
      return `${event.id}: ${Display.inline(event.tool)} waits`
    case "started":
      return `${event.id}: ${Display.inline(event.tool)} runs`
    case "progress":
      return `${event.id}: | ${Display.block(event.text.trimEnd())}`
    case "approval_resolved": {
      const reason = event.reason === undefined ? "" : `: ${Display.inline(event.reason)}`
      const verb = event.decision === "approve" ? "approved" : "denied"
      return `${event.id}: ${verb} by ${Display.inline(event.by)}${reason}`
    }
    case "completed": {
      const message = event.result.error === undefined ? "" : `: ${Display.inline(event.result.error.message)}`
      return `${event.id}: ${event.result.status}${message}`
    }
    case "gap":
      return "(some events were missed)"
    case "end":
      return `the stream has ended: ${event.reason}`
    default:
      return undefined
  }
}

type Waiting = Pick<
  PendingApproval,
  "approval_id" | "call_id" | "tool" | "risk" | "summary" | "workspace" | "plan" | "digest"
>

const keys = "[y] approve  [n] deny  [q] leave\n"

const watching = (json: boolean) =>
  Effect.gen(function* () {
    const stdio = yield* Stdio
    const daemon = yield* Daemon
    const isAsking = stdio.isInteractive && !json
    if (isAsking) yield* refuseInsideCall
    const waiting = new Map<string, Waiting>()
    const left = yield* Deferred.make<void>()
    const typed = isAsking ? yield* Keys.listen : undefined
    const say = (line: string) => stdio.out(`${line}\n`)

    /** Shows the oldest question. What was typed before it stood there is no answer to it. */
    let shown: string | undefined
    const show: Effect.Effect<void> = Effect.suspend(() => {
      const [oldest] = waiting.values()
      if (oldest === undefined || oldest.approval_id === shown) return Effect.void
      shown = oldest.approval_id
      const hint =
        typed === undefined ? `  answer: scv approve ${oldest.approval_id}, or scv deny ${oldest.approval_id}\n` : keys
      return Effect.zipRight(
        stdio.out(`\n${Approval.question(oldest)}\n${hint}`),
        typed === undefined ? Effect.void : typed.discard
      )
    })

    const add = (asked: Waiting) =>
      Effect.suspend(() => {
        waiting.set(asked.approval_id, asked)
        // Without keys every question is shown as it comes; with them, one at a time.
        if (typed === undefined) shown = undefined
        return typed === undefined
          ? stdio.out(
              `\n${Approval.question(asked)}\n  answer: scv approve ${asked.approval_id}, or scv deny ${asked.approval_id}\n`
            )
          : show
      })

    const drop = (is: (asked: Waiting) => boolean) =>
      Effect.suspend(() => {
        for (const asked of [...waiting.values()]) if (is(asked)) waiting.delete(asked.approval_id)
        if (shown !== undefined && !waiting.has(shown)) shown = undefined
        return typed === undefined ? Effect.void : show
      })

    const follow = (event: Event): Effect.Effect<void, never, never> =>
      Effect.gen(function* () {
        const line = lineOf(event)
        if (line !== undefined) yield* say(line)
        if (event.event === "approval_requested") yield* add({ ...event, call_id: event.id })
        if (event.event === "approval_resolved") yield* drop((asked) => asked.approval_id === event.approval_id)
        if (event.event === "completed") yield* drop((asked) => asked.call_id === event.id)
      })

    const pending = Effect.flatMap(daemon.approvals.list({}), ({ approvals }) =>
      Effect.forEach(approvals, (asked) => (waiting.has(asked.approval_id) ? Effect.void : add(asked)), {
        discard: true
      })
    )

    const answer = (decision: "approve" | "deny") =>
      Effect.suspend(() => {
        const [oldest] = waiting.values()
        if (oldest === undefined || oldest.approval_id !== shown) return Effect.void
        waiting.delete(oldest.approval_id)
        shown = undefined
        return daemon.approvals.answer({ path: { approval: oldest.approval_id }, payload: { decision } }).pipe(
          Effect.catchAll((error) => say(Display.inline(error.message))),
          Effect.zipRight(show)
        )
      })

    const reading = Stream.runForEach(daemon.stream(), ({ event }) =>
      json
        ? say(JSON.stringify(event))
        : Effect.gen(function* () {
            if (event.event === "connected" || event.event === "gap") yield* pending
            yield* follow(event)
          })
    )
    if (typed !== undefined) {
      yield* Effect.forkScoped(
        Stream.runForEach(typed.keys, (key) => {
          if (key === "y") return answer("approve")
          if (key === "n") return answer("deny")
          return key === "q" || key === "\u0003" || key === "\u0004"
            ? Effect.asVoid(Deferred.succeed(left, undefined))
            : Effect.void
        })
      )
    }
    const watcher = yield* Effect.fork(reading)
    yield* Effect.raceFirst(Fiber.join(watcher), Effect.raceFirst(Deferred.await(left), stdio.readerGone))
    yield* Fiber.interrupt(watcher)
  })

/** `scv watch`. Ends with the daemon, or when it is left. */
export const watch = Command.make("watch", { json: options.json }, ({ json }) =>
  watching(json).pipe(
    Effect.scoped,
    using("watch"),
    Effect.onInterrupt(() => Effect.flatMap(ExitCode, (code) => Ref.set(code, interrupted)))
  )
).pipe(Command.withDescription("Shows what happens in the daemon, and the questions, which a key answers."))
