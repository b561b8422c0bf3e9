/** The record of all calls: who asked, the plan as it was shown, what was decided and by whom, and what became of it. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { ApprovalPolicy, Decision } from "./Approval.ts"
import { type AuditEntry, type ProcessIdentity, version } from "./AuditEntry.ts"
import { Digest } from "./Digest.ts"
import * as Display from "./Display.ts"
import type { Json } from "./Json.ts"
import * as Recorded from "./Recorded.ts"
import * as ResultLimit from "./ResultLimit.ts"
import type { PreparedCall, Tool } from "./Tool.ts"
import type { ToolResult } from "./ToolResult.ts"

export class AuditLog extends Context.Tag("@scv/core/AuditLog")<
  AuditLog,
  {
    /** Who this process is. */
    readonly process: ProcessIdentity
    /**
     * Keeps an entry behind all that were kept before it. Neither fails nor waits: what cannot be kept is said by
     * `Effect.logError`, and no call is lost to it.
     */
    readonly record: (entry: AuditEntry) => Effect.Effect<void>
  }
>() {}

/** Keeps nothing: for tests, and for those who keep a record of their own. */
export const none: Layer.Layer<AuditLog> = Layer.succeed(AuditLog, { process: { pid: 0 }, record: () => Effect.void })

/** The most bytes of text and structure that are kept of a plan: more than one argument of a program can hold. */
const maxPlan = 196_608

/** The same of what is kept of a result. */
const maxResult = 16_384

/** The longest name, id or path, in characters; a longer one says how many are left out. */
const maxName = 256
const maxPath = 4096
const maxReason = 2000

const bounded = (json: Json, limit: number, instead: (json: Json) => Json): Json =>
  ResultLimit.bound(json, limit) ?? instead(json)

const boundedDecision = ({ by, decision, reason }: Decision): Decision => ({
  decision,
  by: Display.bounded(by, maxName),
  ...(reason === undefined ? {} : { reason: Display.bounded(reason, maxReason) })
})

/** What is told of one call. */
export interface CallAudit {
  /** Its plan, and what was decided where nobody is asked. */
  readonly planned: (prepared: PreparedCall, digest: string, decision?: Decision) => Effect.Effect<void>
  /** The answer to the question about it. */
  readonly decided: (decision: Decision) => Effect.Effect<void>
  readonly ended: (result: ToolResult) => Effect.Effect<void>
}

export interface SessionFacts {
  readonly session: string
  readonly surface: string
  readonly workspace: string
  readonly policy: ApprovalPolicy
  readonly assumeYes: boolean
}

/** Begins the record of calls of a session; the tool is that of the call, where there is one of that name. */
export const ofSession = (
  facts: SessionFacts
): Effect.Effect<
  (callId: string, name: string, tool: Tool | undefined) => Effect.Effect<CallAudit>,
  never,
  AuditLog | Digest
> =>
  Effect.gen(function* () {
    const log = yield* AuditLog
    const { sha256 } = yield* Digest
    const session = Display.bounded(facts.session, maxName)
    const asker = {
      surface: Display.bounded(facts.surface, maxName),
      ...log.process,
      workspace: Display.bounded(facts.workspace, maxPath),
      policy: facts.policy,
      assume_yes: facts.assumeYes
    }
    let serials = 0

    /** A fault of the log is none of the call. */
    const record = (make: (time: number) => AuditEntry): Effect.Effect<void> =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => log.record(make(now))).pipe(
        Effect.catchAllCause((cause) => Effect.logError("the audit log broke", cause))
      )

    return (callId, name, tool) =>
      Effect.gen(function* () {
        const begun = yield* Clock.currentTimeMillis
        const serial = ++serials
        const common = <Name extends string>(entry: Name, now: number) => ({
          v: version as typeof version,
          entry,
          time: new Date(now).toISOString(),
          session,
          serial
        })
        yield* record((now) => ({
          ...common("start", now),
          call_id: Display.bounded(callId, maxName),
          tool: name,
          ...asker
        }))
        return {
          planned: ({ plan, risk }, digest, decision) =>
            record((now) => ({
              ...common("plan", now),
              risk,
              plan: bounded(tool?.recorded.plan(plan, sha256) ?? plan, maxPlan, (json) =>
                Recorded.digestOf(json, sha256)
              ),
              digest,
              ...(decision === undefined ? {} : { decision: boundedDecision(decision) })
            })),
          decided: (decision) => record((now) => ({ ...common("decision", now), decision: boundedDecision(decision) })),
          ended: ({ error, result, status }) =>
            record((now) => ({
              ...common("end", now),
              status,
              ...(error === undefined ? {} : { error }),
              ...(result === undefined || tool === undefined
                ? {}
                : {
                    result: bounded(tool.recorded.output(result as Json), maxResult, (json) => ({
                      bytes: JSON.stringify(json).length
                    }))
                  }),
              duration_ms: Math.max(0, now - begun)
            }))
        }
      })
  })
