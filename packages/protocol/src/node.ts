/** How a program on Node reaches the daemon: over its Unix socket, or over loopback TCP with the token. */
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { client, Daemon } from "./Client.ts"

/** Where a daemon listens: an absolute path of a Unix socket, or a URL such as `http://127.0.0.1:4150` and the token. */
export type Where = { readonly socket: string } | { readonly url: string; readonly token: string }

/** A client of the daemon there. `agent` names the caller: decisions are recorded under it. */
export const layer = (where: Where, agent: string): Layer.Layer<Daemon> => {
  const base = "socket" in where ? "http://localhost" : where.url
  const authorized = "socket" in where ? HttpClientRequest.setHeaders({}) : HttpClientRequest.bearerToken(where.token)
  // Node's agent hands all of its options to net.connect; its type names only some.
  const agentOptions: object = "socket" in where ? { socketPath: where.socket } : {}
  return Layer.effect(
    Daemon,
    Effect.flatMap(HttpClient.HttpClient, (http) =>
      client(agent).pipe(
        Effect.provideService(
          HttpClient.HttpClient,
          HttpClient.mapRequest(http, (request) => authorized(HttpClientRequest.prependUrl(request, base)))
        )
      )
    )
  ).pipe(Layer.provide(NodeHttpClient.layerWithoutAgent), Layer.provide(NodeHttpClient.makeAgentLayer(agentOptions)))
}
