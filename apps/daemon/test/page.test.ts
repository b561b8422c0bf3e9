import { createHmac } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { makeWorkspace } from "../../cli/test/support/scv.ts"
import { ask, type Daemon, question, startDaemon } from "./support/daemon.ts"

/** A one-time address, taken apart. */
const address = (daemon: Daemon) =>
  Effect.map(daemon.ask("/v1/page", { json: {} }), ({ json }) => {
    const url = new URL(json.url)
    return {
      url,
      ticket: url.searchParams.get("ticket") ?? "",
      target: `${url.pathname}${url.search}`,
      where: { host: url.hostname, port: Number(url.port) }
    }
  })

/** A daemon, with a browser that has signed in. */
const signedIn = Effect.gen(function* () {
  const daemon = yield* startDaemon()
  const { target, ticket, url, where } = yield* address(daemon)
  const { headers } = yield* ask(where, target)
  const [given = ""] = headers["set-cookie"] ?? []
  const [cookie = ""] = given.split(";")
  return { daemon, where, origin: url.origin, given, cookie, ticket }
})

const stop = (daemon: Daemon) => {
  daemon.running.kill("SIGTERM")
  return daemon.running.ended
}

describe("the page", () => {
  it.scopedLive("is opened by an address that is good once, and goes on to one without a ticket", () =>
    Effect.gen(function* () {
      const daemon = yield* startDaemon()
      const { target, ticket, url, where } = yield* address(daemon)
      assert.match(ticket, /^[\w-]{43}$/)
      assert.strictEqual(url.hostname, "127.0.0.1")
      const first = yield* ask(where, target)
      assert.strictEqual(first.status, 303)
      assert.strictEqual(first.headers.location, "/")
      assert.match(
        first.headers["set-cookie"]?.[0] ?? "",
        new RegExp(`^scvd-${where.port}=[\\w-]{43}; Path=/; HttpOnly; SameSite=Strict$`)
      )
      const cookie = first.headers["set-cookie"]?.[0]?.split(";")[0]
      const again = yield* ask(where, target)
      assert.strictEqual(again.status, 401)
      assert.include(again.text, "scv daemon open")
      assert.isUndefined(again.headers["set-cookie"])
      // Going back in the history of a browser that is signed in.
      assert.strictEqual((yield* ask(where, target, { headers: { cookie } })).status, 303)
      const { stderr, stdout } = yield* daemon.running.said
      for (const secret of [ticket, cookie?.split("=")[1] ?? "none"]) assert.notInclude(stdout + stderr, secret)
    })
  )

  it.scopedLive("has one ticket for each request, on one port, and trades it for GET alone", () =>
    Effect.gen(function* () {
      const daemon = yield* startDaemon()
      const [one, two] = yield* Effect.all([address(daemon), address(daemon)], { concurrency: 2 })
      assert.strictEqual(one.url.host, two.url.host)
      assert.notStrictEqual(one.ticket, two.ticket)
      for (const request of [{ method: "HEAD" }, { method: "POST", json: {} }]) {
        assert.strictEqual((yield* ask(one.where, one.target, request)).status, 401)
      }
      const foreign = { headers: { host: "evil.example" } }
      assert.strictEqual((yield* ask(one.where, one.target, foreign)).status, 403)
      const statuses = yield* Effect.all(
        Array.from({ length: 8 }, () => Effect.map(ask(one.where, one.target), ({ status }) => status)),
        { concurrency: 8 }
      )
      assert.deepEqual(
        statuses.filter((status) => status === 303),
        [303]
      )
      assert.strictEqual((yield* ask(two.where, two.target)).status, 303)
    })
  )

  it.scopedLive("shows nothing to whoever has not signed in", () =>
    Effect.gen(function* () {
      const { cookie, where } = yield* signedIn
      const name = cookie.split("=")[0]
      for (const headers of [{}, { cookie: `${name}=x` }, { cookie: `other${cookie}` }, { cookie: `${cookie}x` }]) {
        const front = yield* ask(where, "/", { headers })
        assert.strictEqual(front.status, 401)
        assert.include(front.text, "scv daemon open")
        assert.isBelow(front.text.length, 200)
        for (const target of ["/page/page.js", "/page/style.css", "/v1/events", "/v1/approvals", "/v1/audit"]) {
          assert.strictEqual((yield* ask(where, target, { headers })).status, 401, target)
        }
      }
    })
  )

  it.scopedLive("comes with a strict policy, and without inline script or style", () =>
    Effect.gen(function* () {
      const { cookie, where } = yield* signedIn
      const types = {
        "/": "text/html",
        "/page/page.js": "text/javascript",
        "/page/style.css": "text/css",
        "/page/icon.svg": "image/svg+xml",
        "/page/icon-waiting.svg": "image/svg+xml"
      }
      for (const [target, type] of Object.entries(types)) {
        const { headers, status, text } = yield* ask(where, target, { headers: { cookie: `a=b; ${cookie}` } })
        assert.strictEqual(status, 200, target)
        assert.strictEqual(headers["content-type"], `${type}; charset=utf-8`)
        assert.strictEqual(
          headers["content-security-policy"],
          "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
            "require-trusted-types-for 'script'; trusted-types 'none'"
        )
        assert.strictEqual(headers["x-content-type-options"], "nosniff")
        assert.strictEqual(headers["cross-origin-resource-policy"], "same-origin")
        assert.strictEqual(headers["cross-origin-opener-policy"], "same-origin")
        assert.strictEqual(headers["referrer-policy"], "no-referrer")
        assert.strictEqual(headers["cache-control"], "no-store")
        assert.isTrue(text.length > 100, target)
        assert.notMatch(text, /https?:\/\/(?!www\.w3\.org)/, target)
      }
      const { text } = yield* ask(where, "/", { headers: { cookie } })
      assert.notMatch(text, /<style|<script(?![^>]* src=)|\son\w+=|\sstyle=/i)
    })
  )

  it.scopedLive("answers to no name but this machine's own, and to no other page, whatever they bring", () =>
    Effect.gen(function* () {
      const { cookie, daemon, where } = yield* signedIn
      const { port } = where
      const hosts = [
        "evil.example",
        `evil.example:${port}`,
        `127.0.0.1.evil.example:${port}`,
        `127.0.0.1:${port}@evil.example`,
        `127.0.0.1:${port}.`,
        "127.0.0.1",
        `127.0.0.1:${port + 1}`,
        `127.1:${port}`,
        `0.0.0.0:${port}`,
        `2130706433:${port}`,
        `[::1]:${port}`,
        `LOCALHOST:${port}`
      ]
      const token = fs.readFileSync(path.join(daemon.home, "state/token"), "utf8").trim()
      for (const secret of [{ cookie }, { authorization: `Bearer ${token}` }]) {
        for (const host of hosts) {
          for (const target of ["/", "/v1/sessions", "/docs", "/page/proof"]) {
            assert.strictEqual((yield* ask(where, target, { headers: { ...secret, host } })).status, 403, host)
          }
        }
      }
      // What a page elsewhere can make a browser ask, with the cookie in the worst case
      const elsewhere = [
        { "sec-fetch-site": "cross-site" },
        { "sec-fetch-site": "same-site" },
        { origin: "https://evil.example" },
        { origin: `https://127.0.0.1:${port}` },
        { origin: "null" }
      ]
      for (const headers of elsewhere) {
        for (const target of ["/", "/v1/events", "/v1/approvals", "/page/key", "/page/proof"]) {
          for (const method of ["GET", "HEAD", "OPTIONS", "DELETE"]) {
            const answer = yield* ask(where, target, { method, headers: { cookie, ...headers } })
            assert.strictEqual(answer.status, 403, `${method} ${target}`)
            const allowed = Object.keys(answer.headers).filter((name) => name.startsWith("access-control-"))
            assert.deepEqual(allowed, [])
          }
        }
      }
      // A link elsewhere spends no address.
      const { target } = yield* address(daemon)
      const linked = yield* ask(where, target, { headers: { "sec-fetch-site": "cross-site" } })
      assert.strictEqual(linked.status, 403)
      assert.include(linked.text, "address bar")
      assert.strictEqual((yield* ask(where, target)).status, 303)
    })
  )

  it.scopedLive("takes a ticket by one spelling only, and none that is made up", () =>
    Effect.gen(function* () {
      const daemon = yield* startDaemon()
      const { target, ticket, where } = yield* address(daemon)
      const spellings = [
        `/?x=1&ticket=${ticket}`,
        `//?ticket=${ticket}`,
        `/?ticket=${ticket}&x=1`,
        `/?ticket=${ticket}%00`,
        `/?ticket= ${ticket}`.replace(" ", "%20"),
        `/?TICKET=${ticket}`,
        `/v1/sessions?ticket=${ticket}`,
        "/?ticket=",
        "/?ticket=__proto__",
        `/?ticket=${"A".repeat(43)}`,
        `/?ticket=${ticket.slice(0, -1)}`
      ]
      for (const spelling of spellings) {
        const answer = yield* ask(where, spelling)
        assert.strictEqual(answer.status, 401, spelling)
        assert.isUndefined(answer.headers["set-cookie"], spelling)
      }
      assert.strictEqual((yield* ask(where, target)).status, 303)
    })
  )

  it.scopedLive("is no secret of another daemon's", () =>
    Effect.gen(function* () {
      const { cookie } = yield* signedIn
      const other = yield* address(yield* startDaemon())
      const renamed = `scvd-${other.where.port}=${cookie.split("=")[1]}`
      assert.strictEqual((yield* ask(other.where, "/", { headers: { cookie: `${cookie}; ${renamed}` } })).status, 401)
    })
  )

  it.scopedLive("changes something by its cookie only when the page itself asks", () =>
    Effect.gen(function* () {
      const { cookie, daemon, origin, where } = yield* signedIn
      const workspace = yield* makeWorkspace
      const session = yield* daemon.open(workspace)
      const json = { tool: "bash", input: { command: "echo yes" }, detach: true }
      const call = (yield* daemon.ask(`/v1/sessions/${session}/calls`, { json })).json.call_id
      const { approval_id } = yield* question(daemon)
      const target = `/v1/approvals/${approval_id}`
      const refused = [
        {},
        { origin: "null" },
        { origin: "https://evil.example" },
        { origin: `http://127.0.0.1:${where.port + 1}` },
        { origin, host: "evil.example" },
        { origin, "sec-fetch-site": "same-site" },
        { origin, "sec-fetch-site": "cross-site" }
      ]
      for (const headers of refused) {
        const answer = yield* ask(where, target, { headers: { cookie, ...headers }, json: { decision: "approve" } })
        assert.strictEqual(answer.status, 403, JSON.stringify(headers))
        const gone = yield* ask(where, `/v1/sessions/${session}/calls/${call}`, {
          method: "DELETE",
          headers: { cookie, ...headers }
        })
        assert.strictEqual(gone.status, 403, JSON.stringify(headers))
      }
      const own = { cookie, origin, "sec-fetch-site": "same-origin" }
      const form = { headers: { ...own, "content-type": "text/plain" }, body: '{"decision":"approve"}' }
      assert.strictEqual((yield* ask(where, target, form)).status, 415)
      const { json: said } = yield* ask(where, target, { headers: own, json: { decision: "deny", reason: "no" } })
      assert.strictEqual(said.decision, "deny")
      assert.strictEqual(said.by, "the page, over loopback TCP")
      const late = yield* ask(where, target, { headers: own, json: { decision: "approve" } })
      assert.strictEqual(late.status, 409)
    })
  )

  it.scopedLive("lets the browsers that have signed in go on after a restart, at the same place", () =>
    Effect.gen(function* () {
      const { cookie, daemon, where } = yield* signedIn
      const key = (yield* ask(where, "/page/key", { headers: { cookie } })).text
      yield* stop(daemon)
      const file = path.join(daemon.home, "state/browsers")
      assert.strictEqual(fs.statSync(file).mode & 0o777, 0o600)
      assert.notInclude(fs.readFileSync(file, "utf8"), cookie.split("=")[1] ?? "none")
      const next = yield* startDaemon({ home: daemon.home })
      yield* next.running.until("listening on http://")
      assert.strictEqual((yield* ask(where, "/v1/sessions", { headers: { cookie } })).status, 200)
      assert.strictEqual((yield* ask(where, "/page/key", { headers: { cookie } })).text, key)
      // Another address is at the same place, and a ticket of the daemon before is none.
      assert.strictEqual((yield* address(next)).url.port, String(where.port))
    })
  )

  it.scopedLive("does not let them go on where the file can be another's, is broken, or the time is over", () =>
    Effect.gen(function* () {
      const { cookie, daemon, where } = yield* signedIn
      yield* stop(daemon)
      const file = path.join(daemon.home, "state/browsers")
      const good = fs.readFileSync(file, "utf8")
      const kept = JSON.parse(good)
      const old = { ...kept, cookies: kept.cookies.map(([hash]: [string, number]) => [hash, Date.now() - 1]) }
      const bad: ReadonlyArray<readonly [text: string, mode: number]> = [
        [good, 0o644],
        [good.slice(0, -9), 0o600],
        [JSON.stringify(old), 0o600]
      ]
      for (const [text, mode] of bad) {
        fs.rmSync(file)
        fs.writeFileSync(file, text, { mode })
        const next = yield* startDaemon({ home: daemon.home, args: ["--listen", `127.0.0.1:${where.port}`] })
        yield* next.running.until("listening on http://")
        assert.strictEqual((yield* ask(where, "/", { headers: { cookie } })).status, 401, `${mode}`)
        yield* stop(next)
      }
    })
  )

  it.scopedLive("forgets them where the daemon has to listen elsewhere: their place may be somebody else's", () =>
    Effect.gen(function* () {
      const { cookie, daemon, where } = yield* signedIn
      yield* stop(daemon)
      const other = yield* startDaemon({ args: ["--listen", `127.0.0.1:${where.port}`] })
      yield* other.running.until("listening on http://")
      const next = yield* startDaemon({ home: daemon.home })
      const moved = yield* address(next)
      assert.notStrictEqual(moved.where.port, where.port)
      const renamed = `scvd-${moved.where.port}=${cookie.split("=")[1]}`
      for (const there of [where, moved.where]) {
        assert.strictEqual((yield* ask(there, "/", { headers: { cookie: `${cookie}; ${renamed}` } })).status, 401)
      }
    })
  )

  it.scopedLive("proves to an open page that it is the same daemon, for one question and at one place", () =>
    Effect.gen(function* () {
      const { cookie, where } = yield* signedIn
      const { text: key } = yield* ask(where, "/page/key", { headers: { cookie } })
      assert.strictEqual((yield* ask(where, "/page/key")).status, 401)
      const nonce = "0123456789abcdef".repeat(2)
      const { text } = yield* ask(where, `/page/proof?nonce=${nonce}`)
      const expected = createHmac("sha256", key).update(`127.0.0.1:${where.port}\n${nonce}`).digest("hex")
      assert.strictEqual(text, expected)
      for (const bad of ["", "?nonce=", "?nonce=x", `?nonce=${nonce}0`, `?nonce=${nonce}%0a`]) {
        assert.strictEqual((yield* ask(where, `/page/proof${bad}`)).status, 400, bad)
      }
      const foreign = { headers: { host: "evil.example" } }
      assert.strictEqual((yield* ask(where, `/page/proof?nonce=${nonce}`, foreign)).status, 403)
    })
  )

  it.scopedLive("stands where the daemon listens already, and keeps its port's cookie apart", () =>
    Effect.gen(function* () {
      const daemon = yield* startDaemon({ args: ["--listen", "127.0.0.1:0"] })
      yield* daemon.running.until("http://127.0.0.1:")
      const { stderr } = yield* daemon.running.said
      const { url } = yield* address(daemon)
      assert.include(stderr, `${url.origin},`)
      const token = fs.readFileSync(path.join(daemon.home, "state/token"), "utf8").trim()
      assert.notInclude(url.href, token)
    })
  )
})

