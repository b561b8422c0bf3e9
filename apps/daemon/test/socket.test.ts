import * as fs from "node:fs"
import * as net from "node:net"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { startProgram } from "../../cli/test/support/scv.ts"
import {
  ask,
  eventually,
  makeWorkspace,
  processesWith,
  question,
  scvd,
  socketOf,
  startDaemon,
  until
} from "./support/daemon.ts"

const start = (home: string) => startProgram([process.execPath, scvd], home, { SCV_HOME: home })

describe("the socket", () => {
  it.scopedLive(
    "is that of exactly one of twenty daemons that start at once, also over a socket that was left",
    () =>
      Effect.gen(function* () {
        const home = yield* makeWorkspace
        const first = yield* startDaemon({ home })
        first.running.kill("SIGKILL")
        yield* first.running.ended
        assert.isTrue(fs.existsSync(socketOf(home)))
        const all = yield* Effect.all(Array.from({ length: 20 }, () => start(home)))
        yield* Effect.all(
          all.map((running) =>
            Effect.raceFirst(Effect.exit(running.until("listening on")), Effect.exit(running.ended))
          ),
          { concurrency: "unbounded" }
        )
        const { json } = yield* ask({ socketPath: socketOf(home) }, "/v1/health")
        const winners = all.filter(({ pid }) => pid === json.pid)
        assert.lengthOf(winners, 1)
        const losers = yield* Effect.all(
          all.filter((running) => running !== winners[0]).map(({ ended }) => ended),
          { concurrency: "unbounded" }
        )
        for (const { code, stderr } of losers) {
          assert.strictEqual(code, 1)
          assert.include(stderr, "a daemon of this SCV_HOME runs already")
        }
        assert.strictEqual((yield* ask({ socketPath: socketOf(home) }, "/v1/health")).json.pid, json.pid)
      }),
    180_000
  )

  it.scopedLive("is made again where somebody deletes it, and no connection is lost", () =>
    Effect.gen(function* () {
      const daemon = yield* startDaemon()
      const workspace = yield* makeWorkspace
      const session = yield* daemon.open(workspace)
      const call = yield* Effect.fork(
        daemon.ask(`/v1/sessions/${session}/calls`, {
          json: { tool: "write", input: { path: "a", content: "x", mode: "create" } }
        })
      )
      const asked = yield* question(daemon)
      fs.rmSync(socketOf(daemon.home))
      yield* eventually(() => fs.existsSync(socketOf(daemon.home)))
      const answered = yield* until(
        Effect.option(daemon.ask(`/v1/approvals/${asked.approval_id}`, { json: { decision: "approve" } })),
        (answer) => answer._tag === "Some"
      )
      assert.strictEqual(answered._tag, "Some")
      assert.strictEqual((yield* call.await)._tag, "Success")
      assert.isTrue(fs.existsSync(path.join(workspace, "a")))
      assert.strictEqual(fs.statSync(socketOf(daemon.home)).mode & 0o777, 0o600)
    })
  )

  it.scopedLive("may not have a path that the system would cut", () =>
    Effect.gen(function* () {
      const home = path.join(yield* makeWorkspace, "x".repeat(100))
      fs.mkdirSync(home)
      const { code, stderr } = yield* (yield* start(home)).ended
      assert.strictEqual(code, 2)
      assert.match(stderr, /may have 107 bytes, and this one has \d+; set SCV_HOME/)
    })
  )

  it.scopedLive("takes the place of no file, and of no daemon that answers", () =>
    Effect.gen(function* () {
      const home = yield* makeWorkspace
      fs.mkdirSync(path.join(home, "state"))
      fs.writeFileSync(socketOf(home), "precious")
      const refused = yield* (yield* start(home)).ended
      assert.strictEqual(refused.code, 2)
      assert.include(refused.stderr, "is in the way")
      assert.strictEqual(fs.readFileSync(socketOf(home), "utf8"), "precious")
      fs.rmSync(socketOf(home))
      yield* Effect.acquireRelease(
        Effect.async<net.Server>((resume) => {
          const server = net.createServer()
          server.listen(socketOf(home), () => resume(Effect.succeed(server)))
        }),
        (server) => Effect.sync(() => server.close())
      )
      const foreign = yield* (yield* start(home)).ended
      assert.strictEqual(foreign.code, 2)
      assert.include(foreign.stderr, "answers there")
    })
  )
})

