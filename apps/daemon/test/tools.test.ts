import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { InputSchema, Tool, Workspace } from "@scv/core"
import { builtins } from "@scv/runtime"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import { run } from "../src/Scvd.ts"
import { ask, eventually, makeWorkspace, socketOf, until } from "./support/daemon.ts"

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
      const home = yield* makeWorkspace
      const workspace = yield* makeWorkspace
      const before = process.env.SCV_HOME
      process.env.SCV_HOME = home
      const stop = yield* Deferred.make<void>()
      const stopping = { requested: Deferred.await(stop), hurried: Effect.never }
      const daemon = yield* Effect.forkScoped(run(["node", "scvd"], [...builtins, shout], stopping))
      const where = { socketPath: socketOf(home) }
      yield* eventually(() => fs.existsSync(where.socketPath))
      const listed = yield* ask(where, `/v1/tools?workspace=${encodeURIComponent(workspace)}`)
      assert.include(
        listed.json.tools.map(({ name }: { name: string }) => name),
        "shout"
      )
      const { session_id } = (yield* ask(where, "/v1/sessions", { json: { workspace } })).json
      const call = yield* Effect.fork(
        ask(where, `/v1/sessions/${session_id}/calls`, { json: { tool: "shout", input: { word: "hi" } } })
      )
      const { json } = yield* until(ask(where, "/v1/approvals"), (list) => list.json.approvals.length > 0)
      assert.deepInclude(json.approvals[0], { tool: "shout", plan: { word: "HI" } })
      yield* ask(where, `/v1/approvals/${json.approvals[0].approval_id}`, { json: { decision: "approve" } })
      assert.deepInclude((yield* Fiber.join(call)).json, {
        status: "completed",
        result: { shouted: "HI", where: workspace }
      })
      yield* Deferred.succeed(stop, undefined)
      assert.strictEqual(yield* Fiber.join(daemon), 0)
      assert.isFalse(fs.existsSync(path.join(home, "state/scvd.sock")))
      if (before === undefined) delete process.env.SCV_HOME
      else process.env.SCV_HOME = before
    })
  )
})
