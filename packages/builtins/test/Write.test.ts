import { createHash } from "node:crypto"
import * as fs from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { makeWorkspace } from "./support/workspace.ts"

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex")

const allowed = { assumeYes: true } as const

for (const containment of ["descriptors", "portable"] as const) {
  describe(`write (${containment})`, () => {
    const makeAllowed = (options: object = {}) => makeWorkspace({ ...allowed, containment, ...options })

    it.scopedLive("creates a file and its parents, with the ordinary mode of a new file", () =>
      Effect.gen(function* () {
        const { at, call, directory, get } = yield* makeAllowed()
        assert.deepStrictEqual(yield* call("write", { path: "x/y/z", content: "deep\n", mode: "create" }), {
          status: "completed",
          path: "x/y/z",
          bytes: 5,
          sha256: sha256("deep\n"),
          created: true
        })
        assert.strictEqual(get("x/y/z"), "deep\n")
        assert.strictEqual(fs.statSync(at("x/y/z")).mode & 0o777, 0o666 & ~process.umask())
        assert.deepStrictEqual(fs.readdirSync(directory, { recursive: true }), ["x", "x/y", "x/y/z"])
      })
    )

    it.scopedLive("writes exactly the bytes that it is given", () =>
      Effect.gen(function* () {
        const { at, call } = yield* makeAllowed()
        for (const content of ["", "\ufeffa\r\nb😀\0c", "\ufffd", "no newline"]) {
          const path = `f${content.length}`
          const answer = yield* call("write", { path, content, mode: "create" })
          assert.deepInclude(answer, { bytes: Buffer.byteLength(content), sha256: sha256(content) })
          assert.isTrue(fs.readFileSync(at(path)).equals(Buffer.from(content)))
        }
      })
    )

    it.scopedLive("never takes the place of anything it was told to create", () =>
      Effect.gen(function* () {
        const { at, call, directory, get, put } = yield* makeAllowed()
        put("file", "keep")
        fs.mkdirSync(at("dir"))
        fs.symlinkSync("file", at("live"))
        fs.symlinkSync("missing", at("dangling"))
        fs.symlinkSync("/etc/scv-nowhere", at("out"))
        const before = fs.readdirSync(directory)
        for (const path of ["file", "dir", "live", "dangling", "out"]) {
          const answer = yield* call("write", { path, content: "x", mode: "create" })
          assert.deepInclude(answer, { status: "failed", kind: "already_exists" }, path)
        }
        assert.strictEqual(get("file"), "keep")
        assert.deepStrictEqual(fs.readdirSync(directory), before)
      })
    )

    it.scopedLive("replaces what is there, and keeps its mode and the links to it", () =>
      Effect.gen(function* () {
        const { at, call, directory, get, put } = yield* makeAllowed()
        for (const mode of [0o600, 0o640, 0o750, 0o666, 0o4755]) {
          put("d/f", "old")
          fs.chmodSync(at("d/f"), mode)
          assert.deepInclude(yield* call("write", { path: "d/f", content: "new", mode: "replace" }), { created: false })
          assert.strictEqual(fs.statSync(at("d/f")).mode & 0o7777, mode & 0o777)
        }
        fs.symlinkSync("d/f", at("link"))
        fs.symlinkSync(`${directory}/d`, at("folder"))
        yield* call("write", { path: "link", content: "by link", mode: "replace" })
        assert.strictEqual(get("d/f"), "by link")
        yield* call("write", { path: "folder/f", content: "by folder", mode: "replace" })
        assert.strictEqual(get("d/f"), "by folder")
        assert.strictEqual(fs.readlinkSync(at("link")), "d/f")
        assert.deepStrictEqual(fs.readdirSync(at("d")), ["f"])
      })
    )

    it.scopedLive("splits a hard link", () =>
      Effect.gen(function* () {
        const { at, call, get, put } = yield* makeAllowed()
        put("a", "old")
        fs.linkSync(at("a"), at("b"))
        yield* call("write", { path: "a", content: "new", mode: "replace" })
        assert.deepStrictEqual([get("a"), get("b")], ["new", "old"])
      })
    )

    it.scopedLive("names what stands in the way, and changes nothing", () =>
      Effect.gen(function* () {
        const { at, call, directory, put } = yield* makeAllowed({ limits: { maxWriteBytes: 10 } })
        put("file", "keep")
        put("read-only", "keep")
        fs.chmodSync(at("read-only"), 0o444)
        fs.mkdirSync(at("dir"))
        fs.symlinkSync("missing", at("dangling"))
        fs.symlinkSync("/etc", at("out"))
        const before = fs.readdirSync(directory)
        const cases = [
          [{ path: "gone", mode: "replace" }, "failed", "not_found"],
          [{ path: "m/n/o", mode: "replace" }, "failed", "not_found"],
          [{ path: "dangling", mode: "replace" }, "failed", "not_found"],
          [{ path: "dir", mode: "replace" }, "failed", "not_a_file"],
          [{ path: "new/", mode: "create" }, "failed", "not_a_file"],
          [{ path: "new/x/", mode: "create" }, "failed", "not_a_file"],
          [{ path: "new/../x", mode: "create" }, "failed", "not_found"],
          [{ path: "file/x", mode: "create" }, "failed", "not_a_directory"],
          [{ path: "read-only", mode: "replace" }, "failed", "permission"],
          [{ path: "../x", mode: "create" }, "invalid", "outside_workspace"],
          [{ path: "/x", mode: "create" }, "invalid", "outside_workspace"],
          [{ path: "out/x", mode: "create" }, "invalid", "outside_workspace"],
          [{ path: "out/hosts", mode: "replace" }, "invalid", "outside_workspace"],
          [{ path: `${directory}/x`, mode: "create" }, "invalid", "invalid_input"],
          [{ path: "x".repeat(256), mode: "create" }, "invalid", "limit"],
          [{ path: `new/${"x".repeat(256)}`, mode: "create" }, "invalid", "limit"],
          [{ path: "p/q", mode: "create", content: "01234567890" }, "invalid", "too_large"],
          [{ path: "p/q", mode: "append" }, "invalid", "invalid_input"],
          [{ path: "p/q", mode: "create", expected_sha256: sha256("") }, "invalid", "invalid_input"],
          [{ path: "file", mode: "replace", expected_sha256: "xyz" }, "invalid", "invalid_input"],
          [{ path: "file", mode: "replace", expected_sha256: sha256("other") }, "failed", "stale"]
        ] as const
        for (const [input, status, kind] of cases) {
          const answer = yield* call("write", { content: "x", ...input })
          assert.deepInclude(answer, { status, kind }, JSON.stringify(input))
        }
        assert.deepStrictEqual(fs.readdirSync(directory), before)
      })
    )

    it.scopedLive("takes the hash of a read, in either case, and is then stale", () =>
      Effect.gen(function* () {
        const { call, get, put } = yield* makeAllowed()
        put("f", "v1")
        const { sha256: first } = (yield* call("read", { path: "f" })) as unknown as { sha256: string }
        const replace = (content: string, expected_sha256: string) =>
          call("write", { path: "f", content, mode: "replace", expected_sha256 })
        assert.deepInclude(yield* replace("v2", first.toUpperCase()), { status: "completed" })
        assert.deepInclude(yield* replace("v3", first), { status: "failed", kind: "stale" })
        assert.strictEqual(get("f"), "v2")
      })
    )
  })
}

