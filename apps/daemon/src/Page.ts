/** The page for people: files that the build puts into the program. Nothing on it asks another machine. */
import * as Headers from "@effect/platform/Headers"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import { SignIn } from "./SignIn.ts"

/** The files of `page/` by their names, its scripts as one: the build puts them in. Run from source there are none. */
declare const PAGE_FILES: Readonly<Record<string, string>> | undefined

const files = typeof PAGE_FILES === "undefined" ? {} : PAGE_FILES

const types: Readonly<Record<string, string>> = {
  html: "text/html",
  css: "text/css",
  js: "text/javascript",
  svg: "image/svg+xml"
}

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

const file = (name: string, text: string) =>
  HttpServerResponse.text(text, {
    contentType: `${types[name.slice(name.lastIndexOf(".") + 1)]}; charset=utf-8`,
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
    for (const [name, text] of Object.entries(files)) {
      yield* router.get(name === "index.html" ? "/" : `/page/${name}`, file(name, text))
    }
    yield* router.get(proofPath, proof(prove))
    yield* router.get("/page/key", plain(key))
  })
)
