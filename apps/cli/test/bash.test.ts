import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { processesWith, until } from "./support/processes.ts"
import { command, envelopeOf, makeWorkspace, type Running, scv, startOnTerminal, startScv } from "./support/scv.ts"

const gone = (mark: string) =>
  Effect.timeoutTo(
    until(() => processesWith(mark).length === 0),
    {
      duration: "1 second",
      onSuccess: () => [],
      onTimeout: () => processesWith(mark)
    }
  )

/** A workspace whose path no other process carries; every process of its calls has it in its environment. */
const place = Effect.map(makeWorkspace, (workspace) => ({
  workspace,
  env: { MARK: workspace, SCV_HOME: path.join(workspace, "home") },
  records: () => {
    try {
      return fs.readdirSync(path.join(workspace, "home/state/processes"))
    } catch {
      return []
    }
  },
  call: (script: string, ...options: ReadonlyArray<string>) => [
    "call",
    "bash",
    JSON.stringify({ command: script }),
    "--yes",
    ...options
  ]
}))

const isThere = (workspace: string, name: string) => until(() => fs.existsSync(path.join(workspace, name)))

const family = "(trap '' TERM; setsid sleep 70 & sleep 70) & sleep 70 & echo so far; touch up; wait"

describe("scv call bash", () => {
  it.scopedLive("is cancelled by each signal, keeps what was printed, and leaves nothing", () =>
    Effect.gen(function* () {
      for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
        const { call, env, records, workspace } = yield* place
        const running = yield* startScv(
          call("setsid sleep 70 & sleep 70 & echo so far; touch up; wait"),
          workspace,
          env
        )
        yield* isThere(workspace, "up")
        running.kill(signal)
        const ended = yield* running.ended
        assert.strictEqual(ended.code, 130)
        const { error, result, status } = envelopeOf(ended)
        assert.strictEqual(status, "cancelled")
        assert.strictEqual(error?.kind, "cancelled")
        assert.include((result as { output: string }).output, "so far")
        assert.deepStrictEqual(processesWith(workspace), [])
        assert.deepStrictEqual(records(), [])
      }
    })
  )

  it.scopedLive("is hurried by a second signal", () =>
    Effect.gen(function* () {
      const { call, env, workspace } = yield* place
      const running = yield* startScv(
        // The grace is two seconds; what is left of it is not waited out.
        call("trap 'touch told; sleep 1.8; touch waited' TERM; touch up; while :; do sleep 0.1; done"),
        workspace,
        env
      )
      yield* isThere(workspace, "up")
      running.kill("SIGINT")
      yield* isThere(workspace, "told")
      running.kill("SIGINT")
      const ended = yield* running.ended
      assert.strictEqual(ended.code, 130)
      assert.isFalse(fs.existsSync(path.join(workspace, "waited")))
      assert.deepStrictEqual(processesWith(workspace), [])
    })
  )

  it.scopedLive("leaves nothing when its terminal is closed", () =>
    Effect.gen(function* () {
      const { call, env, workspace } = yield* place
      const argv = [process.execPath, command, ...call("sleep 70 & touch up; wait")]
      const terminal = yield* startOnTerminal(argv, workspace, env)
      yield* isThere(workspace, "up")
      terminal.kill("SIGKILL")
      yield* until(() => processesWith(workspace).length === 0).pipe(Effect.timeout("5 seconds"), Effect.orDie)
    })
  )

  it.scopedLive("leaves nothing for longer than a second when it is killed itself", () =>
    Effect.gen(function* () {
      const { call, env, workspace } = yield* place
      const running = yield* startScv(call(family), workspace, env)
      yield* isThere(workspace, "up")
      running.kill("SIGKILL")
      assert.deepStrictEqual(yield* gone(workspace), [])
    })
  )

  it.scopedLive("ends at its next start what is left where the watcher was killed too", () =>
    Effect.gen(function* () {
      const { call, env, records, workspace } = yield* place
      const running: Running = yield* startScv(call(family), workspace, env)
      yield* isThere(workspace, "up")
      const children = fs.readFileSync(`/proc/${running.pid}/task/${running.pid}/children`, "utf8").trim().split(" ")
      const watcher = children.find((pid) => fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("scv-watcher"))
      process.kill(Number(watcher), "SIGKILL")
      running.kill("SIGKILL")
      yield* running.ended
      assert.isNotEmpty(processesWith(workspace))
      assert.lengthOf(records(), 1)
      assert.strictEqual((yield* scv(call("echo next"), workspace, "", env)).code, 0)
      assert.deepStrictEqual(processesWith(workspace), [])
      assert.deepStrictEqual(records(), [])
    })
  )

  it.scopedLive("shows its output as it comes to whoever watches a terminal", () =>
    Effect.gen(function* () {
      const { call, env, workspace } = yield* place
      const script = "printf 'one\\033[2J\\n'; until [ -e go ]; do sleep 0.05; done; echo two"
      const terminal = yield* startOnTerminal([process.execPath, command, ...call(script)], workspace, env)
      yield* terminal.until("one\\x1b[2J")
      fs.writeFileSync(path.join(workspace, "go"), "")
      yield* terminal.until('"status":"completed"')
    })
  )
})
