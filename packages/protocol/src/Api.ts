/** The daemon's HTTP API: shared by the server, the client, and the OpenAPI document. Source: design, "The daemon". */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import { Approval, InputSchema, ToolDescription, ToolResult, ToolStatus } from "@scv/core"
import * as Schema from "effect/Schema"
import { Event } from "./Event.ts"
import { failure } from "./Failure.ts"

/** A closed object: a mistyped field is refused, not ignored. */
const closed = <Fields extends Schema.Struct.Fields>(fields: Fields) =>
  Schema.Struct(fields).annotations({ parseOptions: { onExcessProperty: "error", errors: "all" } })

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

const described = <A, I>(schema: Schema.Schema<A, I>, description: string) =>
  Schema.propertySignature(schema).annotations({ description })

const policy = InputSchema.oneOf(...Approval.ApprovalPolicy.literals)

const decision = InputSchema.oneOf(...Approval.Decision.fields.decision.literals)

/** A moment, in ISO 8601. */
const moment = Schema.String

export const Health = Schema.Struct({
  status: Schema.Literal("ok", "draining"),
  version: Schema.String,
  pid: Schema.Number,
  started_at: moment,
  sessions: Schema.Number,
  approvals: Schema.Number
})

export type Health = typeof Health.Type

export const SessionInfo = Schema.Struct({
  session_id: Schema.String,
  workspace: Schema.String,
  policy: Approval.ApprovalPolicy,
  opened_at: moment,
  /** The ids of the calls that have not ended, oldest first. */
  live: Schema.Array(Schema.String)
})

export type SessionInfo = typeof SessionInfo.Type

export const CallState = Schema.Literal("waiting", "asking", "running", "ended")

export type CallState = typeof CallState.Type

const callFields = {
  call_id: Schema.String,
  tool: Schema.String,
  state: CallState,
  submitted_at: moment,
  status: optional(ToolStatus)
}

export const CallSummary = Schema.Struct(callFields)

export type CallSummary = typeof CallSummary.Type

/** A call, with its envelope once it has ended. */
export const CallInfo = Schema.Struct({ ...callFields, result: optional(ToolResult) })

export type CallInfo = typeof CallInfo.Type

/** A question that waits for an answer. */
export const PendingApproval = Schema.Struct({
  session_id: Schema.String,
  ...Approval.ApprovalRequest.fields,
  asked_at: moment,
  /** When it counts as denied. */
  expires_at: moment
})

export type PendingApproval = typeof PendingApproval.Type

/** What is recorded of a call, as `scv audit --json` shows it. What its first entry tells may not be kept any more. */
export const AuditRecord = Schema.Struct({
  session: Schema.String,
  serial: Schema.Number,
  status: Schema.Union(ToolStatus, Schema.Literal("unfinished")),
  time: optional(moment),
  call_id: optional(Schema.String),
  tool: optional(Schema.String),
  surface: optional(Schema.String),
  workspace: optional(Schema.String),
  policy: optional(Approval.ApprovalPolicy),
  risk: optional(Approval.ApprovalRequest.fields.risk),
  plan: optional(Schema.Unknown),
  digest: optional(Schema.String),
  decision: optional(Approval.Decision),
  error: optional(Schema.Unknown),
  result: optional(Schema.Unknown),
  duration_ms: optional(Schema.Number)
})

const sessionId = HttpApiSchema.param("session", Schema.String)
const callId = HttpApiSchema.param("call", Schema.String)
const approvalId = HttpApiSchema.param("approval", Schema.String)

const workspace = described(InputSchema.text, "The absolute path of the directory to work in.")

const server = HttpApiGroup.make("server")
  .add(
    HttpApiEndpoint.get("health", "/v1/health")
      .addSuccess(Health)
      .annotate(OpenApi.Summary, "Whether the daemon runs, and what it has to do.")
  )
  .add(
    HttpApiEndpoint.get("tools", "/v1/tools")
      .setUrlParams(closed({ workspace }))
      .addSuccess(Schema.Struct({ tools: Schema.Array(ToolDescription.ToolDescription) }))
      .annotate(OpenApi.Summary, "The tools that a session in a workspace offers.")
  )

