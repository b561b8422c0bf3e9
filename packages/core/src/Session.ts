/**
 * A workspace, its tools, a queue in which calls run one at a time, and a numbered stream of what happens. Source:
 * design, "A call in a Session".
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as PubSub from "effect/PubSub"
import * as Queue from "effect/Queue"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Mutable } from "effect/Types"
import { type ApprovalPolicy, type ApprovalRequest, Approver, type Decision, verdict } from "./Approval.ts"
import * as AuditLog from "./AuditLog.ts"
import type { CallContext } from "./CallContext.ts"
import { Digest } from "./Digest.ts"
import * as Display from "./Display.ts"
import * as Ending from "./Ending.ts"
import { Limits } from "./Limits.ts"
import type { SessionEvent } from "./SessionEvent.ts"
import type { Outcome, PreparedCall, Tool } from "./Tool.ts"
import { ToolError } from "./ToolError.ts"
import { ToolRegistry } from "./ToolRegistry.ts"
import type { ToolResult } from "./ToolResult.ts"
import { Workspace } from "./Workspace.ts"

/** The id of a new call is that of one that has not ended. */
export class CallIdInUse extends Schema.TaggedError<CallIdInUse>()("CallIdInUse", { id: Schema.String }) {
  override get message(): string {
    return `a call with the id ${JSON.stringify(this.id)} has not ended yet`
  }
}

/** There is no open question of that id: it was never asked, or is answered already, or its call has ended. */
export class NoSuchApproval extends Schema.TaggedError<NoSuchApproval>()("NoSuchApproval", { id: Schema.String }) {
  override get message(): string {
    return `no question ${JSON.stringify(this.id)} is open`
  }
}

/** What somebody wants done. */
export interface CallRequest {
  readonly tool: string
  /** Untrusted JSON. */
  readonly input: unknown
  /** Default: the next number of the session. */
  readonly id?: string
}

/** A call that was submitted. */
export interface Call {
  readonly id: string
  /** Waits for the answer. */
  readonly result: Effect.Effect<ToolResult>
}

export interface Session {
  /** What the audit log names it by. */
  readonly id: string
  /** The absolute path of the workspace. */
  readonly workspace: string
  readonly tools: ReadonlyArray<Tool>
  /** Puts a call into the queue. Bad input is answered at once. Fails only where the id is taken. */
  readonly submit: (request: CallRequest) => Effect.Effect<Call, CallIdInUse>
  /** Submits a call and waits for its answer; interruption cancels the call and waits for its release. */
  readonly call: (request: CallRequest) => Effect.Effect<ToolResult, CallIdInUse>
  /**
   * Cancels a call. A waiting one is answered at once and runs nothing; a running one is interrupted and answered after
   * its release; a second cancel ends the grace of that release. False where no such call is live.
   */
  readonly cancel: (id: string) => Effect.Effect<boolean>
  /** The ids of the calls that have not ended, oldest first. */
  readonly live: Effect.Effect<ReadonlyArray<string>>
  /** The questions that are open, oldest first. */
  readonly approvals: Effect.Effect<ReadonlyArray<ApprovalRequest>>
  /** Answers an open question. The first answer wins. */
  readonly answer: (approvalId: string, decision: Decision) => Effect.Effect<void, NoSuchApproval>
  /**
   * Subscribes to all events from now on; the stream ends after the last event of the session. A slow subscriber holds
   * nothing up: while {@link maxLag} events wait for it, no `progress` is added to them.
   */
  readonly events: Effect.Effect<Stream.Stream<SessionEvent>, never, Scope.Scope>
  /** Waits until no call is live. */
  readonly idle: Effect.Effect<void>
  /**
   * Ends the session: calls that are live are cancelled and released, later ones are answered as cancelled, and the
   * events end. Closing the scope of the session does the same.
   */
  readonly close: Effect.Effect<void>
}

