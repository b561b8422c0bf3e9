/** `/mcp`: sessions served over the Model Context Protocol. Who may come in is for the gate to say, as of all else. */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { Failure } from "@scv/protocol"
import { Configuration } from "@scv/runtime"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { Caller } from "./Caller.ts"
import { Sessions } from "./Sessions.ts"
import { version } from "./version.ts"

const unnamed = new Failure({
  kind: "invalid_input",
  message: "workspace: expected a directory in the URL, as in /mcp?workspace=/home/you/project"
})

const hasBody = (method: string): boolean => method === "POST"

export const layer = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function* () {
    const sessions = yield* Sessions
    const { values } = yield* Configuration.Configuration

    const open = ({ url }: Request) =>
      Effect.gen(function* () {
        const workspace = new URL(url).searchParams.get("workspace")
        if (workspace === null || workspace === "") return yield* unnamed
        return yield* sessions.serve(workspace, { surface: "scvd mcp", by: (yield* Caller).surface })
      })

    // Loaded for the first client, by a fiber of the daemon's own: most daemons have none.
    const isWanted = yield* Deferred.make<void>()
    const loading = yield* Effect.forkScoped(
      Effect.gen(function* () {
        yield* Deferred.await(isWanted)
        const { Http } = yield* Effect.promise(() => import("@scv/mcp"))
        return yield* Http.make({
          version,
          questionSeconds: values.approvals.timeout_seconds,
          // It stays in the list of questions.
          unaskable: undefined,
          open
        })
      })
    )
    const handler = Effect.zipRight(
      Deferred.succeed(isWanted, undefined),
      Effect.flatMap(Fiber.await(loading), (exit) => exit)
    )

    yield* router.all(
      "/mcp",
      Effect.gen(function* () {
        const { headers, json, method, url } = yield* HttpServerRequest.HttpServerRequest
        const handle = yield* handler
        const request = new Request(new URL(url, "http://localhost"), { method, headers: new Headers(headers) })
        return HttpServerResponse.fromWeb(yield* handle(request, hasBody(method) ? yield* json : undefined))
      })
    )
  })
)
