import { execFileSync, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Directory } from "@scv/core"
import { NodeDirectory } from "@scv/node"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"

const temporary = Effect.acquireRelease(
  Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "scv-writing-")))),
  (made) => Effect.sync(() => fs.rmSync(made, { recursive: true, force: true }))
)

const open = (directory: string) =>
  Effect.flatMap(Directory.Directories, (directories) => directories.open(directory)).pipe(
    Effect.provide(NodeDirectory.layer())
  )

/** Prepares and writes, as a tool does; the answer tells whether the content was installed. */
const write = (directory: Directory.Directory, name: string, mode: Directory.WriteMode, content: string | Uint8Array) =>
  Effect.flatMap(directory.target(name, mode), ({ existing, location, parent }) =>
    directory.write(name, {
      mode,
      content: Buffer.from(content),
      expected: { location, existing, parent },
      expectedSha256: undefined,
      onInstalled: Effect.void
    })
  )

const descriptors = () => fs.readdirSync("/proc/self/fd").length

describe("write", () => {
  it.scopedLive("interrupted at any moment leaves the old content or the new, and nothing else", () =>
    Effect.gen(function* () {
      const at = yield* temporary
      const directory = yield* open(at)
      fs.writeFileSync(path.join(at, "f"), "v0")
      const before = descriptors()
      const installed: Array<boolean> = []
      let content = "v0"
      let span = 25
      for (let i = 1; i <= 400; i++) {
        let isInstalled = false
        const { existing, location, parent } = yield* directory.target("f", "replace")
        const fiber = yield* Effect.fork(
          directory.write("f", {
            mode: "replace",
            content: Buffer.from(`v${i}`),
            expected: { location, existing, parent },
            expectedSha256: undefined,
            onInstalled: Effect.sync(() => {
              isInstalled = true
            })
          })
        )
        // The interruption falls into each turn of the event loop that a write takes. How many those are depends on how
        // fast the threads are that do its system calls: where none got through, more turns are waited for.
        for (let turn = 0; turn < i % span; turn++) yield* Effect.promise(() => new Promise(setImmediate))
        yield* Fiber.interrupt(fiber)
        if (isInstalled) content = `v${i}`
        else if (i % span === span - 1) span *= 2
        installed.push(isInstalled)
        assert.strictEqual(fs.readFileSync(path.join(at, "f"), "utf8"), content)
        assert.deepStrictEqual(fs.readdirSync(at), ["f"])
      }
      assert.include(installed, true)
      assert.include(installed, false)
      assert.strictEqual(descriptors(), before)
    })
  )

  it.scopedLive("interrupted or refused takes back the folders that it made", () =>
    Effect.gen(function* () {
      const at = yield* temporary
      const directory = yield* open(at)
      for (let i = 0; i < 60; i++) {
        const fiber = yield* Effect.fork(write(directory, "a/b/c/f", "create", "x"))
        for (let turn = 0; turn < i % 12; turn++) yield* Effect.promise(() => new Promise(setImmediate))
        const exit = yield* Fiber.interrupt(fiber)
        const isThere = fs.existsSync(path.join(at, "a/b/c/f"))
        if (Exit.isSuccess(exit)) assert.isTrue(isThere)
        assert.deepStrictEqual(fs.readdirSync(at), isThere ? ["a"] : [])
        fs.rmSync(path.join(at, "a"), { recursive: true, force: true })
      }
    })
  )

  it.scopedLive("of twenty creators lets exactly one win", () =>
    Effect.gen(function* () {
      const at = yield* temporary
      // Each has a directory of its own, so that no turns are taken: only the system decides.
      const directories = yield* Effect.forEach(Array.from({ length: 20 }), () => open(at))
      for (let round = 0; round < 10; round++) {
        const outcomes = yield* Effect.forEach(
          directories.map((directory, index) => ({ directory, index })),
          ({ directory, index }) => Effect.either(write(directory, `new/f${round}`, "create", `by ${index}`)),
          { concurrency: "unbounded" }
        )
        const winners = outcomes.flatMap((outcome, index) => (Either.isRight(outcome) ? [index] : []))
        assert.lengthOf(winners, 1)
        for (const outcome of outcomes)
          if (Either.isLeft(outcome)) assert.strictEqual(outcome.left.kind, "already_exists")
        assert.strictEqual(fs.readFileSync(path.join(at, `new/f${round}`), "utf8"), `by ${winners[0]}`)
      }
      assert.lengthOf(fs.readdirSync(path.join(at, "new")), 10)
    })
  )

  it.scopedLive("of many replacers with one expectation lets exactly one win", () =>
    Effect.gen(function* () {
      const at = yield* temporary
      const directory = yield* open(at)
      for (let round = 0; round < 20; round++) {
        fs.writeFileSync(path.join(at, "f"), `old ${round}`)
        const { existing, location, parent } = yield* directory.target("f", "replace")
        const outcomes = yield* Effect.forEach(
          Array.from({ length: 10 }, (_, index) => index),
          (index) =>
            Effect.either(
              directory.write("f", {
                mode: "replace",
                content: Buffer.from(`by ${index}`),
                expected: { location, existing, parent },
                expectedSha256: undefined,
                onInstalled: Effect.void
              })
            ),
          { concurrency: "unbounded" }
        )
        const winners = outcomes.flatMap((outcome, index) => (Either.isRight(outcome) ? [index] : []))
        assert.lengthOf(winners, 1)
        assert.strictEqual(fs.readFileSync(path.join(at, "f"), "utf8"), `by ${winners[0]}`)
        for (const outcome of outcomes) if (Either.isLeft(outcome)) assert.strictEqual(outcome.left.kind, "changed")
      }
      assert.deepStrictEqual(fs.readdirSync(at), ["f"])
    })
  )

  it.scopedLive(
    "never shows a reader a mixture of two contents",
    () =>
      Effect.gen(function* () {
        const at = yield* temporary
        const directory = yield* open(at)
        const file = path.join(at, "f")
        const size = 1024 * 1024
        fs.writeFileSync(file, Buffer.alloc(size, "A"))
        const reader = spawn(process.execPath, [
          "-e",
          `const fs = require("node:fs")
           let reads = 0, mixed = 0, stop = false
           process.stdin.on("end", () => { stop = true }).resume()
           const turn = () => {
             const bytes = fs.readFileSync(process.argv[1])
             if (bytes.length !== ${size} || bytes[0] !== bytes[${size - 1}]) mixed++
             if (++reads === 1) console.log("ready")
             if (stop) console.log(JSON.stringify({ reads, mixed }))
             else setImmediate(turn)
           }
           turn()`,
          file
        ])
        yield* Effect.addFinalizer(() => Effect.sync(() => reader.kill("SIGKILL")))
        let output = ""
        reader.stdout.setEncoding("utf8")
        yield* Effect.async<void>((resume) => {
          reader.stdout.on("data", (text: string) => {
            output += text
            resume(Effect.void)
          })
        })
        for (let i = 0; i < 500; i++) yield* write(directory, "f", "replace", Buffer.alloc(size, 65 + (i % 26)))
        reader.stdin.end()
        yield* Effect.async<void>((resume) => {
          reader.once("close", () => resume(Effect.void))
        })
        const { mixed, reads } = JSON.parse(output.slice("ready\n".length))
        assert.strictEqual(mixed, 0)
        assert.isAbove(reads, 50)
      }),
    60_000
  )

  it.scopedLive("sweeps what dead writers left, and touches nothing of living ones or of strangers", () =>
    Effect.gen(function* () {
      const at = yield* temporary
      const directory = yield* open(at)
      yield* write(directory, "other/f", "create", "x")
      const namespace = fs.statSync("/proc/self/ns/pid", { bigint: true }).ino
      const dead = spawn("true")
      const pid = dead.pid
      yield* Effect.async<void>((resume) => {
        dead.once("close", () => resume(Effect.void))
      })
      const names = {
        [`.scv-write-${namespace}-${pid}-1-00112233445566ff`]: "swept",
        // This process lives, but it did not start at that time: the number was given again.
        [`.scv-write-${namespace}-${process.pid}-1-00112233445566ff`]: "swept",
        [`.scv-write-1-${pid}-1-00112233445566ff`]: "kept",
        [`.scv-write-${namespace}-${pid}-1-00112233445566ff.txt`]: "kept",
        [`.scv-write-${namespace}-${pid}-1`]: "kept",
        "scv-write": "kept"
      }
      for (const name of Object.keys(names)) fs.writeFileSync(path.join(at, name), "x")
      yield* write(directory, "f", "create", "x")
      for (const [name, fate] of Object.entries(names)) {
        assert.strictEqual(fs.existsSync(path.join(at, name)), fate === "kept", name)
      }
    })
  )
})

