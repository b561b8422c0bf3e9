import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { TerminalProcess } from "@scv/core"
import { NodeTerminalProcess } from "@scv/node"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import { temporary } from "./support/attacker.ts"

const run = (cwd: string, script: string, ...args: ReadonlyArray<string>) =>
  Effect.flatMap(TerminalProcess.TerminalProcess, ({ run }) =>
    run({
      program: "/bin/bash",
      // Where stdin is a socket it takes itself for the shell of a remote login.
      args: ["--norc", "-c", script, "bash", ...args],
      cwd,
      environment: { PATH: "/usr/bin:/bin", ONLY: "this" }
    })
  ).pipe(Effect.provide(NodeTerminalProcess.layer))

const contentOf = (at: string): string => (fs.existsSync(at) ? fs.readFileSync(at, "utf8") : "")

/** Waits until a file holds a whole line. */
const lineOf = (at: string): Effect.Effect<string> =>
  Effect.repeat(
    Effect.sync(() => contentOf(at)),
    { until: (content) => content.endsWith("\n"), schedule: Schedule.spaced("5 millis") }
  ).pipe(Effect.zipRight(Effect.sync(() => contentOf(at).trimEnd())))

const isLive = (pid: string): boolean => {
  try {
    return !/^\d+ \(.*\) [ZX]/s.test(fs.readFileSync(`/proc/${pid}/stat`, "latin1"))
  } catch {
    return false
  }
}

/** The process group of a process: the third field after its name. */
const groupOf = (pid: string): string =>
  fs
    .readFileSync(`/proc/${pid}/stat`, "latin1")
    .replace(/^.*\) /s, "")
    .split(" ")[2]!

describe("a program at the terminal", () => {
  it.scopedLive("gets its arguments, its directory and no variable but those that it is given", () =>
    Effect.gen(function* () {
      const cwd = yield* temporary
      const script = 'printf "<%s>" "$@" > args; pwd -P > at; cat /proc/$$/environ | tr "\\0" "\\n" > environment'
      assert.deepStrictEqual(yield* run(cwd, script, "a b", "", "$x", "é\n"), { code: 0, signal: null })
      assert.strictEqual(contentOf(path.join(cwd, "args")), "<a b><><$x><é\n>")
      assert.strictEqual(contentOf(path.join(cwd, "at")), `${cwd}\n`)
      const variables = contentOf(path.join(cwd, "environment")).trimEnd().split("\n").sort()
      assert.deepStrictEqual(variables, ["ONLY=this", "PATH=/usr/bin:/bin"])
    })
  )

  it.scopedLive("tells how it ended", () =>
    Effect.gen(function* () {
      const cwd = yield* temporary
      assert.deepStrictEqual(yield* run(cwd, "exit 7"), { code: 7, signal: null })
      assert.deepStrictEqual(yield* run(cwd, "kill -TERM $$"), { code: null, signal: "SIGTERM" })
      assert.deepStrictEqual(yield* run(cwd, "kill -KILL $$"), { code: null, signal: "SIGKILL" })
    })
  )

  it.scopedLive("is in the group of this process, so that the terminal is its own too", () =>
    Effect.gen(function* () {
      const cwd = yield* temporary
      const fiber = yield* Effect.fork(run(cwd, "echo $$ > pid; while :; do sleep 0.02; done"))
      const pid = yield* lineOf(path.join(cwd, "pid"))
      assert.strictEqual(groupOf(pid), groupOf(String(process.pid)))
      yield* Fiber.interrupt(fiber)
    })
  )

  it.scopedLive("is ended by an interruption, which waits for it to clean up", () =>
    Effect.gen(function* () {
      const cwd = yield* temporary
      const script = 'trap "sleep 0.3; echo yes > cleaned; exit" TERM; echo $$ > pid; while :; do sleep 0.02; done'
      const fiber = yield* Effect.fork(run(cwd, script))
      const pid = yield* lineOf(path.join(cwd, "pid"))
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(contentOf(path.join(cwd, "cleaned")), "yes\n")
      assert.isFalse(isLive(pid))
    })
  )

  it.scopedLive("is killed where it does not end", () =>
    Effect.gen(function* () {
      const cwd = yield* temporary
      const fiber = yield* Effect.fork(run(cwd, 'trap "" TERM; echo $$ > pid; while :; do sleep 0.02; done'))
      const pid = yield* lineOf(path.join(cwd, "pid"))
      yield* Fiber.interrupt(fiber)
      assert.isFalse(isLive(pid))
    })
  )

  it.scopedLive("says why it cannot be started", () =>
    Effect.gen(function* () {
      const cwd = yield* temporary
      const { run } = yield* Effect.provide(TerminalProcess.TerminalProcess, NodeTerminalProcess.layer)
      const request = { program: "/bin/bash", args: [], cwd, environment: {} }
      for (const [change, kind] of [
        [{ program: path.join(cwd, "none") }, "unavailable"],
        [{ program: cwd }, "permission"],
        [{ args: ["-c", "x".repeat(131_072)] }, "limit"]
      ] as const) {
        assert.strictEqual((yield* Effect.flip(run({ ...request, ...change }))).kind, kind)
      }
    })
  )
})