export interface Options {
  readonly policy: ApprovalPolicy
  /** Answers every question with yes, so that none is asked. It does not turn `never` into yes. */
  readonly assumeYes?: boolean
  /** The shell that serves the session, such as `scv call`: who asked, as the audit log says it. */
  readonly surface: string
  /** Default: 12 random hex digits. */
  readonly id?: string
}

/** How many events may wait for the slowest subscriber before `progress` is left out. */
export const maxLag = 1024

/** The most calls that may wait; one more is refused with kind `limit`. */
export const maxWaiting = 1024

/** How often a call that nobody was asked about is prepared again because its files changed before it ran. */
const maxRetries = 3

/** `Omit` that keeps the members of a union apart. */
type Unnumbered<Event> = Event extends unknown ? Omit<Event, "seq" | "id"> : never

/**
 * A call that has not ended, as its session keeps it. What is large in it stays out of fibers and deferreds, and is let go
 * at its end: those are held by functions that V8 allocates as old, which keep what they see until the next full
 * collection, and every young one copies it.
 */
interface LiveCall extends Mutable<Ending.EndedCall> {
  readonly id: string
  readonly prepare: Effect.Effect<PreparedCall, ToolError>
  readonly done: Deferred.Deferred<void>
  readonly hurry: Deferred.Deferred<void>
  readonly audit: AuditLog.CallAudit
  /** Hands over its answer, once. */
  answer: ((result: ToolResult) => void) | undefined
  fiber: Fiber.Fiber<void, ToolError> | undefined
}

/** A call in the queue: what waits for its end, and its answer from then on. */
interface Enqueued {
  readonly id: string
  readonly done: Effect.Effect<void>
  readonly answer: Effect.Effect<ToolResult>
}

const freshId: Effect.Effect<string> = Effect.map(Effect.replicateEffect(Random.nextIntBetween(0, 16), 12), (digits) =>
  digits.map((digit) => digit.toString(16)).join("")
)

/** A session in the workspace, with the tools, limits and approver of the context. Closing its scope cancels all calls. */
export const make = (
  options: Options
): Effect.Effect<
  Session,
  never,
  Workspace | ToolRegistry | Limits | Approver | Digest | AuditLog.AuditLog | Scope.Scope
