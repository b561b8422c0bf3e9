/** SCV for scripts that do not use Effect. What else the tools can do needs the layers of {@link LocalSession}. */
import { Approval, ToolDescription as Description, Display, type Session, type ToolResult } from "@scv/core"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as LocalSession from "./LocalSession.ts"
import { builtins, type OfferedTool } from "./Tools.ts"
import type { Unusable } from "./Unusable.ts"

/** A question: a call that could do harm, and the exact plan that runs if the answer is yes. */
export type Question = Approval.ApprovalRequest

/** The answer to one call. */
export type Envelope = ToolResult

/** A tool as it was when the session was opened. */
export type ToolDescription = Description.ToolDescription

/** Yes, no, or no and why. */
export type Answer = boolean | { readonly decision: "approve" | "deny"; readonly reason?: string }

export interface OpenOptions {
  /** The directory to work in, relative to the current one. */
  readonly workspace: string
  /**
   * Answers a question. `signal` aborts when the call ends before there is an answer. An error, and every answer that is
   * none, means no. Default: no to everything.
   */
  readonly approve?: (question: Question, options: { readonly signal: AbortSignal }) => Answer | Promise<Answer>
  /** When to ask: `on-risk`, `always`, or `never`, which denies. Default: as it is configured. */
  readonly policy?: Approval.ApprovalPolicy
  /** Tools of your own, made with `Tool.make` of `@scv/core`, beside those that come with SCV. */
  readonly tools?: ReadonlyArray<OfferedTool>
}

export interface CallOptions {
  /** Aborting cancels the call. Its envelope, `cancelled`, comes after its release. */
  readonly signal?: AbortSignal
}

/** A session of a script. */
export interface PromiseSession {
  /** The absolute path of the workspace. */
  readonly workspace: string
  readonly tools: ReadonlyArray<ToolDescription>
  /** Calls a tool with untrusted JSON; calls run one at a time, in order. Never rejects: every end is an envelope. */
  readonly call: (tool: string, input: unknown, options?: CallOptions) => Promise<Envelope>
  /** Cancels what runs and waits until nothing of it is left. Later calls are answered as cancelled. */
  readonly close: () => Promise<void>
}

/** A workspace (`invalid_input`), or a configuration or a tool (`config`), that cannot be used. */
export class OpenError extends Error {
  override readonly name = "OpenError"
  readonly kind: "invalid_input" | "config"

  constructor(kind: OpenError["kind"], message: string) {
    super(message)
    this.kind = kind
  }
}

const isPolicy = Schema.is(Approval.ApprovalPolicy)

/** What a caller without a type checker may have got wrong; the rest is judged where it is used. */
const faultOf = ({ approve, policy, tools, workspace }: OpenOptions): string | undefined => {
  if (typeof workspace !== "string") return `workspace: expected a directory, got ${typeof workspace}`
  if (approve !== undefined && typeof approve !== "function")
    return `approve: expected a function, got ${typeof approve}`
  if (policy !== undefined && !isPolicy(policy)) {
    return `policy: expected ${Approval.ApprovalPolicy.literals.join(", ")}, got ${Display.bounded(String(policy), 60)}`
  }
  if (tools !== undefined && !(Array.isArray(tools) && tools.every(Effect.isEffect))) {
    return "tools: expected a list of what Tool.make gives"
  }
  return undefined
}

const noApprove = "no `approve` was given to open(), so nobody answers questions"

const decisionOf = (answer: Answer): Approval.Decision => {
  if (typeof answer === "boolean") return { decision: answer ? "approve" : "deny", by: "script" }
  const { decision, reason } = answer
  return {
    decision: decision === "approve" ? "approve" : "deny",
    by: "script",
    ...(reason === undefined ? {} : { reason: String(reason) })
  }
}

const approver = (approve: OpenOptions["approve"]): Layer.Layer<Approval.Approver> =>
  approve === undefined
    ? Approval.denying(noApprove)
    : Layer.succeed(Approval.Approver, {
        decide: (request) =>
          Effect.tryPromise(async (signal) => decisionOf(await approve(request, { signal }))).pipe(
            Effect.catchAll(({ error }) =>
              Effect.succeed({
                decision: "deny" as const,
                reason: `\`approve\` failed: ${error instanceof Error ? error.message : String(error)}`,
                by: "script"
              })
            )
          )
      })

const aborted = (signal: AbortSignal): Effect.Effect<void> =>
  Effect.async((resume) => {
    const listener = () => resume(Effect.void)
    if (signal.aborted) return listener()
    signal.addEventListener("abort", listener, { once: true })
    return Effect.sync(() => signal.removeEventListener("abort", listener))
  })

const call = (session: Session.Session, tool: string, input: unknown, signal: AbortSignal | undefined) =>
  Effect.gen(function* () {
    // The session picks the id, so it cannot be in use.
    const { id, result } = yield* Effect.orDie(session.submit({ tool: String(tool), input }))
    if (signal !== undefined) yield* Effect.forkScoped(Effect.zipRight(aborted(signal), session.cancel(id)))
    return yield* result
  }).pipe(Effect.scoped)

// A script's stdout is its own.
const logger = Logger.replace(Logger.defaultLogger, Logger.withConsoleError(Logger.logfmtLogger))

const failureOf = (cause: Cause.Cause<Unusable>): unknown =>
  Option.match(Cause.failureOption(cause), {
    onNone: () => Cause.squash(cause),
    onSome: ({ kind, message }) => new OpenError(kind, message)
  })

/** Opens a session on this machine, as it is configured. Rejects with {@link OpenError}. */
export const open = async (options: OpenOptions): Promise<PromiseSession> => {
  const fault = faultOf(options)
  if (fault !== undefined) throw new OpenError("invalid_input", fault)
  const { approve, policy, tools = [], workspace } = options
  const scope = Effect.runSync(Scope.make())
  const services = LocalSession.single({ workspace, flags: { "tools.approval_policy": policy } }, [
    ...builtins,
    ...tools
  ])
  const opened = await Effect.gen(function* () {
    const runtime = yield* Layer.toRuntime(Layer.mergeAll(services, approver(approve), logger))
    const session = yield* Effect.provide(LocalSession.make({ surface: "script" }), runtime)
    return { runtime, session, described: yield* Effect.forEach(session.tools, Description.describe) }
  }).pipe(Scope.extend(scope), Effect.runPromiseExit)
  if (Exit.isFailure(opened)) {
    await Effect.runPromise(Scope.close(scope, opened))
    throw failureOf(opened.cause)
  }
  const { described, runtime, session } = opened.value
  let closing: Promise<void> | undefined
  return {
    workspace: session.workspace,
    tools: described,
    call: (tool, input, { signal } = {}) => Runtime.runPromise(runtime)(call(session, tool, input, signal)),
    close: () => (closing ??= Effect.runPromise(Scope.close(scope, Exit.void)))
  }
}