const sessions = HttpApiGroup.make("sessions")
  .add(
    HttpApiEndpoint.post("open", "/v1/sessions")
      .setPayload(
        closed({
          workspace,
          policy: optional(policy).annotations({
            description: "What is asked about. Default: the configured policy."
          })
        })
      )
      .addSuccess(Schema.Struct({ session_id: Schema.String }))
      .annotate(OpenApi.Summary, "Opens a session in a workspace.")
  )
  .add(
    HttpApiEndpoint.get("list", "/v1/sessions")
      .addSuccess(Schema.Struct({ sessions: Schema.Array(SessionInfo) }))
      .annotate(OpenApi.Summary, "The sessions that are open, oldest first.")
  )
  .add(
    HttpApiEndpoint.get("get")`/v1/sessions/${sessionId}`
      .addSuccess(SessionInfo)
      .annotate(OpenApi.Summary, "One session.")
  )
  .add(
    HttpApiEndpoint.del("close")`/v1/sessions/${sessionId}`
      .addSuccess(Schema.Struct({ session_id: Schema.String }))
      .annotate(
        OpenApi.Summary,
        "Closes a session; its calls are cancelled, and the answer comes when nothing is left."
      )
  )

const calls = HttpApiGroup.make("calls")
  .add(
    HttpApiEndpoint.post("make")`/v1/sessions/${sessionId}/calls`
      .setPayload(
        closed({
          tool: described(Schema.String, "The name of the tool."),
          input: optional(Schema.Unknown).annotations({ description: "What the tool takes. Default: {}." }),
          detach: optional(Schema.Boolean).annotations({
            description: "Answers with the call's id at once; the call outlives the connection."
          })
        })
      )
      .addSuccess(Schema.Union(ToolResult, Schema.Struct({ call_id: Schema.String })))
      .annotate(OpenApi.Summary, "Makes a call and waits for its envelope; leaving cancels it, unless it is detached.")
  )
  .add(
    HttpApiEndpoint.get("list")`/v1/sessions/${sessionId}/calls`
      .addSuccess(Schema.Struct({ calls: Schema.Array(CallSummary) }))
      .annotate(OpenApi.Summary, "The calls of a session that are live, and the last ones that have ended.")
  )
  .add(
    HttpApiEndpoint.get("get")`/v1/sessions/${sessionId}/calls/${callId}`
      .addSuccess(CallInfo)
      .annotate(OpenApi.Summary, "One call, with its envelope once it has ended.")
  )
  .add(
    HttpApiEndpoint.del("cancel")`/v1/sessions/${sessionId}/calls/${callId}`
      .addSuccess(Schema.Struct({ call_id: Schema.String }))
      .annotate(OpenApi.Summary, "Cancels a call; once more ends what is left of it at once.")
  )

const approvals = HttpApiGroup.make("approvals")
  .add(
    HttpApiEndpoint.get("list", "/v1/approvals")
      .addSuccess(Schema.Struct({ approvals: Schema.Array(PendingApproval) }))
      .annotate(OpenApi.Summary, "The questions that wait for an answer, oldest first, each with its whole plan.")
  )
  .add(
    HttpApiEndpoint.post("answer")`/v1/approvals/${approvalId}`
      .setPayload(
        closed({
          decision,
          reason: optional(Schema.String.pipe(Schema.maxLength(1000)))
        })
      )
      .addSuccess(Schema.Struct({ approval_id: Schema.String, ...Approval.Decision.fields }))
      .annotate(OpenApi.Summary, "Answers a question. The first answer wins.")
  )

const events = HttpApiGroup.make("events").add(
  HttpApiEndpoint.get("subscribe", "/v1/events")
    .setUrlParams(closed({ session: optional(Schema.String) }))
    .setHeaders(Schema.Struct({ "last-event-id": optional(Schema.String) }))
    .addSuccess(HttpApiSchema.Text({ contentType: "text/event-stream" }))
    .annotate(
      OpenApi.Summary,
      "Server-sent events, each with JSON as its data: see the schema Event. Last-Event-ID resumes after an event."
    )
)