describe("GET /v1/audit", () => {
  it.scopedLive("searches the record, newest first", () =>
    Effect.gen(function* () {
      const daemon = yield* startDaemon()
      const workspace = yield* makeWorkspace
      fs.writeFileSync(path.join(workspace, "Needle.txt"), "x")
      assert.deepEqual((yield* daemon.ask("/v1/audit")).json, { records: [] })
      const session = yield* daemon.open(workspace)
      const other = yield* daemon.open(workspace)
      for (const [at, file] of [
        [session, "Needle.txt"],
        [session, "absent"],
        [other, "Needle.txt"]
      ]) {
        yield* daemon.ask(`/v1/sessions/${at}/calls`, { json: { tool: "read", input: { path: file } } })
      }
      const found = (query: string) => Effect.map(daemon.ask(`/v1/audit?${query}`), ({ json }) => json.records)
      const all = yield* found("")
      assert.deepEqual(
        all.map(({ session, serial }: { session: string; serial: number }) => [session, serial]),
        [
          [other, 1],
          [session, 2],
          [session, 1]
        ]
      )
      assert.lengthOf(yield* found("text=needle"), 2)
      assert.lengthOf(yield* found(`session=${session}`), 2)
      assert.lengthOf(yield* found(`session=${session}&text=needle`), 1)
      assert.lengthOf(yield* found("tool=bash"), 0)
      assert.deepEqual(yield* found("limit=1"), [all[0]])
      for (const bad of ["limit=0", "limit=1001", "limit=x", "limit=1.5", "sesion=a"]) {
        assert.strictEqual((yield* daemon.ask(`/v1/audit?${bad}`)).status, 400, bad)
      }
    })
  )
})
