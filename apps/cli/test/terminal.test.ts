import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { command, makeWorkspace, startProgram } from "./support/scv.ts"

/** The command on a pseudo-terminal, which `script` of util-linux makes. */
const onTerminal = (input = `'{"path":".env"}'`) =>
  Effect.gen(function* () {
    const workspace = yield* makeWorkspace
    fs.writeFileSync(path.join(workspace, ".env"), "KEY=abc123\n")
    const line = `'${process.execPath}' '${command}' call read ${input}; echo "code $?"`
    return yield* startProgram(["script", "-qec", line, "/dev/null"], workspace)
  })

describe("a question at the terminal", () => {
  const answers = [
    ["y\n", "code 0"],
    ["YES\n", "code 0"],
    ["n\n", "code 3"],
    ["\n", "code 3"],
    ["\u0004", "code 3"],
    ["\u0003", "code 130"]
  ] as const

  for (const [typed, code] of answers) {
    it.scopedLive(`takes ${JSON.stringify(typed)} for ${code}`, () =>
      Effect.gen(function* () {
        const running = yield* onTerminal()
        yield* running.until("Approve? [y/N] ")
        running.write(typed)
        yield* running.until(code)
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
      yield* running.until("code 0")
      running.end()
      const { stdout } = yield* running.ended
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
      yield* running.until("code 0")
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
      yield* running.until("code 3")
    })
  )
})