const page = HttpApiGroup.make("page")
  .add(
    HttpApiEndpoint.post("open", "/v1/page")
      .setPayload(closed({}))
      .addSuccess(Schema.Struct({ url: Schema.String, expires_at: moment }))
      .annotate(OpenApi.Summary, "Gives an address of the page that signs a browser in, once, within a minute.")
  )
  .add(
    HttpApiEndpoint.get("audit", "/v1/audit")
      .setUrlParams(
        closed({
          session: optional(Schema.String),
          tool: optional(Schema.String),
          text: optional(Schema.String.pipe(Schema.maxLength(1000))).annotations({
            description: "Looked for anywhere in the record, whatever its case."
          }),
          limit: optional(Schema.NumberFromString.pipe(Schema.int(), Schema.between(1, 1000))).annotations({
            description: "How many at most, from 1 to 1000. Default: 100."
          })
        })
      )
      .addSuccess(Schema.Struct({ records: Schema.Array(AuditRecord) }))
      .annotate(OpenApi.Summary, "The record of all calls, newest first: at most 8 MiB of it.")
  )

const notice = `Over the Unix socket no token is needed; over loopback TCP it is the one in $SCV_HOME/state/token.
A body is application/json. Whatever a call comes to is an envelope with status 200; 4xx and 5xx mean that there was no call.`

type Document = Record<string, unknown>

const isDocument = (node: unknown): node is Document => typeof node === "object" && node !== null

const isForeign = (node: unknown): boolean =>
  isDocument(node) && typeof node.$ref === "string" && node.$ref.endsWith("/HttpApiDecodeError")

/** Leaves out the library's own error, whose place is taken by ours, and its name for any JSON. */
const tidy = (node: unknown): unknown => {
  if (Array.isArray(node)) return node.filter((item) => !isForeign(item)).map(tidy)
  if (!isDocument(node)) return node
  if (typeof node.$id === "string" && node.$id.startsWith("/schemas/")) return {}
  return Object.fromEntries(Object.entries(node).map(([name, value]) => [name, tidy(value)]))
}

/** Says of the document what the library does not know: there is one shape of errors, and where the token goes. */
const completed = (spec: Document): Document => {
  const { components, paths, ...rest } = tidy(spec) as { components: { schemas: Document }; paths: Document }
  for (const path of Object.values(paths)) {
    for (const operation of Object.values(path as Record<string, Document>)) {
      // An empty list would say that this one needs no token.
      delete operation.security
      const bad = (operation.responses as Record<string, Document>)["400"]
      if (bad !== undefined) bad.description = "refused: the request, or what it names, cannot be used"
    }
  }
  const { HttpApiDecodeError: _, Issue: __, PropertyKey: ___, ...schemas } = components.schemas
  return {
    ...rest,
    paths,
    components: { ...components, schemas, securitySchemes: { token: { type: "http", scheme: "bearer" } } },
    security: [{}, { token: [] }]
  }
}

export const Api = HttpApi.make("scvd")
  .add(server)
  .add(sessions)
  .add(calls)
  .add(approvals)
  .add(events)
  .add(page)
  .addError(failure("invalid_input"))
  .addError(failure("config"))
  .addError(failure("unauthorized"))
  .addError(failure("forbidden"))
  .addError(failure("not_found"))
  .addError(failure("conflict"))
  .addError(failure("too_large"))
  .addError(failure("unsupported_media_type"))
  .addError(failure("limit"))
  .addError(failure("internal"))
  .addError(failure("draining"))
  .annotate(OpenApi.Title, "SCV daemon")
  .annotate(OpenApi.Version, "1")
  .annotate(OpenApi.Description, notice)
  .annotate(HttpApi.AdditionalSchemas, [Event.annotations({ identifier: "Event" })])
  .annotate(OpenApi.Transform, completed)

/** The API as an OpenAPI 3.1 document. */
export const openApi = (): OpenApi.OpenAPISpec => OpenApi.fromApi(Api)
