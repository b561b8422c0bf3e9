/** Any number of sessions at once, each with a queue of its own. Closing one leaves nothing of it. */
import { randomInt } from "node:crypto"
import * as path from "node:path"
import { Approval, Display, Session, type ToolResult } from "@scv/core"
import { type CallInfo, type CallSummary, Failure, refusalOf, type SessionInfo } from "@scv/protocol"
import { Configuration, LocalSession, type Machine, type OfferedTool } from "@scv/runtime"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { Approvals } from "./Approvals.ts"
import * as Bounds from "./Bounds.ts"
import { Calls } from "./Calls.ts"
import { Events } from "./Events.ts"
import { isoOf } from "./iso.ts"

export interface CallRequest {
  readonly tool: string
  /** Untrusted JSON. */
  readonly input: unknown
  /** Bytes of the request, which are held until the call has ended. */
  readonly bytes: number
}

/** A client that is served a `Session`. */
export interface ServedClient {
  /** What the audit log names the session's surface. */
  readonly surface: string
  /** Who its answers to questions are recorded as. */
  readonly by: string
}

export class Sessions extends Context.Tag("scvd/Sessions")<
  Sessions,
  {
    /** Opens a session. Fails with `invalid_input`, `config`, `limit` or `draining`. */
    readonly open: (
      workspace: string,
      policy: Approval.ApprovalPolicy | undefined
    ) => Effect.Effect<{ readonly session_id: string }, Failure>
    /** Opens a session for a client of another protocol, for as long as the scope is open. Fails as `open` does. */
    readonly serve: (workspace: string, client: ServedClient) => Effect.Effect<Session.Session, Failure, Scope.Scope>
    /** Oldest first. */
    readonly list: Effect.Effect<ReadonlyArray<SessionInfo>>
    readonly get: (id: string) => Effect.Effect<SessionInfo, Failure>
    /** Cancels the session's calls and waits until nothing is left of it; a second time hurries. */
    readonly close: (id: string) => Effect.Effect<void, Failure>
    /** Makes a call; interruption cancels it and waits for its release. */
    readonly call: (id: string, request: CallRequest) => Effect.Effect<ToolResult, Failure>
    /** Makes a call that nobody waits for, and answers with its id. */
    readonly detach: (id: string, request: CallRequest) => Effect.Effect<string, Failure>
    readonly calls: (id: string) => Effect.Effect<ReadonlyArray<CallSummary>, Failure>
    readonly getCall: (id: string, callId: string) => Effect.Effect<CallInfo, Failure>
    /** Cancels a call; a second time hurries. Fails with `conflict` where it has ended. */
    readonly cancel: (id: string, callId: string) => Effect.Effect<void, Failure>
    /** Refuses what is new, and closes every session. */
    readonly drain: Effect.Effect<void>
    /** Ends the grace of whatever is being ended. */
    readonly hurry: Effect.Effect<void>
    readonly isDraining: Effect.Effect<boolean>
  }
>() {}

export interface Options {
  /** The tools of every session. */
  readonly tools: ReadonlyArray<OfferedTool>
  readonly maxSessions: number
  /** Seconds after which a session that does nothing is closed. */
  readonly idleSeconds: number
}

interface OpenSession {
  readonly id: string
  readonly session: Session.Session
  readonly policy: Approval.ApprovalPolicy
  readonly openedAt: string
  readonly scope: Scope.CloseableScope
  readonly calls: Calls
  readonly closed: Deferred.Deferred<void>
  isClosing: boolean
  lastUsed: number
  made: number
}

// Without letters and digits that look like another.
const alphabet = "abcdefghjkmnpqrstuvwxyz23456789"

const freshId = (isTaken: (id: string) => boolean): string => {
  for (;;) {
    const id = Array.from({ length: 6 }, () => alphabet[randomInt(alphabet.length)]).join("")
    if (!isTaken(id)) return id
  }
}

const refuse = (kind: Failure["kind"], message: string) => Effect.fail(new Failure({ kind, message }))

const quoted = (id: string): string => JSON.stringify(Display.bounded(id, 64))

/** Whoever opens a session knows its own directories; the daemon's current one means nothing to it. */
export const absolute = (workspace: string): Effect.Effect<string, Failure> =>
  path.isAbsolute(workspace)
    ? Effect.succeed(workspace)
    : refuse("invalid_input", `workspace: expected an absolute path, got ${quoted(workspace)}`)

