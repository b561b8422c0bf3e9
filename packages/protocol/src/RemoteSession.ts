/** A session of the daemon as a `Session`, so that what serves one serves this one too. */
import {
  type Approval,
  Display,
  Session,
  type SessionEvent,
  type Tool,
  type ToolDescription,
  ToolError,
  type ToolResult
} from "@scv/core"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as PubSub from "effect/PubSub"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Client, TransportError } from "./Client.ts"
import type { Event } from "./Event.ts"
import { Failure, refusalOf } from "./Failure.ts"

export interface Place {
  /** An absolute path. */
  readonly workspace: string
  /** Default: the configured one. */
  readonly policy?: Approval.ApprovalPolicy | undefined
}

export interface Options extends Place {
  /** Answers every question with yes, so that none is asked. It does not turn `never` into yes. */
  readonly assumeYes: boolean
}

export interface RemoteSession extends Session.Session {
  /** Waits until the daemon has ended the session, or is gone. */
  readonly ended: Effect.Effect<void>
}

const hasEnded = { kind: "not_found", message: "the session has ended" }

const gone = { kind: "gone", message: "the daemon went away in the middle of it" }

const failureOf = (error: Failure | TransportError): { readonly kind: string; readonly message: string } =>
  error instanceof Failure ? error : gone

/** A tool that the daemon has: it can be shown here, and runs there. */
const toolOf = (description: ToolDescription.ToolDescription, unavailable: Tool.Tool["unavailable"]): Tool.Tool => ({
  name: description.name,
  description: description.description,
  risk: description.risk,
  inputSchema: description.input_schema as Tool.Tool["inputSchema"],
  outputSchema: description.output_schema as Tool.Tool["outputSchema"],
  outputLimitBytes: Option.none(),
  unavailable,
  decode: () =>
    Effect.fail(
      new ToolError({ kind: "unavailable", message: `${description.name} runs in the daemon; call it by the session` })
    ),
  recorded: { plan: () => ({}), output: () => ({}) }
})

/** The tools of a workspace. Which can be used is asked again each time that they are listed. */
const toolsOf = (daemon: Client, workspace: string) =>
  Effect.gen(function* () {
    const list = daemon.server.tools({ urlParams: { workspace } })
    const { tools } = yield* list
    const latest = yield* Effect.cachedWithTTL(
      Effect.orElseSucceed(list, () => ({ tools })),
      "1 second"
    )
    return tools.map((tool) =>
      toolOf(
        tool,
        Effect.map(latest, (now) => {
          const found = now.tools.find(({ name }) => name === tool.name)
          if (found === undefined) return Option.some("the daemon has it no more")
          return found.available ? Option.none() : Option.some(found.reason ?? "it cannot be used")
        })
      )
    )
  })

/** Opens a session in the daemon, by its id alone; it is closed with the scope. Fails as that request does. */
export const hold = (
  daemon: Client,
  { policy, workspace }: Place
): Effect.Effect<string, Failure | TransportError, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.map(
      daemon.sessions.open({ payload: { workspace, ...(policy === undefined ? {} : { policy }) } }),
      ({ session_id }) => session_id
    ),
    (session) => Effect.ignore(daemon.sessions.close({ path: { session } }))
  )

const isOfCall = (event: Event): event is Extract<Event, { readonly id: string }> => "id" in event

/**
 * {@link hold}, as a `Session`. A call whose request breaks off is cancelled there, so
 * that nothing of it is left where this process is killed. Fails as the request that opens it does.
 */
