import { execFileSync, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { AuditEntry } from "@scv/core"
import { NodeAuditLog } from "@scv/node"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Stream from "effect/Stream"
import { endEntry } from "./support/auditEntries.ts"

const bounds = { maxBytes: 16 * 1024 * 1024, keepDays: 90 }

/** A directory in which there may come to be a log. */
const temporary = Effect.acquireRelease(
  Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "scv-audit-")))),
  (made) => Effect.sync(() => fs.rmSync(made, { recursive: true, force: true }))
)

/** A log in a directory, open as long as the scope, and what it said. */
const open = (directory: string, given: NodeAuditLog.Bounds = bounds) =>
  Effect.gen(function* () {
    const said: Array<string> = []
    const logger = Logger.replace(
      Logger.defaultLogger,
      Logger.make(({ message }) => {
        said.push(String(message))
      })
    )
    const context = yield* Layer.build(NodeAuditLog.layer(directory))
    const { log } = yield* Effect.provide(NodeAuditLog.AuditFiles, context)
    const { process, record } = log(given)
    return { process, said, record: (entry: AuditEntry.AuditEntry) => Effect.provide(record(entry), logger) }
  })

const read = (directory: string, since?: string) =>
  Effect.map(Stream.runCollect(NodeAuditLog.read(directory, since)), Chunk.toReadonlyArray)

const serials = (lines: ReadonlyArray<NodeAuditLog.AuditLine>) =>
  lines.flatMap(({ entry }) => (entry === undefined ? [] : [entry.serial]))

const tornOf = (lines: ReadonlyArray<NodeAuditLog.AuditLine>) => lines.filter(({ isTorn }) => isTorn).length

const modeOf = (at: string): string => (fs.statSync(at).mode & 0o777).toString(8)

const descriptors = () => fs.readdirSync("/proc/self/fd").length

