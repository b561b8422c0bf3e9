import * as fs from "node:fs"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import { makeWorkspace, startScv } from "./scv.ts"

const versionOf = (i: number): string => `v${i}:${"x".repeat(20_000)}:v${i}`

const isWhole = (content: string): boolean => /^v(\d+):x{20000}:v\1$/.test(content)

const leftOver = /^\.scv-write-\d+-\d+-\d+-[0-9a-f]{16}$/

const call = (i: number): string =>
  `${JSON.stringify({
    type: "call",
    id: String(i),
    tool: "write",
    input:
      i % 5 === 4
        ? { path: `new/${i}`, content: versionOf(i), mode: "create" }
        : { path: "target", content: versionOf(i), mode: "replace" }
  })}\n`

/** What `crash` found: files that are no whole version, names that nobody could explain, and what was swept. */
export interface Crashes {
  readonly torn: ReadonlyArray<string>
  readonly unexplained: ReadonlyArray<string>
  readonly leftOvers: number
  readonly leftAfterSweep: number
}

/**
 * Kills a session that writes without pause, `count` times, each at a random moment, in one workspace; then lets a last
 * session write in peace.
 */
export const crash = (count: number): Effect.Effect<Crashes> =>
  Effect.scoped(
    Effect.gen(function* () {
      const workspace = yield* makeWorkspace
      const target = path.join(workspace, "target")
      fs.writeFileSync(target, versionOf(0))
      fs.mkdirSync(path.join(workspace, "new"))
      const torn: Array<string> = []
      const unexplained: Array<string> = []
      let leftOvers = 0
      let next = 1

      const check = () => {
        const created = fs.readdirSync(path.join(workspace, "new"))
        const names = [...fs.readdirSync(workspace), ...created]
        leftOvers += names.filter((name) => leftOver.test(name)).length
        unexplained.push(...names.filter((name) => !leftOver.test(name) && !/^(?:target|new|\d+)$/.test(name)))
        const wholes = [
          target,
          ...created.filter((name) => !leftOver.test(name)).map((name) => path.join(workspace, "new", name))
        ]
        for (const file of wholes) {
          const content = fs.readFileSync(file, "utf8")
          if (!isWhole(content)) torn.push(`${file}: ${content.length} characters, ${content.slice(0, 20)}`)
        }
      }

      const round = Effect.scoped(
        Effect.gen(function* () {
          const session = yield* startScv(["session", "--yes"], workspace)
          const calls = Array.from({ length: 25 }, () => call(next++))
          session.write(calls.join(""))
          yield* session.until('"completed"')
          // Not a wait for something: the moment of the crash is what is random.
          yield* Effect.sleep(Math.random() * 60)
          session.kill("SIGKILL")
          yield* session.ended
        })
      )
      for (let i = 0; i < count; i++) {
        yield* round
        check()
        for (const name of fs.readdirSync(path.join(workspace, "new"))) {
          if (!leftOver.test(name)) fs.rmSync(path.join(workspace, "new", name))
        }
      }

      const last = yield* startScv(["session", "--yes"], workspace)
      last.write(call(next++ * 5 + 4) + call(next * 5))
      last.end()
      yield* last.ended
      const after = [...fs.readdirSync(workspace), ...fs.readdirSync(path.join(workspace, "new"))]
      return { torn, unexplained, leftOvers, leftAfterSweep: after.filter((name) => leftOver.test(name)).length }
    })
  )
