import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as net from "node:net"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { FailureKind } from "@scv/protocol"
import { Validator } from "@seriousme/openapi-schema-validator"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import { type Answer, type Daemon, makeWorkspace, startDaemon } from "./support/daemon.ts"

const isKind = Schema.is(FailureKind)

/** An error of the API, or one of JSON-RPC, as the Model Context Protocol has them. */
const isError = ({ error, jsonrpc }: Answer["json"]): boolean =>
  isKind(error?.kind) || (jsonrpc === "2.0" && Number.isInteger(error?.code))

const isDocumented = ({ json, status, text }: Answer): boolean =>
  status === 200 || (isError(json ?? {}) && status >= 400 && status < 500 && !/[\u001b\n]/.test(text))

describe("the API", () => {
  it.scopedLive("is described by a valid OpenAPI document, and by a page that asks nobody else", () =>
    Effect.gen(function* () {
      const daemon = yield* startDaemon()
      const { json } = yield* daemon.ask("/openapi.json")
      const checked = yield* Effect.promise(() => new Validator().validate(json))
      assert.isTrue(checked.valid, JSON.stringify(checked.errors ?? "").slice(0, 300))
      assert.sameMembers(Object.keys(json.paths), [
        "/v1/health",
        "/v1/tools",
        "/v1/sessions",
        "/v1/sessions/{session}",
        "/v1/sessions/{session}/calls",
        "/v1/sessions/{session}/calls/{call}",
        "/v1/approvals",
        "/v1/approvals/{approval}",
        "/v1/events",
        "/v1/page",
        "/v1/audit"
      ])
      const docs = yield* daemon.ask("/docs")
      assert.include(String(docs.headers["content-security-policy"]), "default-src 'none'")
      assert.notMatch(docs.text, /(?:src|href)="(?!\/)|<script/)
      assert.strictEqual((yield* daemon.ask("/")).status, 200)
    })
  )

  it.scopedLive("is enough for curl to make a call that is asked about", () =>
    Effect.gen(function* () {
      const daemon = yield* startDaemon()
      const workspace = yield* makeWorkspace
      const script = `
        set -e
        ask() { curl -sS --fail-with-body --unix-socket '${daemon.where.socketPath}' -H 'Content-Type: application/json' "$@"; }
        field() { sed -n "s/.*\\"$1\\":\\"\\([^\\"]*\\)\\".*/\\1/p"; }
        session=$(ask http://scv/v1/sessions -d '{"workspace":"${workspace}"}' | field session_id)
        ask "http://scv/v1/sessions/$session/calls" -d '{"tool":"bash","input":{"command":"echo done > made"}}' > answer &
        until approval=$(ask http://scv/v1/approvals | field approval_id) && [ -n "$approval" ]; do sleep 0.05; done
        ask "http://scv/v1/approvals/$approval" -d '{"decision":"approve"}' > /dev/null
        wait
        cat answer
      `
      const output = yield* Effect.async<string>((resume) => {
        const child = spawn("bash", ["-c", script], { cwd: workspace, stdio: ["ignore", "pipe", "inherit"] })
        let text = ""
        child.stdout.setEncoding("utf8").on("data", (part: string) => {
          text += part
        })
        child.on("close", () => resume(Effect.succeed(text)))
        return Effect.sync(() => child.kill("SIGKILL"))
      })
      assert.include(output, '"status":"completed"')
      assert.strictEqual(fs.readFileSync(path.join(workspace, "made"), "utf8"), "done\n")
    })
  )

  it.scopedLive("refuses with one shape, and says what would be right", () =>
    Effect.gen(function* () {
      const daemon = yield* startDaemon()
      const session = yield* daemon.open(yield* makeWorkspace)
      const json = (body: unknown) => ({ json: body })
      const cases = [
        [404, "/v1/nope", {}, /there is nothing/],
        [404, "/v1/sessions/nope", {}, /no session "nope" is open/],
        [404, "/v1/sessions/nope/calls", json({ tool: "read" }), /no session/],
        [404, `/v1/sessions/${session}/calls/x`, {}, /no call "x"/],
        [404, "/v1/events?session=nope", {}, /no session/],
        [400, "/v1/events?sesion=x", {}, /sesion/],
        [400, "/v1/tools", {}, /`workspace`: is missing/],
        [400, "/v1/tools?workspace=relative", {}, /absolute path/],
        [400, "/v1/sessions", json({ workspace: "relative" }), /expected an absolute path, got "relative"/],
        [400, "/v1/sessions", json({ workspace: "/not/there" }), /no such directory/],
        [400, "/v1/sessions", json({ workspace: "/", polcy: "never" }), /`polcy`/],
        [400, "/v1/sessions", json({ workspace: "/", policy: "perhaps" }), /`policy`: expected "on-risk" or/],
        [400, "/v1/sessions", json([]), /./],
        [400, "/v1/sessions", { body: "{", headers: { "content-type": "application/json" } }, /not JSON/],
        [
          400,
          "/v1/sessions",
          { body: Buffer.of(0x22, 0xff, 0x22), headers: { "content-type": "application/json" } },
          /UTF-8/
        ],
        [413, "/v1/sessions", json({ workspace: "x".repeat(5_000_000) }), /longer than 4194304 bytes/],
        [400, `/v1/sessions/${session}/calls`, json({ input: {} }), /`tool`: is missing/],
        [400, "/v1/approvals/x", json({ decision: "maybe" }), /`decision`: expected "approve" or "deny", got "maybe"/]
      ] as const
      for (const [status, target, request, says] of cases) {
        const answer = yield* daemon.ask(target, request)
        assert.strictEqual(answer.status, status, target)
        assert.match(answer.json.error.message, says)
      }
      // What a tool says of its input is an envelope.
      const invalid = yield* daemon.ask(`/v1/sessions/${session}/calls`, json({ tool: "read", input: { pth: 1 } }))
      assert.strictEqual(invalid.status, 200)
      assert.strictEqual(invalid.json.status, "invalid")
    })
  )

  it.scopedLive("takes no more sessions than it may, and says so", () =>
    Effect.gen(function* () {
      const daemon = yield* startDaemon({ config: "[daemon]\nmax_sessions = 3\n" })
      const workspace = yield* makeWorkspace
      const answers = yield* Effect.all(
        Array.from({ length: 8 }, () => daemon.ask("/v1/sessions", { json: { workspace } })),
        { concurrency: "unbounded" }
      )
      assert.lengthOf(
        answers.filter(({ status }) => status === 200),
        3
      )
      for (const { json } of answers.filter(({ status }) => status !== 200))
        assert.strictEqual(json.error.kind, "limit")
    })
  )
})

/** Sends bytes and collects what comes back until the connection is closed. */
const raw = (daemon: Daemon, bytes: string | Uint8Array) =>
  Effect.async<string>((resume) => {
    const socket = net.connect(daemon.where.socketPath)
    let text = ""
    socket.setEncoding("latin1").on("data", (part: string) => {
      text += part
    })
    socket.on("error", () => {})
    socket.on("close", () => resume(Effect.succeed(text)))
    socket.end(bytes)
    return Effect.sync(() => socket.destroy())
  })

describe("nonsense", () => {
  const word = FastCheck.oneof(
    FastCheck.string({ unit: "binary", maxLength: 20 }),
    FastCheck.constantFrom("v1", "sessions", "calls", "approvals", "events", "..", "%", "%00", "%2e%2e", "mcp", "docs")
  )
  const target = FastCheck.array(word, { maxLength: 6 }).map(
    (words) => `/${words.map((part) => encodeURI(part.toWellFormed()).replace(/[\s\0]/g, "")).join("/")}`
  )
  const method = FastCheck.constantFrom("GET", "POST", "DELETE", "PUT", "PATCH", "OPTIONS")
  const value = FastCheck.oneof(FastCheck.json(), FastCheck.string(), FastCheck.constant('{"tool":"read","input":{}}'))

  it.scopedLive(
    "is always answered by a documented error, and harms nothing",
    () =>
      Effect.gen(function* () {
        const daemon = yield* startDaemon()
        const session = yield* daemon.open(yield* makeWorkspace, "never")
        const known = FastCheck.constantFrom(
          "/v1/sessions",
          `/v1/sessions/${session}/calls`,
          "/v1/approvals/x",
          `/v1/sessions/${session}/calls/${session}-1`
        )
        const requests = FastCheck.sample(FastCheck.tuple(method, FastCheck.oneof(target, known), value), 400)
        for (const [verb, at, body] of requests) {
          const isBodied = verb !== "GET" && verb !== "DELETE" && verb !== "OPTIONS"
          const answer = yield* daemon.ask(at, {
            method: verb,
            ...(isBodied ? { body, headers: { "content-type": "application/json" } } : {})
          })
          assert.isTrue(isDocumented(answer), `${verb} ${at} ${answer.status}`.slice(0, 200))
        }
        const lines = [
          "",
          "\r\n\r\n",
          "hello\r\n\r\n",
          "GET /v1/health HTTP/9.9\r\n\r\n",
          `GET /${"x".repeat(100_000)} HTTP/1.1\r\n\r\n`,
          `GET / HTTP/1.1\r\n${"a: b\r\n".repeat(20_000)}\r\n`,
          "POST /v1/sessions HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
          "POST /v1/sessions HTTP/1.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
          "POST /v1/sessions HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: -1\r\n\r\n"
        ]
        for (const line of lines) {
          const text = yield* raw(daemon, line)
          assert.match(text, /^$|^HTTP\/1\.1 4\d\d [\s\S]*\{"error":\{"kind":"/, line.slice(0, 60))
        }
        yield* Effect.forEach(FastCheck.sample(FastCheck.uint8Array({ maxLength: 300 }), 100), (bytes) =>
          raw(daemon, bytes)
        )
        const { json } = yield* daemon.ask("/v1/health")
        assert.deepInclude(json, { status: "ok", approvals: 0 })
        assert.notInclude((yield* daemon.running.said).stderr, "broke")
      }),
    180_000
  )
})