describe("the log", () => {
  it.scopedLive("makes private files with its first entry, and nothing before", () =>
    Effect.gen(function* () {
      const at = yield* temporary
      const directory = path.join(at, "home/state/audit")
      const { process: identity, record, said } = yield* open(directory)
      assert.deepStrictEqual(fs.readdirSync(at), [])
      yield* record(endEntry("s", 1))
      yield* record(endEntry("s", 2))
      assert.deepStrictEqual(fs.readdirSync(directory), ["2025-01-31.1.jsonl"])
      for (const name of ["home", "home/state", "home/state/audit"])
        assert.strictEqual(modeOf(path.join(at, name)), "700")
      assert.strictEqual(modeOf(path.join(directory, "2025-01-31.1.jsonl")), "600")
      assert.deepStrictEqual(
        fs.readFileSync(path.join(directory, "2025-01-31.1.jsonl"), "utf8"),
        AuditEntry.line(endEntry("s", 1)) + AuditEntry.line(endEntry("s", 2))
      )
      assert.deepStrictEqual([identity.pid, identity.uid], [process.pid, process.getuid?.()])
      assert.deepStrictEqual(said, [])
    })
  )

  it.scopedLive("takes what it finds open to others from them", () =>
    Effect.gen(function* () {
      const directory = path.join(yield* temporary, "audit")
      fs.mkdirSync(directory, { mode: 0o755 })
      fs.writeFileSync(path.join(directory, "2025-01-31.1.jsonl"), "", { mode: 0o644 })
      const { record } = yield* open(directory)
      yield* record(endEntry("s", 1))
      assert.strictEqual(modeOf(directory), "700")
      assert.strictEqual(modeOf(path.join(directory, "2025-01-31.1.jsonl")), "600")
    })
  )

  it.scopedLive("follows no link, waits for no FIFO, and says once why it keeps nothing", () =>
    Effect.gen(function* () {
      const at = yield* temporary
      const target = path.join(at, "target")
      const cases: ReadonlyArray<readonly [string, (file: string, directory: string) => void]> = [
        ["is a link", (file) => fs.symlinkSync(target, file)],
        ["is a FIFO", (file) => execFileSync("mkfifo", [file])],
        ["directory", (file) => fs.mkdirSync(file)],
        [
          "is a link",
          (_, directory) => {
            fs.rmdirSync(directory)
            fs.mkdirSync(target)
            fs.symlinkSync(target, directory)
          }
        ],
        [
          "is not a directory",
          (_, directory) => {
            fs.rmdirSync(directory)
            fs.writeFileSync(directory, "")
          }
        ]
      ]
      for (const [index, [reason, prepare]] of cases.entries()) {
        const directory = path.join(at, String(index))
        fs.mkdirSync(directory)
        prepare(path.join(directory, "2025-01-31.1.jsonl"), directory)
        const before = descriptors()
        const { record, said } = yield* open(directory)
        for (const serial of [1, 2]) yield* record(endEntry("s", serial))
        assert.strictEqual(said.length, 1, reason)
        assert.match(said[0] ?? "", /^NOT RECORDED: /)
        assert.include(said[0], reason)
        assert.strictEqual(descriptors(), before)
        const { fault } = yield* NodeAuditLog.inspect(directory)
        assert.include(fault, reason)
      }
      assert.deepStrictEqual(fs.readdirSync(target), [])
    })
  )

  it.scopedLive("goes on where its file is taken away, and says when it works again", () =>
    Effect.gen(function* () {
      const directory = path.join(yield* temporary, "audit")
      const { record, said } = yield* open(directory)
      yield* record(endEntry("s", 1))
      fs.rmSync(directory, { recursive: true })
      yield* record(endEntry("s", 2))
      assert.deepStrictEqual(serials(yield* read(directory)), [2])
      fs.rmSync(directory, { recursive: true })
      fs.writeFileSync(directory, "")
      for (const serial of [3, 4]) yield* record(endEntry("s", serial))
      fs.rmSync(directory)
      yield* record(endEntry("s", 5))
      assert.deepStrictEqual(serials(yield* read(directory)), [5])
      assert.strictEqual(said.length, 2)
      assert.include(said[1], "2 entries before this are missing")
    })
  )

  it.scopedLive("begins a file a day, and one more where the file is full", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const { record } = yield* open(directory, { maxBytes: 80_000, keepDays: 90 })
      for (let serial = 1; serial <= 12; serial++) yield* record(endEntry("s", serial, 2000))
      yield* record(endEntry("s", 13, 15_000))
      yield* record(endEntry("s", 14, 0, "2025-02-01T00:00:00.000Z"))
      // Behind the times, such as a clock that was set back by a moment.
      yield* record(endEntry("s", 15, 0, "2025-01-31T23:59:59.999Z"))
      const names = fs.readdirSync(directory).sort()
      const january = [1, 2, 3, 4].map((number) => `2025-01-31.${number}.jsonl`)
      assert.deepStrictEqual(names, [...january, "2025-02-01.1.jsonl"])
      for (const name of january.slice(0, 3)) assert.isAtMost(fs.statSync(path.join(directory, name)).size, 10_000)
      assert.deepStrictEqual(
        serials(yield* read(directory)),
        Array.from({ length: 15 }, (_, i) => i + 1)
      )
      assert.deepStrictEqual(serials(yield* read(directory, "2025-02-01")), [14, 15])
    })
  )

  it.scopedLive("keeps no more than its bounds, and touches nothing else", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const maxBytes = 80_000
      fs.writeFileSync(path.join(directory, "notes.txt"), "mine".repeat(50_000))
      const { record } = yield* open(directory, { maxBytes, keepDays: 90 })
      for (let serial = 1; serial <= 300; serial++) {
        yield* record(endEntry("s", serial, 1000))
        const { bytes } = yield* NodeAuditLog.inspect(directory)
        assert.isAtMost(bytes, maxBytes)
      }
      const kept = serials(yield* read(directory))
      assert.strictEqual(kept.at(-1), 300)
      assert.deepStrictEqual(
        kept,
        kept.map((_, i) => 300 - kept.length + 1 + i)
      )
      assert.isAbove(kept.length, 40)
      yield* record(endEntry("s", 301, 0, "2025-05-01T00:00:00.000Z"))
      assert.isAbove(serials(yield* read(directory)).length, 40)
      yield* record(endEntry("s", 302, 0, "2025-05-02T00:00:00.000Z"))
      assert.deepStrictEqual(serials(yield* read(directory)), [301, 302])
      assert.include(fs.readdirSync(directory), "notes.txt")
    })
  )

  it.scopedLive("numbers its files past the ninth in order", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const { record } = yield* open(directory, { maxBytes: 800_000, keepDays: 90 })
      for (let serial = 1; serial <= 12; serial++) yield* record(endEntry("s", serial, 99_000))
      assert.isAbove(fs.readdirSync(directory).length, 5)
      const kept = serials(yield* read(directory))
      assert.deepStrictEqual(
        kept,
        [...kept].sort((a, b) => a - b)
      )
    })
  )

  it.scopedLive("leaves no descriptor behind", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const before = descriptors()
      yield* Effect.scoped(Effect.flatMap(open(directory), ({ record }) => record(endEntry("s", 1))))
      yield* read(directory)
      yield* Effect.scoped(Stream.runHead(NodeAuditLog.read(directory)))
      assert.strictEqual(descriptors(), before)
    })
  )

  it.scopedLive("is read past lines that are broken, foreign, too long or no UTF-8", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const good = (serial: number) => Buffer.from(AuditEntry.line(endEntry("s", serial)))
      const half = good(9).subarray(0, 60)
      fs.writeFileSync(
        path.join(directory, "2025-01-31.1.jsonl"),
        Buffer.concat([
          good(1),
          half,
          good(2),
          Buffer.from("\n\n"),
          half,
          Buffer.from("\n"),
          good(3),
          Buffer.from('{"v":2,"entry":"new"}\n'),
          Buffer.from([0xff, 0xfe, 0x0a]),
          Buffer.alloc(AuditEntry.maxLine + 10, "x"),
          Buffer.from("\n"),
          good(4),
          half
        ])
      )
      const lines = yield* read(directory)
      assert.deepStrictEqual(serials(lines), [1, 2, 3, 4])
      assert.strictEqual(tornOf(lines), 6)
      const { record } = yield* open(directory, { maxBytes: 128 * 1024 * 1024, keepDays: 90 })
      yield* record(endEntry("s", 5))
      // The last line had no end. The new one is on a line of its own.
      const text = fs.readFileSync(path.join(directory, "2025-01-31.1.jsonl"), "utf8")
      assert.isTrue(text.endsWith(`\n${AuditEntry.line(endEntry("s", 5))}`))
      assert.deepStrictEqual(serials(yield* read(directory)), [1, 2, 3, 4, 5])
    })
  )

  it.scopedLive("is nothing where there is none, and an error where it cannot be read", () =>
    Effect.gen(function* () {
      const at = yield* temporary
      assert.deepStrictEqual(yield* read(path.join(at, "none")), [])
      fs.symlinkSync("/etc/passwd", path.join(at, "2025-01-31.1.jsonl"))
      const error = yield* Effect.flip(read(at))
      assert.include(error.message, "is a link")
    })
  )
})

