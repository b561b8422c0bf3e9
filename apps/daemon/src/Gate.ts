/** Who gets in: the one place that looks at Host, Origin, token and content type. Source: design, "The daemon". */
import { createHash, timingSafeEqual } from "node:crypto"
import * as Headers from "@effect/platform/Headers"
import type * as HttpApp from "@effect/platform/HttpApp"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { Display } from "@scv/core"
import { Failure } from "@scv/protocol"
import * as Effect from "effect/Effect"
import * as Answer from "./Answer.ts"
import * as Body from "./Body.ts"
import { Caller } from "./Caller.ts"
import { proofPath } from "./Page.ts"
import type { SignIn } from "./SignIn.ts"

/**
 * A way in: who may connect to the socket is the system's to decide; on loopback TCP anybody may who has the token, or the
 * cookie of a browser that signed in.
 */
export type Way =
  | { readonly _tag: "Unix" }
  | {
      readonly _tag: "Tcp"
      readonly authorities: ReadonlyArray<string>
      readonly token: string
      readonly signIn: typeof SignIn.Service
    }

type Tcp = Extract<Way, { readonly _tag: "Tcp" }>

const refuse = (kind: Failure["kind"], message: string) => Effect.fail(new Failure({ kind, message }))

/** What anybody may ask: it holds nothing that is not in the sources, or proves who answers. */
const isPublic = (path: string): boolean => path === "/docs" || path === "/openapi.json" || path === proofPath

const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest()

const isToken = (header: string | undefined, token: string): boolean => {
  const given = /^bearer +(\S+)$/i.exec(header ?? "")?.[1]
  return given !== undefined && timingSafeEqual(sha256(given), sha256(token))
}

const isJson = (contentType: string | undefined): boolean =>
  /^application\/json *(?:;|$)/i.test((contentType ?? "").trim())

const hasBody = (method: string): boolean => method === "POST" || method === "PUT" || method === "PATCH"

const pathOf = (url: string): string => url.split("?", 1)[0] ?? ""

const isSafe = (method: string): boolean => method === "GET" || method === "HEAD"

/** Cookies know no port: the name keeps those of two daemons apart. */
const cookieName = ({ authorities }: Tcp): string => `scvd-${/\d+$/.exec(authorities[0] ?? "")?.[0] ?? "80"}`

const hasCookie = (way: Tcp, header: string | undefined): Effect.Effect<boolean> =>
  Effect.exists((header ?? "").split(/; */), (pair) => {
    const [name, value = ""] = pair.split("=", 2)
    return name === cookieName(way) ? way.signIn.isCookie(value) : Effect.succeed(false)
  })

/** Who is let in: the page by its cookie, or a client that has the token or opened the socket. */
type Admitted = "client" | "page"

/** What the request says of itself: by whom it was made, and for which name of this machine. */
const checkPlace = (way: Way, { host = "", origin, ...headers }: Headers.Headers): Effect.Effect<void, Failure> => {
  if (way._tag === "Unix") {
    return origin === undefined ? Effect.void : refuse("forbidden", "the socket answers no web page")
  }
  // A name that somebody else's resolver gives to this machine is none of these.
  if (!way.authorities.includes(host)) {
    return refuse(
      "forbidden",
      `Host: expected ${way.authorities.join(" or ")}, got ${JSON.stringify(Display.bounded(host, 100))}`
    )
  }
  const site = headers["sec-fetch-site"] ?? "none"
  return (origin === undefined || origin === `http://${host}`) && (site === "none" || site === "same-origin")
    ? Effect.void
    : refuse("forbidden", "a web page of another origin may not ask")
}

const check = (
  way: Way,
  { headers, method, url }: HttpServerRequest.HttpServerRequest
): Effect.Effect<Admitted, Failure> =>
  Effect.gen(function* () {
    yield* checkPlace(way, headers)
    const needsSecret = way._tag === "Tcp" && !isPublic(pathOf(url)) && ticketOf(method, url) === undefined
    const isPage = needsSecret && !isToken(headers.authorization, way.token)
    if (isPage) {
      if (!(yield* hasCookie(way, headers.cookie))) return yield* refuse("unauthorized", unauthorized)
      // Old browsers do not say so in Sec-Fetch-Site.
      if (!isSafe(method) && headers.origin === undefined) {
        return yield* refuse("forbidden", "with a cookie, expected the header Origin of the page itself")
      }
    }
    if (hasBody(method) && !isJson(headers["content-type"])) {
      const got = Display.bounded(headers["content-type"] ?? "nothing", 100)
      return yield* refuse("unsupported_media_type", `Content-Type: expected application/json, got ${got}`)
    }
    return isPage ? "page" : "client"
  })

const unauthorized =
  "expected the header Authorization: Bearer with the token in $SCV_HOME/state/token; in a browser, the address that " +
  "scv daemon open gives"

/** The ticket of a one-time address. */
const ticketOf = (method: string, url: string): string | undefined =>
  method === "GET" && url.startsWith("/?ticket=") ? url.slice("/?ticket=".length) : undefined

/** Trades a ticket for a cookie, and goes on to an address without it. */
const signIn = (way: Tcp, ticket: string, cookies: string | undefined) =>
  Effect.gen(function* () {
    const cookie = yield* way.signIn.trade(ticket)
    const home = HttpServerResponse.empty({ status: 303, headers: Headers.fromInput({ location: "/" }) })
    if (cookie !== undefined) {
      const value = `${cookieName(way)}=${cookie}; Path=/; HttpOnly; SameSite=Strict`
      return HttpServerResponse.setHeader(home, "set-cookie", value)
    }
    // Whoever goes back to it is signed in already.
    const isSignedIn = yield* hasCookie(way, cookies)
    return isSignedIn ? home : signInText("This address was used already, or is older than a minute.")
  })

const signInText = (why: string) =>
  HttpServerResponse.text(`${why}\n\nscv daemon open gives a new one.\n`, { status: 401 })

/** A browser sends no cookie along with a link of somebody else's, and takes none. */
const linkedText = HttpServerResponse.text(
  "A link on another page does not open this one. Copy the address into the browser's own address bar.\n",
  { status: 403 }
)

const surfaceOf = (way: Way, admitted: Admitted, agent: string | undefined): string =>
  admitted === "page"
    ? "the page, over loopback TCP"
    : `${agent === undefined ? "a client without a name" : Display.bounded(agent, 64)}, over ${way._tag === "Unix" ? "the socket" : "loopback TCP"}`

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
      const { headers, method, url } = request
      const checked = yield* Effect.either(check(way, request))
      if (checked._tag === "Left") {
        const isFront = way._tag === "Tcp" && isSafe(method) && pathOf(url) === "/"
        if (isFront && checked.left.kind === "unauthorized")
          return signInText("This page opens by an address of its own.")
        if (isFront && way.authorities.includes(headers.host ?? "")) return linkedText
        return yield* checked.left
      }
      const admitted = checked.right
      const ticket = ticketOf(method, url)
      if (way._tag === "Tcp" && ticket !== undefined) return yield* signIn(way, ticket, headers.cookie)
      const surface = surfaceOf(way, admitted, headers["user-agent"])
      if (!hasBody(request.method)) return yield* Effect.provideService(app, Caller, { surface, bytes: 0 })
      const { bytes, json } = yield* Body.read(request)
      return yield* app.pipe(
        Effect.provideService(Caller, { surface, bytes }),
        Effect.provideService(HttpServerRequest.HttpServerRequest, withBody(request, json))
      )
    }).pipe(Effect.catchAllCause(Answer.ofCause), Effect.map(HttpServerResponse.setHeaders(policy)))
