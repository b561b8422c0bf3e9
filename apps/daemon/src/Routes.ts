/** The endpoints of the API, each a few lines over the services. */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Display, ToolDescription, ToolRegistry } from "@scv/core"
import { Api, Failure } from "@scv/protocol"
import { LocalSession, type Machine, type OfferedTool } from "@scv/runtime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { Approvals } from "./Approvals.ts"
import { Caller } from "./Caller.ts"
import * as Door from "./Door.ts"
import { Events } from "./Events.ts"
import * as History from "./History.ts"
import { isoOf } from "./iso.ts"
import { absolute, Sessions } from "./Sessions.ts"
import { SignIn } from "./SignIn.ts"
import { version } from "./version.ts"

const server = (offered: ReadonlyArray<OfferedTool>) =>
  HttpApiBuilder.group(Api, "server", (handlers) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const approvals = yield* Approvals
      const machine = yield* Effect.context<Machine.Machine>()
      const startedAt = isoOf(Date.now())
      return handlers
        .handle("health", () =>
          Effect.gen(function* () {
            return {
              status: (yield* sessions.isDraining) ? ("draining" as const) : ("ok" as const),
              version,
              pid: process.pid,
              started_at: startedAt,
              sessions: (yield* sessions.list).length,
              approvals: (yield* approvals.list).length
            }
          })
        )
        .handle("tools", ({ urlParams }) =>
          Effect.gen(function* () {
            const workspace = yield* absolute(urlParams.workspace)
            const { tools } = yield* ToolRegistry.ToolRegistry.pipe(
              Effect.provide(LocalSession.layer({ workspace, workspaceName: "workspace" }, offered)),
              Effect.provide(machine),
              Effect.mapError(({ kind, message }) => new Failure({ kind, message: Display.bounded(message, 2000) }))
            )
            return { tools: yield* Effect.forEach(tools, ToolDescription.describe) }
          })
        )
    })
  )

const sessions = HttpApiBuilder.group(Api, "sessions", (handlers) =>
  Effect.map(Sessions, (sessions) =>
    handlers
      .handle("open", ({ payload: { policy, workspace } }) => sessions.open(workspace, policy))
      .handle("list", () => Effect.map(sessions.list, (list) => ({ sessions: list })))
      .handle("get", ({ path: { session } }) => sessions.get(session))
      .handle("close", ({ path: { session } }) => Effect.as(sessions.close(session), { session_id: session }))
  )
)

const calls = HttpApiBuilder.group(Api, "calls", (handlers) =>
  Effect.map(Sessions, (sessions) =>
    handlers
      .handle("make", ({ path: { session }, payload: { detach = false, input = {}, tool } }) =>
        Effect.flatMap(Caller, ({ bytes }) => {
          const request = { tool, input, bytes }
          return detach
            ? Effect.map(sessions.detach(session, request), (call_id) => ({ call_id }))
            : sessions.call(session, request)
        })
      )
      .handle("list", ({ path: { session } }) => Effect.map(sessions.calls(session), (list) => ({ calls: list })))
      .handle("get", ({ path: { call, session } }) => sessions.getCall(session, call))
      .handle("cancel", ({ path: { call, session } }) => Effect.as(sessions.cancel(session, call), { call_id: call }))
  )
)

const approvals = HttpApiBuilder.group(Api, "approvals", (handlers) =>
  Effect.map(Approvals, (approvals) =>
    handlers
      .handle("list", () => Effect.map(approvals.list, (list) => ({ approvals: list })))
      .handle("answer", ({ path: { approval }, payload: { decision, reason } }) =>
        Effect.gen(function* () {
          const { surface } = yield* Caller
          const said = { decision, by: surface, ...(reason === undefined ? {} : { reason }) }
          return { approval_id: approval, ...(yield* approvals.answer(approval, said)) }
        })
      )
  )
)

/** How long a reader that was sent away has to read why; one that is stuck is cut off then. */
const patience = "5 seconds"

const events = HttpApiBuilder.group(Api, "events", (handlers) =>
  Effect.gen(function* () {
    const events = yield* Events
    const sessions = yield* Sessions
    return handlers.handle("subscribe", ({ headers, request, urlParams: { session } }) =>
      Effect.gen(function* () {
        if (session !== undefined) yield* sessions.get(session)
        const { frames, sentAway } = yield* events.subscribe({ session, after: headers["last-event-id"] })
        const connection = NodeHttpServerRequest.toServerResponse(request)
        const cut = Effect.delay(
          Effect.sync(() => connection.destroy()),
          patience
        )
        yield* Effect.forkScoped(Effect.zipRight(sentAway, cut))
        return HttpServerResponse.stream(Stream.encodeText(frames), { contentType: "text/event-stream" })
      })
    )
  })
)

const page = HttpApiBuilder.group(Api, "page", (handlers) =>
  Effect.gen(function* () {
    const door = yield* Door.Door
    const signIn = yield* SignIn
    return handlers
      .handle("open", () =>
        Effect.gen(function* () {
          const authority = yield* Effect.provideService(Door.open, Door.Door, door)
          const { expiresAt, ticket } = yield* signIn.issue
          return { url: `http://${authority}/?ticket=${ticket}`, expires_at: isoOf(expiresAt) }
        })
      )
      .handle("audit", ({ urlParams }) => Effect.map(History.search(urlParams), (records) => ({ records })))
  })
)

/** All of them, with the tools that sessions offer. */
export const layer = (tools: ReadonlyArray<OfferedTool>) =>
  Layer.mergeAll(server(tools), sessions, calls, approvals, events, page)
