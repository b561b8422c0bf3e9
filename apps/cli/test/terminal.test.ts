import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { command, makeWorkspace, type Running, startOnTerminal } from "./support/scv.ts"

/** The command on a terminal. */
const onTerminal = (input = '{"path":".env"}') =>
  Effect.gen(function* () {
    const workspace = yield* makeWorkspace
    fs.writeFileSync(path.join(workspace, ".env"), "KEY=abc123\n")
    return yield* startOnTerminal([process.execPath, command, "call", "read", input], workspace)
  })

const endsWith = (running: Running, code: number) =>
  Effect.map(running.ended, (ended) => {
    assert.strictEqual(ended.code, code)
    return ended
  })

describe("a question at the terminal", () => {
  const answers = [
    ["y\n", 0],
    ["YES\n", 0],
    ["n\n", 3],
    ["\n", 3],
    ["\u0004", 3],
    ["\u0003", 130]
  ] as const

  for (const [typed, code] of answers) {
    it.scopedLive(`takes ${JSON.stringify(typed)} for ${code}`, () =>
      Effect.gen(function* () {
        const running = yield* onTerminal()
        yield* running.until("Approve? [y/N] ")
        running.write(typed)
        yield* endsWith(running, code)
      })
    )
  }

  it.scopedLive("asks again where the answer is neither", () =>
    Effect.gen(function* () {
      const running = yield* onTerminal()
      yield* running.until("Approve? [y/N] ")
      running.write("maybe\n")
      yield* running.until("Please answer y or n.")
      running.write("y\n")
      const { stdout } = yield* endsWith(running, 0)
      assert.include(stdout, "KEY=abc123")
    })
  )

  it.scopedLive("is asked after the input was typed, too", () =>
    Effect.gen(function* () {
      const running = yield* onTerminal("-")
      running.write('{"path":".env"}\n\u0004')
      yield* running.until("Approve? [y/N] ")
      running.write("y\n")
      yield* running.until("KEY=abc123")
      yield* endsWith(running, 0)
    })
  )

  it.scopedLive("is not answered by what was typed before it", () =>
    Effect.gen(function* () {
      const running = yield* onTerminal()
      running.write("y\n")
      yield* running.until("Approve? [y/N] ")
      running.write("maybe\ny\n")
      yield* running.until("Please answer y or n.")
      running.write("n\n")
      yield* endsWith(running, 3)
    })
  )
})