const isRoot = process.geteuid?.() === 0

// Only root can become somebody who lacks a permission that the files' owner has.
describe.runIf(isRoot)("write, as somebody without privileges", () => {
  const asNobody = Effect.acquireRelease(
    Effect.sync(() => {
      process.setegid?.(65534)
      process.seteuid?.(65534)
    }),
    () =>
      Effect.sync(() => {
        process.seteuid?.(0)
        process.setegid?.(0)
      })
  )

  it.scopedLive("names a missing permission and leaves everything as it was", () =>
    Effect.gen(function* () {
      const at = yield* temporary
      fs.chmodSync(at, 0o755)
      fs.mkdirSync(path.join(at, "closed"))
      fs.writeFileSync(path.join(at, "closed/f"), "old")
      fs.chmodSync(path.join(at, "closed/f"), 0o666)
      fs.mkdirSync(path.join(at, "hidden"), { mode: 0o700 })
      const directory = yield* open(at)
      const outcomes = yield* Effect.scoped(
        Effect.zipRight(
          asNobody,
          Effect.all({
            create: Effect.flip(write(directory, "closed/new", "create", "x")),
            parents: Effect.flip(write(directory, "closed/a/b", "create", "x")),
            replace: Effect.flip(write(directory, "closed/f", "replace", "x")),
            hidden: Effect.flip(write(directory, "hidden/new", "create", "x"))
          })
        )
      )
      for (const [name, { kind }] of Object.entries(outcomes)) assert.strictEqual(kind, "permission", name)
      assert.deepStrictEqual(fs.readdirSync(path.join(at, "closed")), ["f"])
      assert.strictEqual(fs.readFileSync(path.join(at, "closed/f"), "utf8"), "old")
    })
  )

  it.scopedLive("keeps the owner of what root replaces", () =>
    Effect.gen(function* () {
      const at = yield* temporary
      const directory = yield* open(at)
      fs.writeFileSync(path.join(at, "f"), "old")
      fs.chownSync(path.join(at, "f"), 1234, 4321)
      yield* write(directory, "f", "replace", "new")
      const { gid, uid } = fs.statSync(path.join(at, "f"))
      assert.deepStrictEqual([uid, gid], [1234, 4321])
    })
  )
})

/** A file system of 64 KiB, where this process may make one. */
const full = ((): string | undefined => {
  const at = fs.mkdtempSync(path.join(os.tmpdir(), "scv-full-"))
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
describe.runIf(full !== undefined)("write, on a full disk", () => {
  it.scopedLive("leaves the old content whole and nothing behind", () =>
    Effect.gen(function* () {
      const at = full ?? ""
      const directory = yield* open(at)
      fs.writeFileSync(path.join(at, "f"), "old")
      const large = Buffer.alloc(100_000, "x")
      const replaced = yield* Effect.flip(write(directory, "f", "replace", large))
      const created = yield* Effect.flip(write(directory, "a/b", "create", large))
      for (const error of [replaced, created]) {
        assert.strictEqual(error.kind, "io")
        assert.include(error.message, "no space left on the device")
      }
      assert.deepStrictEqual(fs.readdirSync(at), ["f"])
      assert.strictEqual(fs.readFileSync(path.join(at, "f"), "utf8"), "old")
    })
  )
})
