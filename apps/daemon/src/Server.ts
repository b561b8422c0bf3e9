/** Node's HTTP server, held to bounds, over the application. */
import * as http from "node:http"
import type { Duplex } from "node:stream"
import type * as HttpApp from "@effect/platform/HttpApp"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { bodyOf, Failure, httpStatus } from "@scv/protocol"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Bounds from "./Bounds.ts"
import { guarded, type Way } from "./Gate.ts"

const failures: Record<string, Failure> = {
  HPE_HEADER_OVERFLOW: new Failure({ kind: "too_large", message: "the head of the request is too large" }),
  ERR_HTTP_REQUEST_TIMEOUT: new Failure({ kind: "invalid_input", message: "the request did not come in whole in time" })
}

const noHttp = new Failure({ kind: "invalid_input", message: "this is no HTTP request" })

const refusal = (code: string | undefined): string => {
  const failure = failures[code ?? ""] ?? noHttp
  const body = JSON.stringify(bodyOf(failure))
  const status = httpStatus(failure.kind)
  return [
    `HTTP/1.1 ${status} ${http.STATUS_CODES[status]}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
    "",
    body
  ].join("\r\n")
}

/** A server whose requests come by one way; nothing listens yet. The way may be known later than the server. */
export const make = <E, R>(app: HttpApp.Default<E, R>, way: () => Way) =>
  Effect.gen(function* () {
    const server = http.createServer({
      // The gate looks at it.
      requireHostHeader: false,
      headersTimeout: 10_000,
      requestTimeout: 60_000,
      keepAliveTimeout: 60_000,
      connectionsCheckingInterval: 5_000
    })
    server.maxConnections = Bounds.connections
    const handler = yield* NodeHttpServer.makeHandler(Effect.suspend(() => guarded(way())(app)))
    server.on("request", handler)
    // A client that expects what there is not is answered all the same.
    server.on("checkExpectation", handler)
    server.on("clientError", (error: NodeJS.ErrnoException, socket: Duplex) => {
      if (error.code === "ECONNRESET" || !socket.writable) socket.destroy()
      else socket.end(refusal(error.code))
    })
    return server
  })

const isQuiet = (server: http.Server): Effect.Effect<boolean> =>
  Effect.async<boolean>((resume) => {
    server.closeIdleConnections()
    server.getConnections((error, count) => resume(Effect.succeed(error !== null || count === 0)))
  })

/** Waits until the last answer is given by servers that listen no more, but not for long; then cuts off who is left. */
export const goodbye = (servers: ReadonlyArray<http.Server>): Effect.Effect<void> =>
  Effect.forEach(
    servers,
    (server) =>
      Effect.repeat(isQuiet(server), { until: (quiet) => quiet, schedule: Schedule.spaced("10 millis") }).pipe(
        Effect.timeout(`${Bounds.goodbyeSeconds} seconds`),
        Effect.ignore,
        Effect.ensuring(Effect.sync(() => server.closeAllConnections()))
      ),
    { concurrency: "unbounded", discard: true }
  )
