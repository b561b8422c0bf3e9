/** The page for people: files that the build puts into the program. Nothing on it asks another machine. */
import * as Headers from "@effect/platform/Headers"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import icon from "../page/icon.svg"
import waitingIcon from "../page/icon-waiting.svg"
import html from "../page/index.html"
import style from "../page/style.css"
import { SignIn } from "./SignIn.ts"

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
  "frame-ancestors 'none'",
  // No text can become markup or script, whatever a library or a later change does.
  "require-trusted-types-for 'script'",
  "trusted-types 'none'"
].join("; ")

const file = (text: string, contentType: string) =>
  HttpServerResponse.text(text, {
    contentType: `${contentType}; charset=utf-8`,
    headers: Headers.fromInput({
      "content-security-policy": contentPolicy,
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin"
    })
  })

/** Where an open page asks, without its cookie, whether what answers is its daemon. */
export const proofPath = "/page/proof"

const plain = (text: string, status = 200) => HttpServerResponse.text(text, { status })

const proof = (prove: (nonce: string, authority: string) => string) =>
  Effect.map(HttpServerRequest.HttpServerRequest, ({ headers, url }) => {
    const nonce = new URLSearchParams(url.split("?", 2)[1]).get("nonce") ?? ""
    return /^[0-9a-f]{32}$/.test(nonce)
      ? plain(prove(nonce, headers.host ?? ""))
      : plain("nonce: expected 32 hexadecimal digits\n", 400)
  })

export const layer = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function* () {
    const { key, prove } = yield* SignIn
    yield* router.get("/", file(html, "text/html"))
    yield* router.get(proofPath, proof(prove))
    yield* router.get("/page/key", plain(key))
    yield* router.get("/page/style.css", file(style, "text/css"))
    yield* router.get("/page/page.js", file(PAGE_SCRIPT, "text/javascript"))
    yield* router.get("/page/icon.svg", file(icon, "image/svg+xml"))
    yield* router.get("/page/icon-waiting.svg", file(waitingIcon, "image/svg+xml"))
  })
)
