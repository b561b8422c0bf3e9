/** The page for people: files that the build puts into the program. Nothing on it asks another machine. */
import * as Headers from "@effect/platform/Headers"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import icon from "../page/icon.svg"
import waitingIcon from "../page/icon-waiting.svg"
import html from "../page/index.html"
import style from "../page/style.css"

/** `page/page.js` and what it imports, which the build bundles. */
declare const PAGE_SCRIPT: string

const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'"
].join("; ")

const file = (text: string, contentType: string) =>
  HttpServerResponse.text(text, {
    contentType: `${contentType}; charset=utf-8`,
    headers: Headers.fromInput({ "content-security-policy": contentPolicy })
  })

export const layer = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function* () {
    yield* router.get("/", file(html, "text/html"))
    yield* router.get("/page/style.css", file(style, "text/css"))
    yield* router.get("/page/page.js", file(PAGE_SCRIPT, "text/javascript"))
    yield* router.get("/page/icon.svg", file(icon, "image/svg+xml"))
    yield* router.get("/page/icon-waiting.svg", file(waitingIcon, "image/svg+xml"))
  })
)
