/** What a browser or a generator of clients reads: the description of the API. None of it asks another machine. */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { openApi } from "@scv/protocol"
import * as Effect from "effect/Effect"
import { version } from "./version.ts"

const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`)

interface Operation {
  readonly summary?: string
  readonly parameters?: ReadonlyArray<{ readonly name: string; readonly in: string; readonly required: boolean }>
  readonly requestBody?: { readonly content: Record<string, { readonly schema: unknown }> }
  readonly responses: Record<string, { readonly content?: Record<string, { readonly schema: unknown }> }>
}

const schemaOf = (title: string, content: Record<string, { readonly schema: unknown }> | undefined): string =>
  Object.entries(content ?? {})
    .map(
      ([type, { schema }]) =>
        `<details><summary>${escaped(title)}: ${escaped(type)}</summary><pre>${escaped(JSON.stringify(schema, null, 2))}</pre></details>`
    )
    .join("")

const operation = (method: string, path: string, { parameters = [], requestBody, responses, summary }: Operation) =>
  [
    `<h2><code>${method.toUpperCase()} ${escaped(path)}</code></h2>`,
    `<p>${escaped(summary ?? "")}</p>`,
    parameters.length === 0
      ? ""
      : `<p>Takes ${parameters.map((p) => `<code>${escaped(p.name)}</code> (${p.in}${p.required ? "" : ", optional"})`).join(", ")}.</p>`,
    schemaOf("body", requestBody?.content),
    schemaOf("answer", responses["200"]?.content),
    `<p>Refusals: ${Object.keys(responses)
      .filter((status) => status !== "200")
      .join(", ")}.</p>`
  ].join("\n")

const style =
  "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}" +
  "pre{overflow:auto;font-size:13px}h2{margin-top:2.5rem;font-size:1.1rem}"

/** The whole page. */
const docs = (): string => {
  const { components, info, paths } = openApi()
  const operations = Object.entries(paths as Record<string, Record<string, Operation>>).flatMap(([path, item]) =>
    Object.entries(item).map(([method, op]) => operation(method, path, op))
  )
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${escaped(info.title)}</title>
<meta name="viewport" content="width=device-width"><style>${style}</style></head><body>
<h1>${escaped(info.title)} ${escaped(version)}</h1>
<p>${escaped(info.description ?? "")}</p>
<p>The same as <a href="/openapi.json">OpenAPI 3.1</a>.</p>
${operations.join("\n")}
<h2>Events</h2>
<details><summary>the data of each</summary><pre>${escaped(JSON.stringify(components.schemas.Event, null, 2))}</pre></details>
</body></html>
`
}

const contentPolicy = {
  "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
}

export const layer = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function* () {
    yield* router.get(
      "/docs",
      Effect.sync(() =>
        HttpServerResponse.text(docs(), { contentType: "text/html; charset=utf-8", headers: contentPolicy as never })
      )
    )
    yield* router.get(
      "/openapi.json",
      Effect.sync(() => HttpServerResponse.unsafeJson(openApi()))
    )
  })
)