describe("write", () => {
  it.scopedLive("may not touch SCV's own directory, however it is reached and whether or not it is there", () =>
    Effect.gen(function* () {
      const { at, call, directory, put } = yield* makeWorkspace({ ...allowed, home: "own/home" })
      fs.symlinkSync("own", at("elsewhere"))
      const refused = { status: "failed", kind: "permission" }
      assert.deepInclude(yield* call("write", { path: "own/home/x", content: "", mode: "create" }), refused)
      assert.deepInclude(yield* call("write", { path: "own/home", content: "", mode: "create" }), refused)
      put("own/home/config.toml", "")
      for (const path of ["own/home/config.toml", "elsewhere/home/config.toml", "own/../own/home/config.toml"]) {
        assert.deepInclude(yield* call("write", { path, content: "x", mode: "replace" }), refused, path)
      }
      assert.deepInclude(yield* call("write", { path: "own/homely", content: "", mode: "create" }), {
        status: "completed"
      })
      assert.deepStrictEqual(fs.readdirSync(directory), ["elsewhere", "own"])
    })
  )

  const asked = (session: {
    readonly approvals: Effect.Effect<ReadonlyArray<{ approval_id: string; summary: string }>>
  }) => Effect.map(Effect.repeat(session.approvals, { until: (open) => open.length === 1 }), ([request]) => request!)

  it.scopedLive("shows path, mode, sizes and what changes", () =>
    Effect.gen(function* () {
      const { at, put, session } = yield* makeWorkspace()
      put("d/f", "one\ntwo\nthree\n")
      fs.symlinkSync("d/f", at("link"))
      const { result } = yield* session.submit({
        tool: "write",
        input: { path: "link", content: "one\n2\u001b[2J\nthree\n", mode: "replace" }
      })
      const { approval_id, summary } = yield* asked(session)
      assert.strictEqual(
        summary,
        [
          "write link",
          "  mode: replace",
          "  leads to: d/f",
          "  bytes: 16, in the place of 14",
          "  change:",
          "    | @@ -1,3 +1,3 @@",
          "    |  one",
          "    | -two",
          "    | +2\\x1b[2J",
          "    |  three"
        ].join("\n")
      )
      yield* session.answer(approval_id, { decision: "approve", by: "test" })
      assert.strictEqual((yield* result).status, "completed")
    })
  )

  it.scopedLive("bounds what it shows, also of what cannot be compared", () =>
    Effect.gen(function* () {
      const { put, session } = yield* makeWorkspace()
      put("binary", Buffer.of(0xff))
      put("huge", "x\n".repeat(200_000))
      put("unlike", Array.from({ length: 20_000 }, (_, i) => `a${i}\n`).join(""))
      const cases = [
        ["binary", "x\n", "the old content is no text"],
        ["huge", "x\n", "too large to compare"],
        ["unlike", Array.from({ length: 20_000 }, (_, i) => `b${i}\n`).join(""), "lines left out"]
      ] as const
      for (const [path, content, said] of cases) {
        const { id } = yield* session.submit({ tool: "write", input: { path, content, mode: "replace" } })
        const { summary } = yield* asked(session)
        assert.include(summary, said)
        assert.isBelow(summary.split("\n").length, 220)
        yield* session.cancel(id)
        yield* session.idle
      }
    })
  )

  it.scopedLive("refuses where the file was changed while somebody thought about it", () =>
    Effect.gen(function* () {
      const { at, get, put, session } = yield* makeWorkspace()
      const changes: ReadonlyArray<() => void> = [
        () => fs.writeFileSync(at("f"), "edit"),
        () => fs.chmodSync(at("f"), 0o600),
        () => fs.renameSync(at("other"), at("f"))
      ]
      for (const change of changes) {
        fs.rmSync(at("f"), { force: true })
        put("f", "seen")
        put("other", "seen")
        const { result } = yield* session.submit({
          tool: "write",
          input: { path: "f", content: "new", mode: "replace" }
        })
        const { approval_id } = yield* asked(session)
        change()
        yield* session.answer(approval_id, { decision: "approve", by: "test" })
        assert.deepInclude((yield* result).error, { kind: "changed" })
        assert.notStrictEqual(get("f"), "new")
      }
    })
  )

  it.scopedLive("makes no folder before it is approved", () =>
    Effect.gen(function* () {
      const { directory, session } = yield* makeWorkspace()
      const { id } = yield* session.submit({
        tool: "write",
        input: { path: "p/q/r", content: "x", mode: "create" }
      })
      yield* asked(session)
      assert.deepStrictEqual(fs.readdirSync(directory), [])
      yield* session.cancel(id)
      yield* session.idle
      assert.deepStrictEqual(fs.readdirSync(directory), [])
    })
  )

  it.scopedLive("comes into the directory that was shown, or nowhere", () =>
    Effect.gen(function* () {
      const { at, get, session } = yield* makeWorkspace()
      for (const path of ["d1/n", "d1/deep/n"]) {
        fs.mkdirSync(at("d1"))
        fs.mkdirSync(at("d2"))
        const { result } = yield* session.submit({ tool: "write", input: { path, content: "x", mode: "create" } })
        const { approval_id } = yield* asked(session)
        fs.renameSync(at("d1"), at("away"))
        fs.renameSync(at("d2"), at("d1"))
        yield* session.answer(approval_id, { decision: "approve", by: "test" })
        assert.deepInclude((yield* result).error, { kind: "changed" })
        assert.throws(() => get(path))
        for (const name of ["d1", "away"]) fs.rmSync(at(name), { recursive: true })
      }
    })
  )

  it.scopedLive("shows no line that is too long to read", () =>
    Effect.gen(function* () {
      const { session } = yield* makeWorkspace()
      const content = "\u202e".repeat(100_000)
      yield* session.submit({ tool: "write", input: { path: "f", content, mode: "create" } })
      const { summary } = yield* asked(session)
      assert.isBelow(summary.length, 3000)
      assert.include(summary, "more characters")
    })
  )

  it.scopedLive("hashes a large file in pieces", () =>
    Effect.gen(function* () {
      const { at, call } = yield* makeWorkspace(allowed)
      fs.writeFileSync(at("large"), "")
      fs.truncateSync(at("large"), 400 * 1024 * 1024)
      const before = process.memoryUsage.rss()
      const answer = yield* call("write", { path: "large", content: "", mode: "replace", expected_sha256: sha256("") })
      assert.deepInclude(answer, { kind: "stale" })
      assert.isBelow(process.memoryUsage.rss() - before, 100 * 1024 * 1024)
    })
  )
})