> =>
  Effect.gen(function* () {
    const workspace = yield* Workspace
    const registry = yield* ToolRegistry
    const limits = yield* Limits
    const approver = yield* Approver
    const digest = yield* Digest
    const sessionId = options.id ?? (yield* freshId)
    const audit = yield* AuditLog.ofSession({
      session: sessionId,
      surface: options.surface,
      workspace: workspace.path,
      policy: options.policy,
      assumeYes: options.assumeYes === true
    })
    const events = yield* PubSub.unbounded<SessionEvent | undefined>()
    const queue = yield* Queue.unbounded<LiveCall>()
    const live = new Map<string, LiveCall>()
    const questions = new Map<
      string,
      { readonly request: ApprovalRequest; readonly answer: Deferred.Deferred<Decision> }
    >()
    let seq = 0
    let calls = 0
    let asked = 0
    let closed = false

    const unsafeEmit = (id: string, event: Unnumbered<SessionEvent>): void => {
      events.unsafeOffer({ seq: ++seq, id, ...event } as SessionEvent)
    }

    const emit = (id: string, event: Unnumbered<SessionEvent>): Effect.Effect<void> =>
      Effect.sync(() => unsafeEmit(id, event))

    const progress = (call: LiveCall, text: string): Effect.Effect<void> =>
      Effect.sync(() => {
        if (Option.getOrElse(events.unsafeSize(), () => 0) < maxLag) unsafeEmit(call.id, { event: "progress", text })
      })

    /** Uninterruptible where it runs: `Effect.uninterruptible` here would hold the ending. */
    const finish = (call: LiveCall, ending: Ending.Ending): Effect.Effect<void> =>
      Effect.suspend(() => {
        // Of a cancel and the worker, the first to get here answers.
        const { answer } = call
        if (answer === undefined) return Effect.void
        call.answer = undefined
        call.outcome = call.partial = call.committed = undefined
        const result: ToolResult = { call_id: call.id, tool: call.tool, ...ending }
        return Effect.zipRight(
          call.audit.ended(result),
          Effect.sync(() => {
            live.delete(call.id)
            unsafeEmit(call.id, { event: "completed", result })
            answer(result)
            Deferred.unsafeDone(call.done, Effect.void)
          })
        )
      })

    // Ending a call

    const interrupt = (call: LiveCall): Effect.Effect<void> =>
      Effect.suspend(() => (call.fiber === undefined ? Effect.void : Fiber.interruptFork(call.fiber)))

    const hurry = (call: LiveCall): Effect.Effect<void> => Effect.asVoid(Deferred.succeed(call.hurry, undefined))

    const expire = (call: LiveCall): Effect.Effect<void> =>
      Effect.suspend(() => {
        if (call.cause !== undefined) return hurry(call)
        call.cause = "timed_out"
        return Effect.zipRight(hurry(call), interrupt(call))
      })

    const cancelLive = (call: LiveCall): Effect.Effect<void> =>
      Effect.suspend(() => {
        if (call.cause !== undefined) return hurry(call)
        call.cause = "cancelled"
        return call.fiber === undefined ? finish(call, Ending.ofInterruption(call, "cancelled")) : interrupt(call)
      }).pipe(Effect.uninterruptible)

    const expireAt = (call: LiveCall, moment: number): Effect.Effect<void> =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.delay(expire(call), Math.max(0, moment - now)))

    /**
     * Runs a part of a call under a deadline. The timer runs on through the part's release, to end its grace. It goes by
     * the moment at which the part begins: a forked fiber begins when the part first waits, which a spawn delays.
     */
    const within = <A, E>(call: LiveCall, seconds: number, part: Effect.Effect<A, E>): Effect.Effect<A, E> =>
      Effect.acquireUseRelease(
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          call.timeoutSeconds = seconds
          return Effect.forkDaemon(Effect.interruptible(expireAt(call, now + seconds * 1000)))
        }),
        () => part,
        Fiber.interrupt
      )

    // Living through one

    const ask = (call: LiveCall, prepared: PreparedCall, planDigest: string): Effect.Effect<void, ToolError> =>
      Effect.gen(function* () {
        const approval_id = `${call.id}-${++asked}`
        const summary = Display.lines(yield* prepared.summary)
        const request: ApprovalRequest = {
          approval_id,
          call_id: call.id,
          tool: call.tool,
          risk: prepared.risk,
          workspace: workspace.path,
          summary,
          plan: prepared.plan,
          digest: planDigest
        }
        const answer = yield* Deferred.make<Decision>()
        questions.set(approval_id, { request, answer })
        const { call_id: _, ...question } = request
        const decision = yield* Effect.zipRight(
          emit(call.id, { event: "approval_requested", ...question }),
          Effect.raceFirst(Deferred.await(answer), approver.decide(request))
        ).pipe(Effect.ensuring(Effect.sync(() => questions.delete(approval_id))))
        yield* call.audit.decided(decision)
        yield* emit(call.id, { event: "approval_resolved", approval_id, ...decision })
        if (decision.decision === "deny") {
          const reason = decision.reason === undefined || decision.reason === "" ? "" : `: ${decision.reason}`
          return yield* new ToolError({ kind: "denied", message: `${call.tool} was denied${reason}` })
        }
      })

    const contextOf = (call: LiveCall, deadline: number): CallContext<Outcome> => ({
      callId: call.id,
      deadline,
      progress: (text) => progress(call, text),
      partial: (outcome) =>
        Effect.sync(() => {
          call.partial = outcome
        }),
      commit: (outcome) =>
        Effect.sync(() => {
          call.committed = outcome
        }),
      // Interruptible, so that a release, which is not, can race it.
      hurry: Effect.interruptible(Deferred.await(call.hurry)),
      isHurried: Deferred.isDone(call.hurry)
    })

    const attempt = (call: LiveCall, isFirst: boolean) =>
      Effect.gen(function* () {
        const prepared = yield* within(call, limits.commandTimeoutSeconds, call.prepare)
        const planDigest = digest.sha256(JSON.stringify(prepared.plan))
        const says = verdict(options.policy, prepared.risk)
        if (says === "deny") {
          const reason = `the approval policy "${options.policy}" denies ${prepared.risk} calls`
          yield* call.audit.planned(prepared, planDigest, { decision: "deny", by: "policy", reason })
          return yield* new ToolError({ kind: "denied", message: reason })
        }
        const asks = says === "ask" && options.assumeYes !== true
        const by = says === "ask" ? "assume_yes" : "policy"
        yield* call.audit.planned(prepared, planDigest, asks ? undefined : { decision: "approve", by })
        if (asks) yield* ask(call, prepared, planDigest)
        if (isFirst) yield* emit(call.id, { event: "started", tool: call.tool, risk: prepared.risk })
        const seconds = Option.getOrElse(prepared.timeoutSeconds, () => limits.commandTimeoutSeconds)
        const now = yield* Clock.currentTimeMillis
        const exit = yield* Effect.exit(within(call, seconds, prepared.run(contextOf(call, now + seconds * 1000))))
        return { exit, asks }
      })

    const life = (call: LiveCall): Effect.Effect<void, ToolError> =>
      Effect.gen(function* () {
        for (let retries = 0; ; retries++) {
          const { asks, exit } = yield* attempt(call, retries === 0)
          // `changed` says that nothing was done. Where nobody was asked about that plan, a new one is as good.
          const again =
            !asks &&
            retries < maxRetries &&
            Exit.isFailure(exit) &&
            Option.exists(Cause.failureOption(exit.cause), (error) => error.kind === "changed")
          if (again) continue
          call.outcome = yield* exit
          return
        }
      })

    const work = (call: LiveCall): Effect.Effect<void> =>
      Effect.gen(function* () {
        if (call.answer === undefined) return
        const fiber = yield* Effect.forkDaemon(Effect.interruptible(life(call)))
        call.fiber = fiber
        const exit = yield* Fiber.await(fiber)
        if (Ending.isBroken(call, exit)) {
          yield* Effect.logError(`${call.tool}: call ${call.id} broke`, exit.cause)
        }
        yield* finish(call, Ending.ofExit(call, exit))
      }).pipe(Effect.uninterruptible)

    // The surface

    /** Answers a call that never waits. After the end of the session no event tells of it. */
    const refused = (id: string, tool: string, { kind, message }: Pick<ToolError, "kind" | "message">) =>
      Effect.gen(function* () {
        const result: ToolResult = { call_id: id, tool, ...Ending.ofError(kind, message) }
        yield* (yield* audit(id, tool, undefined)).ended(result)
        if (!closed) {
          yield* emit(id, { event: "proposed", tool })
          yield* emit(id, { event: "completed", result })
        }
        return { id, done: Effect.void, answer: Effect.succeed(result) }
      })

    const decodingBroke =
      (tool: Tool) =>
      (cause: Cause.Cause<ToolError>): Effect.Effect<never, ToolError> => {
        const failure = Cause.failureOption(cause)
        if (Option.isSome(failure)) return Effect.fail(failure.value)
        const broken = new ToolError({ kind: "internal", message: `${tool.name}: its input could not be decoded` })
        return Effect.zipRight(Effect.logError(`${tool.name}: decoding broke`, cause), Effect.fail(broken))
      }

    /** The tool of a call and what prepares it, where the call may wait in the queue. */
    const admit = ({ input, tool }: CallRequest) =>
      Effect.gen(function* () {
        const found = yield* registry.get(tool)
        const prepare = yield* Effect.catchAllCause(found.decode(input), decodingBroke(found))
        if (live.size >= maxWaiting) {
          return yield* new ToolError({ kind: "limit", message: `more than ${maxWaiting} calls are waiting` })
        }
        return { found, prepare }
      })

    const enqueue = (request: CallRequest): Effect.Effect<Enqueued, CallIdInUse> =>
      Effect.gen(function* () {
        const id = request.id ?? nextId()
        if (live.has(id)) return yield* new CallIdInUse({ id })
        // The name is the caller's text until the registry knows it.
        const tool = Display.bounded(request.tool, 64)
        if (closed) return yield* refused(id, tool, { kind: "cancelled", message: "the session has ended" })
        const prepared = yield* Effect.either(admit(request))
        if (prepared._tag === "Left") return yield* refused(id, tool, prepared.left)
        const answered: { result: ToolResult | undefined } = { result: undefined }
        const call: LiveCall = {
          id,
          tool,
          outputLimitBytes: Option.getOrElse(prepared.right.found.outputLimitBytes, () => limits.outputLimitBytes),
          prepare: prepared.right.prepare,
          done: yield* Deferred.make<void>(),
          hurry: yield* Deferred.make<void>(),
          audit: yield* audit(id, tool, prepared.right.found),
          answer: (result) => {
            answered.result = result
          },
          cause: undefined,
          timeoutSeconds: limits.commandTimeoutSeconds,
          fiber: undefined,
          outcome: undefined,
          partial: undefined,
          committed: undefined
        }
        live.set(id, call)
        yield* emit(id, { event: "proposed", tool })
        yield* Queue.offer(queue, call)
        return { id, done: Deferred.await(call.done), answer: Effect.sync(() => answered.result!) }
      }).pipe(Effect.uninterruptible)

    const nextId = (): string => {
      do calls++
      while (live.has(String(calls)))
      return String(calls)
    }

    const idle: Effect.Effect<void> = Effect.suspend(() => {
      const [oldest] = live.values()
      return oldest === undefined ? Effect.void : Effect.zipRight(Deferred.await(oldest.done), idle)
    })

    const cancel = (id: string): Effect.Effect<boolean> =>
      Effect.suspend(() => {
        const call = live.get(id)
        return call === undefined ? Effect.succeed(false) : Effect.as(cancelLive(call), true)
      })

    // Interruptible wherever the session is made, or its scope could not be closed.
    yield* Effect.forkScoped(Effect.interruptible(Effect.forever(Effect.flatMap(Queue.take(queue), work))))
    const close = Effect.gen(function* () {
      closed = true
      const open = [...live.values()]
      for (const call of open) if (call.cause === undefined) yield* cancelLive(call)
      for (const call of open) yield* Deferred.await(call.done)
      events.unsafeOffer(undefined)
    })
    // Added last, so it goes first: every call is answered, and what runs is released, before the worker ends.
    yield* Effect.addFinalizer(() => close)

    return {
      id: sessionId,
      workspace: workspace.path,
      tools: registry.tools,
      submit: (request) =>
        Effect.map(enqueue(request), ({ answer, done, id }) => ({ id, result: Effect.zipRight(done, answer) })),
      call: (request) =>
        Effect.uninterruptibleMask((restore) =>
          Effect.flatMap(enqueue(request), ({ answer, done, id }) =>
            restore(done).pipe(
              Effect.onInterrupt(() => Effect.zipRight(cancel(id), done)),
              Effect.zipRight(answer)
            )
          )
        ),
      cancel,
      live: Effect.sync(() => [...live.keys()]),
      approvals: Effect.sync(() => [...questions.values()].map((question) => question.request)),
      answer: (approvalId, decision) =>
        Effect.suspend(() => {
          const question = questions.get(approvalId)
          if (question === undefined) return Effect.fail(new NoSuchApproval({ id: approvalId }))
          questions.delete(approvalId)
          return Effect.asVoid(Deferred.succeed(question.answer, decision))
        }),
      events: Effect.map(PubSub.subscribe(events), (queue) =>
        Stream.takeWhile(Stream.fromQueue(queue), (event) => event !== undefined)
      ),
      idle,
      close
    }
  })
