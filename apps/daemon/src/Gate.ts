/** Who gets in: the one place that looks at Host, Origin, token and content type. Source: design, "The daemon". */
import { createHash, timingSafeEqual } from "node:crypto"
import type * as HttpApp from "@effect/platform/HttpApp"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { Display } from "@scv/core"
import { Failure } from "@scv/protocol"
import * as Effect from "effect/Effect"
import * as Answer from "./Answer.ts"
import * as Body from "./Body.ts"
import { Caller } from "./Caller.ts"

/** A way in: who may connect to the socket is the system's to decide; on loopback TCP anybody may who has the token. */
export type Way =
  | { readonly _tag: "Unix" }
  | { readonly _tag: "Tcp"; readonly authorities: ReadonlyArray<string>; readonly token: string }

const refuse = (kind: Failure["kind"], message: string) => Effect.fail(new Failure({ kind, message }))

/** What holds nothing that is not in the sources. */
const isPublic = (path: string): boolean => path === "/docs" || path === "/openapi.json"

const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest()

const isToken = (header: string | undefined, token: string): boolean => {
  const given = /^bearer +(\S+)$/i.exec(header ?? "")?.[1]
  return given !== undefined && timingSafeEqual(sha256(given), sha256(token))
}

const isJson = (contentType: string | undefined): boolean =>
  /^application\/json *(?:;|$)/i.test((contentType ?? "").trim())

const hasBody = (method: string): boolean => method === "POST" || method === "PUT" || method === "PATCH"

const pathOf = (url: string): string => url.split("?", 1)[0] ?? ""

const check = (
  way: Way,
  { headers, method, url }: HttpServerRequest.HttpServerRequest
): Effect.Effect<void, Failure> => {
  const { origin } = headers
  if (way._tag === "Unix") {
    if (origin !== undefined) return refuse("forbidden", "the socket answers no web page")
  } else {
    const host = headers.host ?? ""
    // A name that somebody else's resolver gives to this machine is none of these.
    if (!way.authorities.includes(host)) {
      return refuse(
        "forbidden",
        `Host: expected ${way.authorities.join(" or ")}, got ${JSON.stringify(Display.bounded(host, 100))}`
      )
    }
    const site = headers["sec-fetch-site"] ?? "none"
    if ((origin !== undefined && origin !== `http://${host}`) || (site !== "none" && site !== "same-origin")) {
      return refuse("forbidden", "a web page of another origin may not ask")
    }
    if (!isPublic(pathOf(url)) && !isToken(headers.authorization, way.token)) {
      return refuse("unauthorized", "expected the header Authorization: Bearer with the token in $SCV_HOME/state/token")
    }
  }
  if (hasBody(method) && !isJson(headers["content-type"])) {
    const got = Display.bounded(headers["content-type"] ?? "nothing", 100)
    return refuse("unsupported_media_type", `Content-Type: expected application/json, got ${got}`)
  }
  return Effect.void
}

const surfaceOf = (way: Way, agent: string | undefined): string =>
  `${agent === undefined ? "a client without a name" : Display.bounded(agent, 64)}, over ${way._tag === "Unix" ? "the socket" : "loopback TCP"}`

/** The request with its body read already. */
const withBody = (request: HttpServerRequest.HttpServerRequest, json: unknown): HttpServerRequest.HttpServerRequest =>
  Object.create(request, { json: { value: Effect.succeed(json) } })

const policy = {
  "x-content-type-options": "nosniff",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer"
}

/** Lets a request of this way in to `app`, or refuses it; answers every failure in the one shape. */
export const guarded =
  (way: Way) =>
  <E, R>(app: HttpApp.Default<E, R>): HttpApp.Default<never, R> =>
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      yield* check(way, request)
      const surface = surfaceOf(way, request.headers["user-agent"])
      if (!hasBody(request.method)) return yield* Effect.provideService(app, Caller, { surface, bytes: 0 })
      const { bytes, json } = yield* Body.read(request)
      return yield* app.pipe(
        Effect.provideService(Caller, { surface, bytes }),
        Effect.provideService(HttpServerRequest.HttpServerRequest, withBody(request, json))
      )
    }).pipe(Effect.catchAllCause(Answer.ofCause), Effect.map(HttpServerResponse.setHeaders(policy)))
