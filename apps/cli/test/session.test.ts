import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { linesOf, makeWorkspace, scv, startScv } from "./support/scv.ts"

const withFiles = Effect.tap(makeWorkspace, (workspace) =>
  Effect.sync(() => {
    fs.writeFileSync(path.join(workspace, "a"), "one")
    fs.writeFileSync(path.join(workspace, ".env"), "KEY=1")
  })
)

const call = (id: string, file: string) =>
  `${JSON.stringify({ type: "call", id, tool: "read", input: { path: file } })}\n`

const statusOf = (lines: ReadonlyArray<Record<string, unknown>>, id: string) =>
  lines
    .filter((line) => line.event === "completed" && line.id === id)
    .map((line) => (line.result as { status: string }).status)
    .join()

describe("scv session", () => {
  it.scopedLive("answers the calls in order, and a line that is none with an error", () =>
    Effect.gen(function* () {
      const stdin = ["oops", "[]", "null", '{"type":"what"}', '{"type":"call","id":"x","tool":7}', "", "  "].join("\n")
      const ended = yield* scv(["session"], yield* withFiles, `${stdin}\n${call("1", "a")}${call("2", "nope")}`)
      const lines = linesOf(ended)
      assert.strictEqual(ended.code, 0)
      assert.strictEqual(ended.stderr, "")
      assert.lengthOf(
        lines.filter(({ type }) => type === "error"),
        5
      )
      assert.deepInclude(
        lines.find(({ id }) => id === "x"),
        { type: "error", message: "`tool`: expected a string, got 7" }
      )
      assert.strictEqual(statusOf(lines, "1"), "completed")
      assert.strictEqual(statusOf(lines, "2"), "failed")
      assert.deepStrictEqual(
        lines.filter(({ type }) => type === "event").map(({ seq }) => seq),
        [1, 2, 3, 4, 5]
      )
    })
  )

  it.scopedLive("asks and takes the answer, by id, once", () =>
    Effect.gen(function* () {
      const session = yield* startScv(["session"], yield* withFiles)
      session.write(call("a", ".env"))
      yield* session.until('"approval_requested"')
      session.write('{"type":"approve","approval_id":"nope"}\n')
      yield* session.until('no question \\"nope\\" is open')
      session.write('{"type":"approve","approval_id":"a-1"}\n{"type":"deny","approval_id":"a-1"}\n')
      yield* session.until('"completed"')
      session.write(call("b", ".env"))
      yield* session.until('"b-2"')
      session.write('{"type":"deny","approval_id":"b-2","reason":"no\\u001b[2J"}\n')
      session.end()
      const ended = yield* session.ended
      const lines = linesOf(ended)
      assert.strictEqual(ended.code, 0)
      assert.strictEqual(statusOf(lines, "a"), "completed")
      assert.strictEqual(statusOf(lines, "b"), "denied")
      assert.include(ended.stdout, 'no question \\"a-1\\" is open')
      assert.include(ended.stdout, "read was denied: no\\\\x1b[2J")
    })
  )

  it.scopedLive("denies a question that nobody can answer any more", () =>
    Effect.gen(function* () {
      const ended = yield* scv(["session"], yield* withFiles, call("a", ".env") + call("b", "a"))
      const lines = linesOf(ended)
      assert.strictEqual(statusOf(lines, "a"), "denied")
      assert.strictEqual(statusOf(lines, "b"), "completed")
    })
  )

  it.scopedLive("cancels a call by id and goes on", () =>
    Effect.gen(function* () {
      const session = yield* startScv(["session"], yield* withFiles)
      session.write(call("a", ".env"))
      yield* session.until('"approval_requested"')
      session.write('{"type":"cancel","id":"a"}\n{"type":"cancel","id":"zz"}\n')
      session.write(call("b", "a"))
      session.end()
      const ended = yield* session.ended
      const lines = linesOf(ended)
      assert.strictEqual(statusOf(lines, "a"), "cancelled")
      assert.strictEqual(statusOf(lines, "b"), "completed")
      assert.include(ended.stdout, 'no call \\"zz\\" is waiting or running')
    })
  )

  it.scopedLive("cancels everything at a signal, says so, and exits 130", () =>
    Effect.gen(function* () {
      for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
        const session = yield* startScv(["session"], yield* withFiles)
        session.write(call("a", ".env") + call("b", "a"))
        yield* session.until('"approval_requested"')
        session.kill(signal)
        const ended = yield* session.ended
        const lines = linesOf(ended)
        assert.strictEqual(ended.code, 130)
        assert.strictEqual(statusOf(lines, "a"), "cancelled")
        assert.strictEqual(statusOf(lines, "b"), "cancelled")
      }
    })
  )

  it.scopedLive("frames by LF alone, and takes lines up to 4 MiB", () =>
    Effect.gen(function* () {
      const workspace = yield* withFiles
      fs.writeFileSync(path.join(workspace, "x\u2028y"), "separated")
      const long = `{"type":"call","id":"long","tool":"read","input":{"path":"${"x".repeat(4 * 1024 * 1024)}"}}\n`
      const stdin = `${long}${call("a", "x\u2028y")}${call("b", "a").replace("\n", "\r\n")}${call("c", "a").trimEnd()}`
      const lines = linesOf(yield* scv(["session"], workspace, stdin))
      assert.match(String(lines[0]?.message), /^a line of \d+ bytes; the most is 4194304$/)
      for (const id of ["a", "b", "c"]) assert.strictEqual(statusOf(lines, id), "completed", id)
      const bytes = Buffer.concat([Buffer.of(0xff, 10), Buffer.from(call("d", "a"))])
      const [fault, ...rest] = linesOf(yield* scv(["session"], workspace, bytes))
      assert.strictEqual(fault?.message, "a line that is not UTF-8")
      assert.strictEqual(statusOf(rest, "d"), "completed")
    })
  )

  it.scopedLive("lists the tools with their schemas", () =>
    Effect.gen(function* () {
      const [line] = linesOf(yield* scv(["session"], yield* withFiles, '{"type":"tools"}\n'))
      const [read] = (line?.tools ?? []) as ReadonlyArray<Record<string, unknown>>
      assert.deepInclude(read, { name: "read", risk: "read_only", available: true })
      assert.deepInclude(read?.input_schema as object, { type: "object", additionalProperties: false })
    })
  )
})
