import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import {
  type Daemon,
  eventually,
  makeWorkspace,
  processesWith,
  question,
  startDaemon,
  until
} from "./support/daemon.ts"

const touch = (daemon: Daemon, session: string, name = "made") =>
  daemon.ask(`/v1/sessions/${session}/calls`, {
    json: { tool: "write", input: { path: name, content: "x", mode: "create" } }
  })

const answer = (daemon: Daemon, id: string, decision: string, reason?: string) =>
  daemon.ask(`/v1/approvals/${id}`, { json: { decision, ...(reason === undefined ? {} : { reason }) } })

describe("a question", () => {
  it.scopedLive("shows the plan that runs, and is answered once", () =>
    Effect.gen(function* () {
      const daemon = yield* startDaemon()
      const workspace = yield* makeWorkspace
      const session = yield* daemon.open(workspace)
      const call = yield* Effect.fork(touch(daemon, session))
      const asked = yield* question(daemon)
      assert.deepInclude(asked, { session_id: session, tool: "write", risk: "filesystem", workspace })
      assert.match(asked.digest, /^[0-9a-f]{64}$/)
      assert.isFalse(fs.existsSync(path.join(workspace, "made")))
      const answers = yield* Effect.all(
        Array.from({ length: 8 }, (_, i) => answer(daemon, asked.approval_id, i % 2 === 0 ? "approve" : "deny")),
        { concurrency: "unbounded" }
      )
      const won = answers.filter(({ status }) => status === 200)
      assert.lengthOf(won, 1)
      assert.isTrue(answers.every(({ status }) => status === 200 || status === 409))
      const decision = won[0]!.json.decision
      const { json } = yield* Fiber.join(call)
      assert.strictEqual(json.status, decision === "approve" ? "completed" : "denied")
      assert.strictEqual(fs.existsSync(path.join(workspace, "made")), decision === "approve")
      const late = yield* answer(daemon, asked.approval_id, "approve")
      assert.strictEqual(late.status, 409)
      assert.match(late.json.error.message, /was (approved|denied) already \(by .*over the socket\)/)
    })
  )

  it.scopedLive("is denied with a reason, and an unknown one is an error", () =>
    Effect.gen(function* () {
      const daemon = yield* startDaemon()
      const session = yield* daemon.open(yield* makeWorkspace)
      const call = yield* Effect.fork(touch(daemon, session))
      const asked = yield* question(daemon)
      const unknown = yield* answer(daemon, "nope-1-1", "approve")
      assert.strictEqual(unknown.status, 404)
      assert.strictEqual((yield* answer(daemon, asked.approval_id, "deny", "not today")).status, 200)
      const { json } = yield* Fiber.join(call)
      assert.deepInclude(json, { status: "denied", error: { kind: "denied", message: "write was denied: not today" } })
    })
  )

  it.scopedLive("expires as a denial that says so", () =>
    Effect.gen(function* () {
      const daemon = yield* startDaemon({ config: "[approvals]\ntimeout_seconds = 1\n" })
      const session = yield* daemon.open(yield* makeWorkspace)
      const call = yield* Effect.fork(touch(daemon, session))
      const asked = yield* question(daemon)
      const { json } = yield* Fiber.join(call)
      assert.strictEqual(json.error.message, "write was denied: nobody answered within 1 s")
      const late = yield* answer(daemon, asked.approval_id, "approve")
      assert.strictEqual(late.status, 409)
      assert.include(late.json.error.message, "it has expired")
    })
  )

  it.scopedLive("ends with its call, and holds no other session up", () =>
    Effect.gen(function* () {
      const daemon = yield* startDaemon()
      const workspace = yield* makeWorkspace
      fs.writeFileSync(path.join(workspace, "a"), "text")
      const asking = yield* daemon.open(workspace)
      const other = yield* daemon.open(workspace)
      const call = yield* Effect.fork(touch(daemon, asking))
      const asked = yield* question(daemon)
      const read = yield* daemon.ask(`/v1/sessions/${other}/calls`, { json: { tool: "read", input: { path: "a" } } })
      assert.strictEqual(read.json.status, "completed")
      yield* daemon.ask(`/v1/sessions/${asking}/calls/${asked.call_id}`, { method: "DELETE" })
      assert.strictEqual((yield* Fiber.join(call)).json.status, "cancelled")
      const late = yield* answer(daemon, asked.approval_id, "approve")
      assert.strictEqual(late.status, 409)
      assert.isFalse(fs.existsSync(path.join(workspace, "made")))
    })
  )
})

describe("a client that leaves", () => {
  const sleeper = (tag: string) => ({ tool: "bash", input: { command: `echo up; exec sleep 6${tag}` } })

  it.scopedLive("cancels its call, and what it runs is ended", () =>
    Effect.gen(function* () {
      const daemon = yield* startDaemon()
      const session = yield* daemon.open(yield* makeWorkspace)
      const tag = String(process.pid)
      const call = yield* Effect.fork(daemon.ask(`/v1/sessions/${session}/calls`, { json: sleeper(tag) }))
      const asked = yield* question(daemon)
      yield* answer(daemon, asked.approval_id, "approve")
      yield* eventually(() => processesWith(`sleep\u00006${tag}`).length > 0)
      yield* Fiber.interrupt(call)
      yield* eventually(() => processesWith(`sleep\u00006${tag}`).length === 0)
      const ended = yield* until(
        daemon.ask(`/v1/sessions/${session}/calls/${asked.call_id}`),
        ({ json }) => json.state === "ended"
      )
      assert.strictEqual(ended.json.result.status, "cancelled")
    })
  )

  it.scopedLive("leaves a question that is gone with its call", () =>
    Effect.gen(function* () {
      const daemon = yield* startDaemon()
      const session = yield* daemon.open(yield* makeWorkspace)
      const call = yield* Effect.fork(touch(daemon, session))
      yield* question(daemon)
      yield* Fiber.interrupt(call)
      yield* until(daemon.ask("/v1/approvals"), ({ json }) => json.approvals.length === 0)
    })
  )

  it.scopedLive("may leave a detached call, and ask for it later", () =>
    Effect.gen(function* () {
      const daemon = yield* startDaemon()
      const workspace = yield* makeWorkspace
      const session = yield* daemon.open(workspace)
      const { json } = yield* daemon.ask(`/v1/sessions/${session}/calls`, {
        json: { tool: "write", input: { path: "made", content: "x", mode: "create" }, detach: true }
      })
      const asked = yield* question(daemon)
      assert.strictEqual(asked.call_id, json.call_id)
      yield* answer(daemon, asked.approval_id, "approve")
      const ended = yield* until(
        daemon.ask(`/v1/sessions/${session}/calls/${json.call_id}`),
        (call) => call.json.state === "ended"
      )
      assert.strictEqual(ended.json.result.status, "completed")
      assert.isTrue(fs.existsSync(path.join(workspace, "made")))
      const again = yield* daemon.ask(`/v1/sessions/${session}/calls/${json.call_id}`, { method: "DELETE" })
      assert.strictEqual(again.status, 409)
    })
  )
})
