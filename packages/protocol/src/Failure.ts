/** What the daemon answers where there is no envelope: one JSON shape, `{"error":{"kind","message"}}`. */
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import { Display, type ErrorKind, statusOf, type ToolResult } from "@scv/core"
import * as Schema from "effect/Schema"

const statusByKind = {
  /** The request, or the workspace that it names, cannot be used as it is. */
  invalid_input: 400,
  /** The configuration of the workspace, or of the user, cannot be used. */
  config: 400,
  /** The token is missing or wrong. */
  unauthorized: 401,
  /** It comes from a web page elsewhere, or by a name that is not this machine's. */
  forbidden: 403,
  /** There is no such path, session, call or question. */
  not_found: 404,
  /** It has been decided, or has ended, already. */
  conflict: 409,
  /** The body is longer than the daemon takes. */
  too_large: 413,
  /** The body is no `application/json`. */
  unsupported_media_type: 415,
  /** There are as many sessions, waiting calls or readers of events as the daemon takes. */
  limit: 429,
  /** A fault of the daemon itself. */
  internal: 500,
  /** The daemon is stopping. */
  draining: 503
} as const satisfies Record<string, number>

/** Why a request was refused, as a word that a program can branch on. */
export type FailureKind = keyof typeof statusByKind

export const FailureKind = Schema.Literal(...(Object.keys(statusByKind) as [FailureKind, ...Array<FailureKind>]))

/** The HTTP status that a kind is answered with. */
export const httpStatus = (kind: FailureKind): number => statusByKind[kind]

/** A request that was refused; a call that was made has an envelope instead. */
export class Failure extends Schema.TaggedError<Failure>()("Failure", {
  kind: FailureKind,
  message: Schema.String
}) {}

/** The body of a refusal. */
export const bodyOf = ({ kind, message }: Failure) => ({ error: { kind, message } })

const errorKinds: Partial<Record<FailureKind, ErrorKind>> = {
  limit: "limit",
  too_large: "too_large",
  // The session has ended, or is about to.
  not_found: "cancelled",
  draining: "cancelled"
}

/** What a session answers a call with that the daemon did not take. */
export const refusalOf = (
  call: Pick<ToolResult, "call_id" | "tool">,
  failure: { readonly kind: string; readonly message: string }
): ToolResult => {
  const kind = errorKinds[failure.kind as FailureKind] ?? "unavailable"
  return { ...call, status: statusOf(kind), error: { kind, message: Display.bounded(failure.message, 2000) } }
}

/** A failure of one kind as it is on the wire. */
export const failure = <const Kind extends FailureKind>(kind: Kind) =>
  Schema.transform(
    Schema.Struct({ error: Schema.Struct({ kind: Schema.Literal(kind), message: Schema.String }) }),
    Schema.typeSchema(Failure).pipe(Schema.filter((failure) => failure.kind === kind)),
    {
      decode: ({ error }) => new Failure(error),
      encode: ({ message }) => ({ error: { kind, message } }),
      strict: false
    }
  ).annotations(HttpApiSchema.annotations({ status: statusByKind[kind], description: `refused: ${kind}` }))
