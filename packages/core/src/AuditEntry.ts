/** What the audit log keeps: one line of JSON for each step in the life of a call, written before what follows from it. */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { ApprovalPolicy, Decision } from "./Approval.ts"
import * as Display from "./Display.ts"
import { ErrorKind, ToolStatus } from "./ToolError.ts"
import { ToolRisk } from "./ToolRisk.ts"

/** The version of the format. */
export const version = 1

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

const entry = <Name extends string, Fields extends Schema.Struct.Fields>(name: Name, fields: Fields) =>
  Schema.Struct({
    v: Schema.Literal(version),
    entry: Schema.Literal(name),
    /** When it was written: ISO 8601 with milliseconds, UTC. */
    time: Schema.String,
    session: Schema.String,
    /** Counts the calls of a session from 1, also where their ids are used again. */
    serial: Schema.Number,
    ...fields
  })

/** Only made where the log is read: most processes write three lines and end. */
const makeSchema = () =>
  Schema.Union(
    /** A call came in. */
    entry("start", {
      call_id: Schema.String,
      tool: Schema.String,
      /** The shell that it came by, such as `scv call`. */
      surface: Schema.String,
      pid: Schema.Number,
      ppid: optional(Schema.Number),
      uid: optional(Schema.Number),
      user: optional(Schema.String),
      workspace: Schema.String,
      policy: ApprovalPolicy,
      assume_yes: Schema.Boolean
    }),
    /** Its plan was made, and what was decided, where that needed no question. A later one takes its place. */
    entry("plan", {
      risk: ToolRisk,
      /** As it was shown, without what is kept by hash and size only. */
      plan: Schema.Unknown,
      /** Of the whole plan, as the question has it. */
      digest: Schema.String,
      decision: optional(Decision)
    }),
    /** The question about the plan was answered. */
    entry("decision", { decision: Decision }),
    /** The call ended. */
    entry("end", {
      status: ToolStatus,
      error: optional(Schema.Struct({ kind: ErrorKind, message: Schema.String })),
      /** Sizes and other facts; no content. */
      result: optional(Schema.Unknown),
      /** Milliseconds since the call came in. */
      duration_ms: Schema.Number
    })
  )

export type AuditEntry = ReturnType<typeof makeSchema>["Type"]

/** The process that a session runs in, as far as the system tells. */
export type ProcessIdentity = Pick<Extract<AuditEntry, { readonly entry: "start" }>, "pid" | "ppid" | "uid" | "user">

/** The longest line in bytes, its end included. What goes into an entry is bounded so that none is longer. */
export const maxLine = 2 * 1024 * 1024

/** An entry as a line of the log, its end included: whatever texts it holds, they make no second line. */
export const line = (entry: AuditEntry): string => `${Display.json(JSON.stringify(entry))}\n`

let decode: ((json: unknown) => Either.Either<AuditEntry, unknown>) | undefined

const parseWhole = (text: string): AuditEntry | undefined => {
  try {
    const json: unknown = JSON.parse(text)
    decode ??= Schema.decodeUnknownEither(makeSchema())
    return Either.getOrUndefined(decode(json))
  } catch {
    return undefined
  }
}

/** How every line begins. A plan may hold the same, but that is no JSON up to the end of the line. */
const beginning = `{"v":${version},"entry":`

/** How many beginnings are tried in a broken line. */
const maxTries = 64

/**
 * The entry on a line, without its end. A write that a full disk cut short may have left its beginning in front of a
 * later entry: that one is found, and `isTorn` says that something else was lost. No entry where there is none.
 */
export const parse = (text: string): { readonly entry: AuditEntry | undefined; readonly isTorn: boolean } => {
  let entry = parseWhole(text)
  if (entry !== undefined) return { entry, isTorn: false }
  let at = text.indexOf(beginning, 1)
  for (let tries = 0; at !== -1 && entry === undefined && tries < maxTries; tries++) {
    entry = parseWhole(text.slice(at))
    at = text.indexOf(beginning, at + 1)
  }
  return { entry, isTorn: true }
}
