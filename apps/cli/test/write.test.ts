import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { crash } from "./support/crash.ts"
import { command, envelopeOf, makeWorkspace, startProgram } from "./support/scv.ts"

describe("scv call write", () => {
  it.live(
    "leaves whole files, old or new, wherever it is killed, and the next write sweeps the rest",
    () =>
      Effect.gen(function* () {
        const halves = yield* Effect.all([crash(150), crash(150)], { concurrency: "unbounded" })
        for (const { leftAfterSweep, torn, unexplained } of halves) {
          assert.deepStrictEqual(torn, [])
          assert.deepStrictEqual(unexplained, [])
          assert.strictEqual(leftAfterSweep, 0)
        }
        // The crashes did fall into writes.
        assert.isAbove(
          halves.reduce((sum, { leftOvers }) => sum + leftOvers, 0),
          0
        )
      }),
    600_000
  )

  it.scopedLive("keeps the old content whole where the system allows no file that large", () =>
    Effect.gen(function* () {
      const workspace = yield* makeWorkspace
      fs.writeFileSync(path.join(workspace, "f"), "old")
      const input = JSON.stringify({ path: "f", content: "x".repeat(100_000), mode: "replace" })
      const limited = 'ulimit -f 16; exec "$@"'
      const running = yield* startProgram(
        ["bash", "-c", limited, "bash", process.execPath, command, "call", "write", "-", "--yes"],
        workspace
      )
      running.write(input)
      running.end()
      const ended = yield* running.ended
      assert.deepInclude(envelopeOf(ended), { status: "failed" })
      assert.deepStrictEqual(envelopeOf(ended).error, {
        kind: "io",
        message: "f: the file is larger than the system allows here"
      })
      assert.deepStrictEqual(fs.readdirSync(workspace), ["f"])
      assert.strictEqual(fs.readFileSync(path.join(workspace, "f"), "utf8"), "old")
    })
  )
})