const writer = fileURLToPath(new URL("support/auditWriter.ts", import.meta.url))

/** A process that appends; it waits until it is told to begin. */
const startWriter = (...args: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, ["--import", "tsx", writer, ...args], {
          stdio: ["pipe", "pipe", "inherit"]
        })
      ),
      (started) => Effect.sync(() => started.kill("SIGKILL"))
    )
    const ended = new Promise<number | null>((resolve) => child.once("close", resolve))
    yield* Effect.async<void>((resume) => {
      child.stdout.once("data", () => resume(Effect.void))
      child.once("close", () => resume(Effect.dieMessage("the writer ended before it began")))
    })
    return { begin: Effect.sync(() => child.stdin.end()), ended: Effect.promise(() => ended) }
  })

describe("two processes", () => {
  it.scopedLive(
    "append 10,000 lines each at once, over several files, and none is torn or lost",
    () =>
      Effect.gen(function* () {
        const directory = yield* temporary
        const count = 10_000
        const args = [String(count), String(32 * 1024 * 1024)] as const
        const writers = yield* Effect.all(
          [startWriter(directory, "a", ...args), startWriter(directory, "b", ...args)],
          {
            concurrency: "unbounded"
          }
        )
        for (const { begin } of writers) yield* begin
        for (const { ended } of writers) assert.strictEqual(yield* ended, 0)
        const lines = yield* read(directory)
        assert.strictEqual(tornOf(lines), 0)
        const order = lines.map(({ entry }) => entry?.session)
        for (const session of ["a", "b"]) {
          const found = serials(lines.filter(({ entry }) => entry?.session === session))
          assert.strictEqual(found.length, count)
          assert.isTrue(found.every((serial, index) => index === 0 || serial > (found[index - 1] ?? 0)))
        }
        assert.isAbove(fs.readdirSync(directory).length, 1)
        // They did write at the same time.
        assert.isAbove(order.filter((session, index) => session !== order[index - 1]).length, 2)
      }),
    120_000
  )
})

/** A file system of 64 KiB, where this process may make one. */
const full = ((): string | undefined => {
  const at = fs.mkdtempSync(path.join(os.tmpdir(), "scv-audit-full-"))
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", at], { stdio: "ignore" })
    return at
  } catch {
    fs.rmdirSync(at)
    return undefined
  }
})()

afterAll(() => {
  if (full === undefined) return
  execFileSync("umount", [full])
  fs.rmdirSync(full)
})

// Needs the right to mount; the limit on the size of a file is tested on the command, where anybody can set it.
describe.runIf(full !== undefined)("a full disk", () => {
  it.scopedLive("is said once, tears at most one line, and is got over", () =>
    Effect.gen(function* () {
      const at = full ?? ""
      const directory = path.join(at, "audit")
      const others = yield* open(directory)
      const { record, said } = yield* open(directory)
      const ballast = path.join(at, "ballast")
      fs.writeFileSync(ballast, Buffer.alloc(30_000))
      yield* others.record(endEntry("other", 0))
      let serial = 0
      // More than a page each, so that a part of one still fits.
      while (said.length === 0 && serial < 100) yield* record(endEntry("s", ++serial, 6000))
      assert.match(said[0] ?? "", /NOT RECORDED.*no space left on the device/)
      const { fault } = yield* NodeAuditLog.inspect(directory)
      assert.include(fault, "no space left")
      const kept = serial - 1
      for (let lost = 0; lost < 5; lost++) yield* record(endEntry("s", ++serial, 6000))
      assert.strictEqual(said.length, 1)
      fs.rmSync(ballast)
      // Another process, which does not know of the broken line, is first to write after it.
      yield* others.record(endEntry("other", 1))
      yield* record(endEntry("s", ++serial))
      assert.strictEqual(said.length, 2)
      const lines = yield* read(directory)
      const expected = [0, ...Array.from({ length: kept }, (_, i) => i + 1), 1, serial]
      assert.deepStrictEqual(serials(lines), expected)
      assert.isAtMost(tornOf(lines), 2)
      assert.isAtLeast(tornOf(lines), 1)
    })
  )
})
