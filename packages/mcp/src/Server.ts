/** A session behind the protocol's own server, whatever carries the messages and whichever version the client speaks. */
import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  createRequestStateCodec,
  inputRequired,
  type JSONRPCRequest,
  ProtocolError,
  ProtocolErrorCode,
  type RequestStateCodec,
  type Result,
  Server,
  type ServerContext
} from "@modelcontextprotocol/server"
import { type Approval, Display, type Session } from "@scv/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Bridge from "./Bridge.ts"
import * as CallAnswer from "./CallAnswer.ts"
import * as Calls from "./Calls.ts"
import * as Progress from "./Progress.ts"
import * as Question from "./Question.ts"
import * as ToolList from "./ToolList.ts"

export interface Options {
  /** The version that the server names as its own. */
  readonly version: string
  /** How long a question to the client waits for its answer, in seconds. */
  readonly questionSeconds: number
  /**
   * Why a question is denied that the client cannot be asked, and what would allow the call. Where undefined, the
   * question stays open until somebody else answers it.
   */
  readonly unaskable: string | undefined
}

/** What all connections of one endpoint have in common. */
export interface Endpoint {
  readonly options: Options
  readonly codec: RequestStateCodec<Question.Asked>
  /** Takes the answer to a question of an earlier round: false where there was one already. */
  readonly take: (asked: Question.Asked) => Effect.Effect<boolean>
}

/** An endpoint with a key of its own, so that no other process takes what this one signed. */
export const endpoint = (options: Options): Effect.Effect<Endpoint> =>
  Effect.sync(() => {
    // By nonce, with when each may be forgotten, oldest first: the codec takes no question that is that old.
    const taken = new Map<string, number>()
    return {
      options,
      codec: createRequestStateCodec<Question.Asked>({
        key: crypto.getRandomValues(new Uint8Array(32)),
        ttlSeconds: options.questionSeconds
      }),
      take: ({ nonce }) =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          for (const [old, expires] of taken) {
            if (expires > now) break
            taken.delete(old)
          }
          if (taken.has(nonce)) return false
          taken.set(nonce, now + (options.questionSeconds + 1) * 1000)
          return true
        })
    }
  })

/** What the server knows of the connection that it serves. */
export interface Connection {
  /** `modern`: each request says what its client can, and a question is a round of its own (since 2026-07-28). */
  readonly era: "legacy" | "modern"
  /** Waits until the client can answer no question any more. */
  readonly clientGone: Effect.Effect<void>
}

/** The name under which the question of a call travels. */
const question = "approval"

/** A client that names no mode takes forms. Source: MCP, "Elicitation", capabilities. */
const takesForms = (capabilities: ClientCapabilities | undefined): boolean => {
  const elicitation = capabilities?.elicitation
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)
}

/** What the client says of itself in a request, which the library's own type leaves open. */
const declaredIn = ({ mcpReq }: ServerContext): ClientCapabilities | undefined =>
  (mcpReq.envelope as { readonly [CLIENT_CAPABILITIES_META_KEY]?: ClientCapabilities } | undefined)?.[
    CLIENT_CAPABILITIES_META_KEY
  ]

const gone: Approval.Decision = { decision: "deny", reason: "the client is gone", by: "end of input" }

/** A request is over when the client cancels it, when its connection closes, and when its HTTP exchange is broken off. */
const signalOf = ({ http, mcpReq }: ServerContext): AbortSignal =>
  http?.req === undefined ? mcpReq.signal : AbortSignal.any([mcpReq.signal, http.req.signal])

type Handler = (request: JSONRPCRequest, context: ServerContext) => Promise<Result>

const Report = Schema.parseJson(
  Schema.Array(
    Schema.Struct({ path: Schema.Array(Schema.Union(Schema.String, Schema.Number)), message: Schema.String })
  )
)

const decodeReport = Schema.decodeUnknownOption(Report)

/** A request whose parameters the library could not take, with its report of many lines put on one. */
const told = (method: string, error: unknown): unknown => {
  if (!(error instanceof Error)) return error
  const report = decodeReport(error.message.slice(Math.max(0, error.message.indexOf("["))))
  if (Option.isNone(report)) return error
  const faults = report.value.map(({ message, path }) => `${path.join(".")}: ${message}`)
  return new ProtocolError(ProtocolErrorCode.InvalidParams, Display.bounded(`${method}: ${faults.join("; ")}`, 500))
}

