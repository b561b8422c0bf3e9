import * as fs from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import { makeWorkspace } from "./support/workspace.ts"

describe("read", () => {
  it.scopedLive("gives the whole of a file, with its hash", () =>
    Effect.gen(function* () {
      const { call, put } = yield* makeWorkspace()
      put("a.rs", "fn main() {}\n")
      assert.deepStrictEqual(yield* call("read", { path: "a.rs" }), {
        status: "completed",
        path: "a.rs",
        content: "fn main() {}\n",
        offset: 0,
        bytes: 13,
        total_bytes: 13,
        truncated: false,
        sha256: "536e506bb90914c243a12b397b9a998f85ae2cbd9ba02dfd03a9e155ca5ca0f4"
      })
    })
  )

  it.scopedLive("selects bytes, and says what follows", () =>
    Effect.gen(function* () {
      const { call, put } = yield* makeWorkspace()
      put("a", "abcdefghij")
      const part = { status: "completed", path: "a", total_bytes: 10 }
      const cases = [
        [
          { offset: 2, limit: 3 },
          { content: "cde", offset: 2, bytes: 3, truncated: true }
        ],
        [{ offset: 7 }, { content: "hij", offset: 7, bytes: 3, truncated: false }],
        [
          { offset: 9, limit: 500 },
          { content: "j", offset: 9, bytes: 1, truncated: false }
        ],
        [{ offset: 10 }, { content: "", offset: 10, bytes: 0, truncated: false }],
        [{ offset: 12 }, { content: "", offset: 12, bytes: 0, truncated: false }],
        [
          { offset: 2 ** 40, limit: 1 },
          { content: "", offset: 2 ** 40, bytes: 0, truncated: false }
        ]
      ] as const
      for (const [range, expected] of cases) {
        assert.deepStrictEqual(yield* call("read", { path: "a", ...range }), { ...part, ...expected })
      }
    })
  )

  it.scopedLive("says where whole characters are when the caller's range cuts one", () =>
    Effect.gen(function* () {
      const { call, put } = yield* makeWorkspace()
      put("a", "a€b😀")
      const messageOf = (range: object) =>
        Effect.map(call("read", { path: "a", ...range }), ({ kind, message }) => {
          assert.strictEqual(kind, "not_utf8")
          return message
        })
      assert.strictEqual(
        yield* messageOf({ offset: 2 }),
        "a: offset 2 is inside a character; the nearest good offsets are 1 and 4"
      )
      assert.strictEqual(
        yield* messageOf({ offset: 8, limit: 1 }),
        "a: offset 8 is inside a character; the nearest good offsets are 5 and 9"
      )
      assert.strictEqual(
        yield* messageOf({ limit: 3 }),
        "a: limit 3 ends inside a character, which lies at 1 to 4; a good limit is 1 or 4"
      )
      assert.strictEqual(
        yield* messageOf({ offset: 1, limit: 2 }),
        "a: limit 2 ends inside a character, which lies at 1 to 4; a good limit is 3"
      )
    })
  )

  it.scopedLive("refuses bytes that are no text, also where a cut would lie in them", () =>
    Effect.gen(function* () {
      const { call, put } = yield* makeWorkspace({ limits: { maxReadBytes: 4 } })
      const bad = ["ff", "61ff62", "e282", "f09f98", "c080", "eda080", "618080", "80", "61626380"]
      for (const [index, hex] of bad.entries()) {
        put(`f${index}`, Buffer.from(hex, "hex"))
        assert.deepInclude(yield* call("read", { path: `f${index}` }), { status: "failed", kind: "not_utf8" }, hex)
      }
    })
  )

  it.scopedLive("keeps a byte order mark, NUL and CRLF as they are", () =>
    Effect.gen(function* () {
      const { call, put } = yield* makeWorkspace()
      const content = "\ufeffa\r\nb\0c"
      put("a", content)
      assert.deepInclude(yield* call("read", { path: "a" }), { content, bytes: 9 })
    })
  )

  const text = FastCheck.string({ unit: "binary", maxLength: 80 }).map((value) => value.toWellFormed())

  it.scopedLive("pages through any text by its own maximum without loss", () =>
    Effect.gen(function* () {
      const { call, put } = yield* makeWorkspace({ limits: { maxReadBytes: 5 } })
      for (const whole of FastCheck.sample(text, 150)) {
        put("a", whole)
        let offset = 0
        let content = ""
        for (;;) {
          const page = (yield* call("read", { path: "a", offset })) as unknown as {
            readonly bytes: number
            readonly content: string
            readonly truncated: boolean
          }
          assert.isAtMost(page.bytes, 5)
          content += page.content
          offset += page.bytes
          if (!page.truncated) break
          assert.isAbove(page.bytes, 0)
        }
        assert.strictEqual(content, whole)
      }
    })
  )

  it.scopedLive("answers any range with its text or with good ones", () =>
    Effect.gen(function* () {
      const { call, put } = yield* makeWorkspace()
      const sample = FastCheck.tuple(text, FastCheck.nat(90), FastCheck.integer({ min: 1, max: 90 }))
      for (const [whole, offset, limit] of FastCheck.sample(sample, 300)) {
        put("a", whole)
        const bytes = Buffer.from(whole)
        const answer: Record<string, unknown> = yield* call("read", { path: "a", offset, limit })
        const selected = bytes.subarray(offset, offset + limit)
        if (Buffer.from(selected.toString()).equals(selected)) {
          assert.deepInclude(answer, { status: "completed", content: selected.toString() })
        } else {
          assert.strictEqual(answer.kind, "not_utf8")
          const good = String(answer.message).match(/(?:offsets are|limit is) (\d+)/)?.[1]
          const again = String(answer.message).includes("offsets are")
            ? { offset: Number(good), limit: bytes.length + 1 }
            : { offset, limit: Number(good) }
          assert.deepInclude(yield* call("read", { path: "a", ...again }), { status: "completed" })
        }
      }
    })
  )

  it.scopedLive("asks before a name that looks like a secret's, given or led to", () =>
    Effect.gen(function* () {
      const { at, call, put } = yield* makeWorkspace({ policy: "never" })
      put(".env", "KEY=1")
      put("plain", "x")
      put("keys/.ssh/config", "x")
      put("deep/a/b", "x")
      fs.symlinkSync(".env", at("notes.txt"))
      fs.symlinkSync("notes.txt", at("again.md"))
      fs.symlinkSync("plain", at("fine.txt"))
      fs.symlinkSync("../../plain", at("keys/.ssh/ordinary"))
      fs.symlinkSync("keys/.ssh", at("folder"))
      const outcome = (path: string) => Effect.map(call("read", { path }), ({ status }) => status)
      for (const path of [
        ".env",
        "./.env",
        "notes.txt",
        "again.md",
        "keys/.ssh/config",
        "folder/config",
        "keys/.ssh/ordinary"
      ]) {
        assert.strictEqual(yield* outcome(path), "denied", path)
      }
      for (const path of ["plain", "fine.txt", "deep/a/b"]) assert.strictEqual(yield* outcome(path), "completed", path)
    })
  )

  it.scopedLive("asks before a file in SCV's own directory, whatever it is called", () =>
    Effect.gen(function* () {
      const { at, call, put } = yield* makeWorkspace({ policy: "never", home: "own" })
      put("own/state/notes.txt", "x")
      put("owner/notes.txt", "x")
      fs.symlinkSync("own/state", at("elsewhere"))
      assert.strictEqual((yield* call("read", { path: "own/state/notes.txt" })).status, "denied")
      assert.strictEqual((yield* call("read", { path: "elsewhere/notes.txt" })).status, "denied")
      assert.strictEqual((yield* call("read", { path: "owner/notes.txt" })).status, "completed")
    })
  )

  it.scopedLive("reads the file that was approved, or none", () =>
    Effect.gen(function* () {
      const { at, put, session } = yield* makeWorkspace()
      put(".env", "KEY=1")
      put("other", "KEY=2")
      const { result } = yield* session.submit({ tool: "read", input: { path: ".env" } })
      const [request] = yield* Effect.repeat(session.approvals, { until: (open) => open.length === 1 })
      fs.renameSync(at("other"), at(".env"))
      yield* session.answer(request!.approval_id, { decision: "approve", by: "test" })
      assert.deepInclude((yield* result).error, { kind: "changed" })
    })
  )
})
