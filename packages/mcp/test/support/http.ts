import * as http from "node:http"
import type { AddressInfo } from "node:net"
import * as HttpServer from "@effect/platform/HttpServer"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { NodeHttpServer } from "@effect/platform-node"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { Http } from "../../src/index.ts"
import { settings } from "./served.ts"

export type Open = Http.Options["open"]

/** A server on a real socket, as the daemon mounts one. */
export const listen = (open: Open, options: Partial<Http.Options> = {}): Effect.Effect<URL, never, Scope.Scope> =>
  Effect.gen(function* () {
    const handle = yield* Http.make({ ...settings, ...options, open })
    const node = http.createServer()
    const app = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      return HttpServerResponse.fromWeb(yield* handle(yield* HttpServerRequest.toWeb(request)))
    })
    const server = HttpServer.serve(app).pipe(
      Layer.provide(NodeHttpServer.layer(() => node, { host: "127.0.0.1", port: 0 }))
    )
    yield* Layer.build(server)
    // Clients keep their connections; the server's end waits for them.
    yield* Effect.addFinalizer(() => Effect.sync(() => node.closeAllConnections()))
    return new URL(`http://127.0.0.1:${(node.address() as AddressInfo).port}/mcp`)
  }).pipe(Effect.orDie)
