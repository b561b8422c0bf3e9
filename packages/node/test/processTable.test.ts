import { spawn } from "node:child_process"
import * as fs from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { byProc } from "../src/internal/processTable.ts"

/** A process with threads, whose numbers follow its own. */
const threaded = Effect.acquireRelease(
  Effect.async<{ readonly pid: number; readonly kill: () => void }>((resume) => {
    const child = spawn(process.execPath, ["-e", "console.log(1); setInterval(() => {}, 1000)"], {
      stdio: ["ignore", "pipe", "ignore"]
    })
    child.stdout.once("data", () => resume(Effect.succeed({ pid: child.pid!, kill: () => child.kill("SIGKILL") })))
  }),
  ({ kill }) => Effect.sync(kill)
)

describe.skipIf(!fs.existsSync("/proc/self/stat"))("a look by number", () => {
  it.scoped("finds processes, and none of their threads", () =>
    Effect.gen(function* () {
      const { pid } = yield* threaded
      const threads = fs.readdirSync(`/proc/${pid}/task`).map(Number)
      const last = Math.max(...threads)
      assert.isAbove(last, pid)
      const isThread = (found: number) => found !== pid && threads.includes(found)
      // However few or many numbers a look covers.
      for (const to of [last, pid + 5, pid + 10_000]) {
        const found = byProc.list(pid, to).map((entry) => entry.pid)
        assert.include(found, pid)
        assert.deepStrictEqual(found.filter(isThread), [])
      }
    })
  )
})
