import * as fs from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { InputSchema, Tool, Workspace } from "@scv/core"
import { builtins } from "@scv/runtime"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import { makeWorkspace, until } from "./support/daemon.ts"
import { startInProcess } from "./support/inProcess.ts"

/** A tool of somebody else's, which needs the workspace and asks before it runs. */
const shout = Effect.flatMap(Workspace.Workspace, (workspace) =>
  Tool.make({
    name: "shout",
    description: "Says it loudly.",
    risk: "process",
    input: InputSchema.struct({ word: InputSchema.required(InputSchema.nonEmpty, "what to shout") }),
    plan: Schema.Struct({ word: Schema.String }),
    output: Schema.Struct({ shouted: Schema.String, where: Schema.String }),
    prepare: ({ word }) => Effect.succeed({ summary: `shout ${word}`, plan: { word: word.toUpperCase() } }),
    run: ({ word }) => Effect.succeed({ shouted: word, where: workspace.path })
  })
)

describe("a tool of somebody else's", () => {
  it.scopedLive("is listed, asked about and run by a daemon", () =>
    Effect.gen(function* () {
      const workspace = yield* makeWorkspace
      const daemon = yield* startInProcess([...builtins, shout])
      const listed = yield* daemon.ask(`/v1/tools?workspace=${encodeURIComponent(workspace)}`)
      assert.include(
        listed.json.tools.map(({ name }: { name: string }) => name),
        "shout"
      )
      const { session_id } = (yield* daemon.ask("/v1/sessions", { json: { workspace } })).json
      const call = yield* Effect.fork(
        daemon.ask(`/v1/sessions/${session_id}/calls`, { json: { tool: "shout", input: { word: "hi" } } })
      )
      const { json } = yield* until(daemon.ask("/v1/approvals"), (list) => list.json.approvals.length > 0)
      assert.deepInclude(json.approvals[0], { tool: "shout", plan: { word: "HI" } })
      yield* daemon.ask(`/v1/approvals/${json.approvals[0].approval_id}`, { json: { decision: "approve" } })
      assert.deepInclude((yield* Fiber.join(call)).json, {
        status: "completed",
        result: { shouted: "HI", where: workspace }
      })
      assert.strictEqual(yield* daemon.stop, 0)
      assert.isFalse(fs.existsSync(daemon.socketPath))
    })
  )

  it.scopedLive("is called by an MCP client of a daemon", () =>
    Effect.gen(function* () {
      const workspace = yield* makeWorkspace
      const daemon = yield* startInProcess([...builtins, shout])
      const post = (json: object, more: Record<string, string> = {}) => {
        const headers = { accept: "application/json, text/event-stream", ...more }
        return daemon.ask(`/mcp?workspace=${encodeURIComponent(workspace)}`, { json, headers })
      }
      const opened = yield* post({
        jsonrpc: "2.0",
        id: 0,
        method: "initialize",
        params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "test", version: "1" } }
      })
      const request = (id: number, method: string, params: object) =>
        post({ jsonrpc: "2.0", id, method, params }, { "mcp-session-id": String(opened.headers["mcp-session-id"]) })
      assert.include((yield* request(1, "tools/list", {})).text, '"name":"shout"')
      const call = yield* Effect.fork(request(2, "tools/call", { name: "shout", arguments: { word: "hi" } }))
      const { json } = yield* until(daemon.ask("/v1/approvals"), (list) => list.json.approvals.length > 0)
      yield* daemon.ask(`/v1/approvals/${json.approvals[0].approval_id}`, { json: { decision: "approve" } })
      assert.include((yield* Fiber.join(call)).text, '"status":"completed","result":{"shouted":"HI"')
      assert.strictEqual(yield* daemon.stop, 0)
    })
  )
})

describe("a session that is closed", () => {
  it.scopedLive("leaves no fiber in the daemon", () =>
    Effect.gen(function* () {
      const workspace = yield* makeWorkspace
      const daemon = yield* startInProcess(builtins)
      const round = Effect.gen(function* () {
        const { session_id } = (yield* daemon.ask("/v1/sessions", { json: { workspace } })).json
        yield* daemon.ask(`/v1/sessions/${session_id}/calls`, { json: { tool: "read", input: { path: "none" } } })
        yield* daemon.ask(`/v1/sessions/${session_id}`, { method: "DELETE" })
      })
      yield* round
      const fibers = Effect.map(Fiber.roots, (roots) => roots.length)
      const before = yield* fibers
      yield* Effect.replicateEffect(round, 10)
      // Those of the last requests end in a moment.
      yield* until(fibers, (count) => count <= before)
      assert.strictEqual(yield* daemon.stop, 0)
    })
  )
})
