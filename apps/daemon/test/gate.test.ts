import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { ask, startDaemon } from "./support/daemon.ts"

const listening = Effect.gen(function* () {
  const daemon = yield* startDaemon({ args: ["--listen", "127.0.0.1:0"] })
  yield* daemon.running.until("http://127.0.0.1:")
  const token = fs.readFileSync(path.join(daemon.home, "state/token"), "utf8").trim()
  const port = Number(/http:\/\/127\.0\.0\.1:(\d+)/.exec((yield* daemon.running.said).stderr)?.[1])
  return { daemon, token, port, where: { host: "127.0.0.1", port } }
})

describe("loopback TCP", () => {
  it.scopedLive("lets in who has the token, and nobody else", () =>
    Effect.gen(function* () {
      const { daemon, port, token, where } = yield* listening
      const good = { authorization: `Bearer ${token}` }
      assert.strictEqual((yield* ask(where, "/v1/sessions", { headers: good })).status, 200)
      assert.strictEqual(
        (yield* ask(where, "/v1/sessions", { headers: { ...good, host: `localhost:${port}` } })).status,
        200
      )
      const refused = [
        [401, {}],
        [401, { authorization: "Bearer x" }],
        [401, { authorization: `Basic ${token}` }],
        [401, { authorization: `Bearer ${token}x` }],
        [403, { ...good, host: "evil.example" }],
        [403, { ...good, host: `evil.example:${port}` }],
        [403, { ...good, host: "127.0.0.1" }],
        [403, { ...good, origin: "https://evil.example" }],
        [403, { ...good, origin: "null" }],
        [403, { ...good, origin: `https://127.0.0.1:${port}` }],
        [403, { ...good, "sec-fetch-site": "cross-site" }],
        [403, { ...good, "sec-fetch-site": "same-site" }]
      ] as const
      for (const [status, headers] of refused) {
        const answer = yield* ask(where, "/v1/sessions", { headers, json: { workspace: daemon.home } })
        assert.strictEqual(answer.status, status, JSON.stringify(headers).slice(0, 80))
        assert.isString(answer.json.error.message)
        assert.notInclude(answer.text, token)
      }
      const own = { ...good, origin: `http://127.0.0.1:${port}`, "sec-fetch-site": "same-origin" }
      assert.strictEqual((yield* ask(where, "/v1/sessions", { headers: own })).status, 200)
      const { json } = yield* ask(where, "/v1/sessions", { headers: good })
      assert.lengthOf(json.sessions, 0)
      assert.notInclude((yield* daemon.running.said).stderr, token)
    })
  )

  it.scopedLive("takes no form, and answers no preflight", () =>
    Effect.gen(function* () {
      const { token, where } = yield* listening
      const authorization = `Bearer ${token}`
      for (const type of [
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain",
        "text/plain; application/json",
        "application/jsonp"
      ]) {
        const headers = { authorization, "content-type": type }
        const answer = yield* ask(where, "/v1/sessions", { headers, body: '{"workspace":"/"}' })
        assert.strictEqual(answer.status, 415, type)
      }
      const untyped = yield* ask(where, "/v1/sessions", { headers: { authorization }, body: '{"workspace":"/"}' })
      assert.strictEqual(untyped.status, 415)
      const preflight = yield* ask(where, "/v1/sessions", {
        method: "OPTIONS",
        headers: { origin: "https://evil.example", "access-control-request-method": "POST" }
      })
      assert.strictEqual(preflight.status, 403)
      assert.isUndefined(preflight.headers["access-control-allow-origin"])
    })
  )

  it.scopedLive("keeps its token private, and makes a new one where others could read it", () =>
    Effect.gen(function* () {
      const { daemon, token } = yield* listening
      const file = path.join(daemon.home, "state/token")
      assert.strictEqual(fs.statSync(file).mode & 0o777, 0o600)
      daemon.running.kill("SIGTERM")
      yield* daemon.running.ended
      fs.chmodSync(file, 0o644)
      const again = yield* startDaemon({ home: daemon.home, args: ["--listen", "127.0.0.1:0"] })
      yield* again.running.until("http://127.0.0.1:")
      assert.strictEqual(fs.statSync(file).mode & 0o777, 0o600)
      assert.notStrictEqual(fs.readFileSync(file, "utf8").trim(), token)
    })
  )
})

describe("the socket", () => {
  it.scopedLive("answers no web page, and takes only JSON", () =>
    Effect.gen(function* () {
      const daemon = yield* startDaemon()
      assert.strictEqual((yield* daemon.ask("/v1/health", { headers: { origin: "http://localhost" } })).status, 403)
      assert.strictEqual((yield* daemon.ask("/v1/sessions", { body: '{"workspace":"/"}' })).status, 415)
      assert.strictEqual(fs.statSync(path.join(daemon.home, "state/scvd.sock")).mode & 0o777, 0o600)
      assert.strictEqual(fs.statSync(path.join(daemon.home, "state")).mode & 0o777, 0o700)
    })
  )
})