export const layer = (options: Options): Layer.Layer<Sessions, never, Approvals | Events | Machine.Machine> =>
  Layer.scoped(
    Sessions,
    Effect.gen(function* () {
      const machine = yield* Effect.context<Machine.Machine>()
      const events = yield* Events
      const approvals = yield* Approvals
      const sessions = new Map<string, OpenSession>()
      let opening = 0
      let held = 0
      let isDraining = false

      const find = (id: string): Effect.Effect<OpenSession, Failure> =>
        Effect.suspend(() => {
          const found = sessions.get(id)
          if (found === undefined) return refuse("not_found", `no session ${quoted(id)} is open`)
          return Effect.map(Clock.currentTimeMillis, (now) => {
            found.lastUsed = now
            return found
          })
        })

      // Opening and closing

      const build = (
        workspace: string,
        policy: Approval.ApprovalPolicy | undefined,
        surface: string,
        scope: Scope.CloseableScope
      ) =>
        Effect.gen(function* () {
          const id = freshId((taken) => sessions.has(taken))
          const services = yield* Layer.buildWithScope(
            LocalSession.layer(
              { workspace, workspaceName: "workspace", flags: { "tools.approval_policy": policy } },
              options.tools
            ),
            scope
          ).pipe(
            Effect.provide(machine),
            Effect.mapError(({ kind, message }) => new Failure({ kind, message: Display.bounded(message, 2000) }))
          )
          const { values } = Context.get(services, Configuration.Configuration)
          const approver = approvals.approver({
            sessionId: id,
            timeoutSeconds: values.approvals.timeout_seconds,
            session: () => session
          })
          const session: Session.Session = yield* Session.make({
            surface,
            id,
            policy: values.tools.approval_policy
          }).pipe(
            // Before the services: they are a whole context, with a scope in it that lives as long as the daemon.
            Scope.extend(scope),
            Effect.provide(services),
            Effect.provideService(Approval.Approver, approver)
          )
          const now = yield* Clock.currentTimeMillis
          const opened: OpenSession = {
            id,
            session,
            policy: values.tools.approval_policy,
            openedAt: isoOf(now),
            scope,
            calls: new Calls(),
            closed: yield* Deferred.make<void>(),
            isClosing: false,
            lastUsed: now,
            made: 0
          }
          const happenings = yield* Scope.extend(session.events, scope)
          sessions.set(id, opened)
          events.publish({
            event: "session_opened",
            session_id: id,
            workspace: session.workspace,
            policy: opened.policy
          })
          yield* Effect.forkDaemon(
            Effect.zipRight(
              Stream.runForEach(happenings, (event) =>
                Effect.sync(() => {
                  opened.calls.follow(event)
                  events.publish({ ...event, session_id: id })
                })
              ),
              // After the last event of its calls.
              Effect.sync(() => events.publish({ event: "session_closed", session_id: id }))
            )
          )
          return opened
        })

      const open = (workspace: string, policy: Approval.ApprovalPolicy | undefined, surface: string) =>
        Effect.gen(function* () {
          if (isDraining) return yield* refuse("draining", "the daemon is stopping")
          const at = yield* absolute(workspace)
          if (sessions.size + opening >= options.maxSessions) {
            return yield* refuse("limit", `${options.maxSessions} sessions are open, and no more may be; close one`)
          }
          opening++
          const scope = yield* Scope.make()
          // What a session forks must be interruptible, and so must be what forks it.
          return yield* Effect.interruptible(build(at, policy, surface, scope)).pipe(
            Effect.onError(() => Scope.close(scope, Exit.void)),
            Effect.ensuring(
              Effect.sync(() => {
                opening--
              })
            )
          )
        }).pipe(Effect.uninterruptible)

      const cancelLive = (session: Session.Session): Effect.Effect<void> =>
        Effect.flatMap(session.live, Effect.forEach(session.cancel, { discard: true }))

      const closeOne = (opened: OpenSession): Effect.Effect<void> =>
        Effect.suspend(() => {
          if (opened.isClosing) return Effect.zipRight(cancelLive(opened.session), Deferred.await(opened.closed))
          opened.isClosing = true
          // Whoever asked for it may leave; it goes on.
          return Effect.zipRight(
            Effect.forkDaemon(
              opened.session.close.pipe(
                Effect.zipRight(Scope.close(opened.scope, Exit.void)),
                Effect.ensuring(
                  Effect.sync(() => {
                    sessions.delete(opened.id)
                    Deferred.unsafeDone(opened.closed, Effect.void)
                  })
                )
              )
            ),
            Deferred.await(opened.closed)
          )
        })

      const drain: Effect.Effect<void> = Effect.suspend(() => {
        isDraining = true
        return Effect.forEach([...sessions.values()], closeOne, { concurrency: "unbounded", discard: true })
      })

      yield* Effect.addFinalizer(() => drain)

      const closeIdle = Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        for (const opened of [...sessions.values()]) {
          const { length } = yield* opened.session.live
          if (length > 0) opened.lastUsed = now
          else if (now - opened.lastUsed > options.idleSeconds * 1000) yield* closeOne(opened)
        }
      })
      yield* Effect.forkScoped(Effect.repeat(closeIdle, Schedule.spaced("30 seconds")))

      // Calls

      const submit = (opened: OpenSession, { bytes, input, tool }: CallRequest) =>
        Effect.gen(function* () {
          if (isDraining) return yield* refuse("draining", "the daemon is stopping")
          if (opened.isClosing) return yield* refuse("not_found", `session ${quoted(opened.id)} is closing`)
          if (held + bytes > Bounds.heldBytes) {
            return yield* refuse("limit", `the calls under way hold more than ${Bounds.heldBytes} bytes; wait for some`)
          }
          held += bytes
          const id = `${opened.id}-${++opened.made}`
          opened.lastUsed = yield* Clock.currentTimeMillis
          opened.calls.add(id, Display.bounded(tool, 64), isoOf(opened.lastUsed))
          const call = yield* Effect.orDie(opened.session.submit({ id, tool, input }))
          const result = Effect.tap(call.result, (envelope) => Effect.sync(() => opened.calls.end(envelope)))
          yield* Effect.forkDaemon(
            Effect.ensuring(
              result,
              Effect.sync(() => {
                held -= bytes
              })
            )
          )
          return { id, result }
        })

      const served = (opened: OpenSession, by: string): Session.Session => {
        const { session } = opened
        const submitServed: Session.Session["submit"] = ({ input, tool }) =>
          submit(opened, { tool, input, bytes: Buffer.byteLength(JSON.stringify(input) ?? "") }).pipe(
            Effect.catchAll((failure) =>
              Effect.sync(() => {
                const id = `${opened.id}-${++opened.made}`
                const call = { call_id: id, tool: Display.bounded(tool, 64) }
                return { id, result: Effect.succeed(refusalOf(call, failure)) }
              })
            ),
            Effect.uninterruptible
          )
        return {
          ...session,
          submit: submitServed,
          call: Session.calling({ cancel: session.cancel, submit: submitServed }),
          answer: (id, { decision, reason }) =>
            approvals.answer(id, { decision, by, ...(reason === undefined ? {} : { reason }) }).pipe(
              Effect.mapError(() => new Session.NoSuchApproval({ id })),
              Effect.asVoid
            ),
          close: closeOne(opened)
        }
      }

      return {
        open: (workspace, policy) => Effect.map(open(workspace, policy, "scvd"), ({ id }) => ({ session_id: id })),
        serve: (workspace, { by, surface }) =>
          Effect.map(Effect.acquireRelease(open(workspace, undefined, surface), closeOne), (opened) =>
            served(opened, by)
          ),
        list: Effect.suspend(() => Effect.forEach([...sessions.values()], infoOf)),
        get: (id) => Effect.flatMap(find(id), infoOf),
        close: (id) => Effect.flatMap(find(id), closeOne),
        call: (id, request) =>
          Effect.flatMap(find(id), (opened) =>
            Effect.uninterruptibleMask((restore) =>
              Effect.flatMap(submit(opened, request), (call) =>
                restore(call.result).pipe(
                  Effect.onInterrupt(() => Effect.zipRight(opened.session.cancel(call.id), call.result))
                )
              )
            )
          ),
        detach: (id, request) =>
          Effect.flatMap(find(id), (opened) =>
            Effect.map(Effect.uninterruptible(submit(opened, request)), (call) => call.id)
          ),
        calls: (id) => Effect.map(find(id), ({ calls }) => calls.list()),
        getCall: (id, callId) =>
          Effect.flatMap(find(id), ({ calls }) => {
            const found = calls.get(callId)
            return found === undefined
              ? refuse("not_found", `no call ${quoted(callId)} is live, or among the last that ended`)
              : Effect.succeed(found)
          }),
        cancel: (id, callId) =>
          Effect.gen(function* () {
            const { calls, session } = yield* find(id)
            if (yield* session.cancel(callId)) return
            const status = calls.get(callId)?.status
            return yield* status === undefined
              ? refuse("not_found", `no call ${quoted(callId)} is live, or among the last that ended`)
              : refuse("conflict", `call ${quoted(callId)} has ended already: ${status}`)
          }),
        drain,
        hurry: Effect.suspend(() =>
          Effect.forEach([...sessions.values()], ({ session }) => cancelLive(session), { discard: true })
        ),
        isDraining: Effect.sync(() => isDraining)
      }
    })
  )

const infoOf = ({ id, openedAt, policy, session }: OpenSession): Effect.Effect<SessionInfo> =>
  Effect.map(session.live, (live) => ({
    session_id: id,
    workspace: session.workspace,
    policy,
    opened_at: openedAt,
    live
  }))