describe("stopping", () => {
  const command = (tag: string) => `trap '' TERM; echo up; sleep 6${tag} & sleep 6${tag}; wait`

  const running = (tag: string) =>
    Effect.gen(function* () {
      const daemon = yield* startDaemon()
      const session = yield* daemon.open(yield* makeWorkspace)
      const call = yield* Effect.fork(
        Effect.either(
          daemon.ask(`/v1/sessions/${session}/calls`, { json: { tool: "bash", input: { command: command(tag) } } })
        )
      )
      const asked = yield* question(daemon)
      yield* daemon.ask(`/v1/approvals/${asked.approval_id}`, { json: { decision: "approve" } })
      yield* eventually(() => processesWith(`sleep\u00006${tag}`).length === 2)
      return { daemon, call, session }
    })

  it.scopedLive("by TERM cancels what runs, answers who waits, and leaves nothing", () =>
    Effect.gen(function* () {
      const tag = `1${process.pid}`
      const { call, daemon } = yield* running(tag)
      daemon.running.kill("SIGTERM")
      const answer = yield* Effect.flatten(call.await)
      assert.strictEqual(answer._tag === "Right" ? answer.right.json.status : answer.left.message, "cancelled")
      const { code, stderr } = yield* daemon.running.ended
      assert.strictEqual(code, 0)
      assert.match(stderr, /stopping: calls are cancelled[\s\S]*stopped/)
      assert.lengthOf(processesWith(`sleep\u00006${tag}`), 0)
      assert.isFalse(fs.existsSync(socketOf(daemon.home)))
    })
  )

  it.scopedLive("refuses what is new while it goes on, and a second TERM hurries it", () =>
    Effect.gen(function* () {
      const tag = `2${process.pid}`
      const { call, daemon } = yield* running(tag)
      daemon.running.kill("SIGTERM")
      yield* until(daemon.ask("/v1/health"), ({ json }) => json.status === "draining")
      const refused = yield* daemon.ask("/v1/sessions", { json: { workspace: daemon.home } })
      assert.strictEqual(refused.status, 503)
      const before = performance.now()
      daemon.running.kill("SIGTERM")
      const answer = yield* Effect.flatten(call.await)
      assert.strictEqual(answer._tag, "Right")
      assert.strictEqual((yield* daemon.running.ended).code, 0)
      // Without the second TERM the grace of two seconds would pass.
      assert.isBelow(performance.now() - before, 1900)
      assert.lengthOf(processesWith(`sleep\u00006${tag}`), 0)
    })
  )

  it.scopedLive("by KILL leaves nothing alive, and the next start works", () =>
    Effect.gen(function* () {
      const tag = `3${process.pid}`
      const { daemon } = yield* running(tag)
      daemon.running.kill("SIGKILL")
      yield* daemon.running.ended
      yield* eventually(() => processesWith(`sleep\u00006${tag}`).length === 0)
      const again = yield* startDaemon({ home: daemon.home })
      assert.strictEqual((yield* again.ask("/v1/health")).json.status, "ok")
      assert.lengthOf(
        fs.readdirSync(path.join(daemon.home, "state/processes")).filter((n) => n.includes("SCV_CALL")),
        0
      )
    })
  )

  it.scopedLive("closing a session ends its calls and leaves nothing, and the others go on", () =>
    Effect.gen(function* () {
      const tag = `4${process.pid}`
      const { call, daemon, session } = yield* running(tag)
      const other = yield* daemon.open(yield* makeWorkspace)
      const closed = yield* daemon.ask(`/v1/sessions/${session}`, { method: "DELETE" })
      assert.strictEqual(closed.status, 200)
      assert.lengthOf(processesWith(`sleep\u00006${tag}`), 0)
      const answer = yield* Effect.flatten(call.await)
      assert.strictEqual(answer._tag === "Right" ? answer.right.json.status : "", "cancelled")
      const { json } = yield* daemon.ask("/v1/sessions")
      assert.deepStrictEqual(
        json.sessions.map((info: { session_id: string }) => info.session_id),
        [other]
      )
      assert.strictEqual((yield* daemon.ask(`/v1/sessions/${session}`)).status, 404)
    })
  )
})