export const open = (
  daemon: Client,
  options: Options
): Effect.Effect<RemoteSession, Failure | TransportError, Scope.Scope> =>
  Effect.gen(function* () {
    const { assumeYes } = options
    const session = yield* hold(daemon, options)
    const { workspace } = yield* daemon.sessions.get({ path: { session } })
    const tools = yield* toolsOf(daemon, workspace)
    const scope = yield* Effect.scope
    const events = yield* PubSub.unbounded<SessionEvent | undefined>()
    const proposed = yield* Queue.unbounded<string>()
    const connected = yield* Deferred.make<void>()
    const ended = yield* Deferred.make<void>()
    const calls = new Map<string, Effect.Effect<ToolResult>>()

    // What happens there

    const answer = (approval: string, { decision, reason }: Omit<Approval.Decision, "by">) =>
      daemon.approvals.answer({
        path: { approval },
        payload: { decision, ...(reason === undefined ? {} : { reason: reason.slice(0, 1000) }) }
      })

    const publish = (event: SessionEvent): Effect.Effect<void> =>
      Effect.suspend(() => {
        const lag = Option.getOrElse(events.unsafeSize(), () => 0)
        return event.event === "progress" && lag >= Session.maxLag
          ? Effect.void
          : Effect.asVoid(PubSub.publish(events, event))
      })

    const follow = (event: Event): Effect.Effect<void> => {
      if (event.event === "connected") return Effect.asVoid(Deferred.succeed(connected, undefined))
      if (!isOfCall(event)) return Effect.void
      const { session_id: _, ...own } = event
      if (own.event === "proposed") return Effect.zipRight(Queue.offer(proposed, own.id), publish(own))
      if (!assumeYes) return publish(own)
      if (own.event === "approval_requested") {
        return Effect.asVoid(Effect.forkIn(Effect.ignore(answer(own.approval_id, { decision: "approve" })), scope))
      }
      return own.event === "approval_resolved" ? Effect.void : publish(own)
    }

    /** All events until the session ends, also where one stream of them is cut for its lag. */
    const happening = (after?: string): Effect.Effect<void, Failure | TransportError> =>
      Effect.suspend(() => {
        let last = after
        let isLagging = false
        return Effect.zipRight(
          Stream.runForEach(daemon.stream({ session, ...(after === undefined ? {} : { after }) }), ({ event, id }) => {
            last = id ?? last
            isLagging = event.event === "end" && event.reason === "lagging"
            return follow(event)
          }),
          Effect.suspend(() => (isLagging ? happening(last) : Effect.void))
        )
      })

    const following = yield* Effect.forkScoped(
      Effect.ensuring(
        happening(),
        Effect.zipRight(Deferred.succeed(ended, undefined), PubSub.publish(events, undefined))
      )
    )
    yield* Effect.raceFirst(Deferred.await(connected), Fiber.join(following))

    // Calls

    // One call is made at a time, so that the next one which the daemon tells of is that one.
    /** What a call is named that the daemon did not take. */
    const untaken = `${session}-0`
    const turn = yield* Effect.makeSemaphore(1)
    const unread = new Set<string>()
    const nextProposed: Effect.Effect<string> = Effect.flatMap(Queue.take(proposed), (id) =>
      unread.delete(id) ? nextProposed : Effect.succeed(id)
    )

    const submit = ({ input, tool }: Session.CallRequest): Effect.Effect<Session.Call> =>
      Effect.gen(function* () {
        const refused = (failure: { readonly kind: string; readonly message: string }) =>
          refusalOf({ call_id: untaken, tool: Display.bounded(tool, 64) }, failure)
        const made = yield* daemon.calls.make({ path: { session }, payload: { tool, input } }).pipe(
          Effect.map((answered) => ("status" in answered ? answered : refused(hasEnded))),
          Effect.catchAll((error) => Effect.succeed(refused(failureOf(error)))),
          Effect.interruptible,
          Effect.forkIn(scope)
        )
        const result = Effect.map(
          Fiber.await(made),
          Exit.getOrElse(() => refused(hasEnded))
        )
        const id = yield* Effect.raceFirst(
          Effect.interruptible(nextProposed),
          Effect.interruptible(
            Effect.map(result, ({ call_id }) => {
              if (call_id !== untaken) unread.add(call_id)
              return call_id
            })
          )
        )
        const named = Effect.map(result, (envelope) => ({ ...envelope, call_id: id }))
        calls.set(id, named)
        yield* Effect.forkIn(
          Effect.zipRight(
            named,
            Effect.sync(() => calls.delete(id))
          ),
          scope
        )
        return { id, result: named }
      }).pipe(turn.withPermits(1), Effect.uninterruptible)

    const cancel = (call: string): Effect.Effect<boolean> =>
      Effect.suspend(() =>
        calls.has(call)
          ? Effect.match(daemon.calls.cancel({ path: { session, call } }), {
              onFailure: () => false,
              onSuccess: () => true
            })
          : Effect.succeed(false)
      )

    const idle: Effect.Effect<void> = Effect.suspend(() => {
      const [oldest] = calls.values()
      return oldest === undefined ? Effect.void : Effect.zipRight(oldest, Effect.zipRight(Effect.yieldNow(), idle))
    })

    const closing = yield* Effect.cached(
      Effect.ignore(daemon.sessions.close({ path: { session } })).pipe(
        Effect.zipRight(idle),
        Effect.zipRight(Deferred.await(ended))
      )
    )

    return {
      id: session,
      workspace,
      tools,
      submit,
      call: Session.calling({ cancel, submit }),
      cancel,
      live: Effect.sync(() => [...calls.keys()]),
      approvals: daemon.approvals.list({}).pipe(
        Effect.map(({ approvals }) =>
          approvals
            .filter(({ session_id }) => session_id === session)
            .map(({ asked_at: _, expires_at: __, session_id: ___, ...request }) => request)
        ),
        Effect.orElseSucceed(() => [])
      ),
      answer: (id, decision) =>
        Effect.mapError(Effect.asVoid(answer(id, decision)), () => new Session.NoSuchApproval({ id })),
      events: Effect.map(PubSub.subscribe(events), (queue) =>
        Stream.takeWhile(Stream.fromQueue(queue), (event) => event !== undefined)
      ),
      idle,
      close: closing,
      ended: Deferred.await(ended)
    }
  })