// The class for tools that change and schemas that are not zod's; the library's other one is built on it.
class ToolServer extends Server {
  protected override _wrapHandler(method: string, handler: Handler): Handler {
    const wrapped = super._wrapHandler(method, handler)
    return (request, context) =>
      wrapped(request, context).catch((error) => {
        throw told(method, error)
      })
  }
}

/** A server for one connection. */
export const make = (
  session: Session.Session,
  { codec, options, take }: Endpoint,
  { clientGone, era }: Connection
): Effect.Effect<Server> =>
  Effect.gen(function* () {
    const bridge = yield* Bridge.make
    const server = new ToolServer(
      { name: "scv", title: "SCV", version: options.version },
      {
        capabilities: { tools: {} },
        instructions: `The tools work in ${Display.inline(session.workspace)}. What could do harm is asked about before it runs.`,
        requestState: { verify: codec.verify }
      }
    )
    server.onerror = (error) => {
      bridge.start(Effect.logDebug(`mcp: ${Display.bounded(error.message, 300)}`))
    }

    const unasked: Effect.Effect<Calls.Reply> = Effect.succeed(
      options.unaskable === undefined
        ? "left open"
        : { decision: "deny", reason: options.unaskable, by: "no elicitation" }
    )

    /** Asks during the call, as the protocol did before 2026-07-28. */
    const push = (request: Approval.ApprovalRequest, context: ServerContext): Effect.Effect<Calls.Reply> =>
      Effect.tryPromise((signal) =>
        context.mcpReq.send(
          { method: "elicitation/create", params: Question.elicitation(request) },
          { signal, timeout: options.questionSeconds * 1000 }
        )
      ).pipe(
        Effect.map(Question.decisionOf),
        Effect.catchAll(() => unanswered),
        Effect.raceFirst(Effect.as(clientGone, gone))
      )

    const unanswered: Effect.Effect<Calls.Reply> = Effect.succeed(
      options.unaskable === undefined
        ? "left open"
        : {
            decision: "deny",
            reason: `the client gave no answer within ${options.questionSeconds} s, or could not show the question`,
            by: "client"
          }
    )

    const decide =
      (context: ServerContext, asked: Question.Asked | undefined) =>
      (request: Approval.ApprovalRequest): Effect.Effect<Calls.Reply> => {
        if (era === "legacy") {
          return takesForms(server.getClientCapabilities()) ? push(request, context) : unasked
        }
        if (asked !== undefined) return Effect.succeed(Question.approvalOf(asked, request))
        return takesForms(declaredIn(context)) ? Effect.succeed("ask in a round") : unasked
      }

    const tellOf = (context: ServerContext) => {
      const token = context.mcpReq._meta?.progressToken
      if (token === undefined) return Effect.succeed(() => Effect.void)
      return Progress.make((progress, message) =>
        Effect.ignore(
          Effect.tryPromise(() =>
            context.mcpReq.notify({
              method: "notifications/progress",
              params: { progressToken: token, progress, message }
            })
          )
        )
      )
    }

    const callTool = (tool: string, input: unknown, context: ServerContext) =>
      Effect.gen(function* () {
        const asked = context.mcpReq.requestState<Question.Asked>()
        const answer = context.mcpReq.inputResponses?.[question]
        const isAnswered = asked !== undefined && answer !== undefined
        if (isAnswered) {
          if (!(yield* take(asked))) return CallAnswer.of(Question.refusalOf(asked, Question.usedAlready))
          const { decision, reason } = Question.decisionOf(answer)
          if (decision === "deny") return CallAnswer.of(Question.refusalOf(asked, reason))
        }
        const tell = yield* tellOf(context)
        const ending = yield* Calls.call(
          session,
          { tool, input },
          { decide: decide(context, isAnswered ? asked : undefined), tell }
        )
        if (!("round" in ending)) return CallAnswer.of(ending)
        const requestState = yield* Effect.promise(() => codec.mint(Question.askedOf(ending.round)))
        return inputRequired({
          inputRequests: { [question]: inputRequired.elicit(Question.elicitation(ending.round)) },
          requestState
        })
      }).pipe(Effect.scoped)

    server.setRequestHandler("tools/list", () =>
      bridge.promise(Effect.map(ToolList.list(session), (tools) => ({ tools })))
    )
    server.setRequestHandler("tools/call", ({ params }, context) =>
      bridge.promise(callTool(params.name, params.arguments ?? {}, context), signalOf(context))
    )
    return server
  })
