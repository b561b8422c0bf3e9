import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { PrivateDirectories } from "@scv/core"
import { NodePrivateDirectories } from "@scv/node"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { temporary } from "./support/attacker.ts"
import { openFiles } from "./support/openFiles.ts"

const ensure = (directory: PrivateDirectories.PrivateDirectory) =>
  Effect.flatMap(PrivateDirectories.PrivateDirectories, ({ ensure }) => Effect.either(ensure(directory))).pipe(
    Effect.provide(NodePrivateDirectories.layer)
  )

const put = (at: string, files: Readonly<Record<string, string>>) =>
  Effect.flatMap(PrivateDirectories.PrivateDirectories, ({ put }) =>
    Effect.either(put(at, Object.fromEntries(Object.entries(files).map(([name, text]) => [name, Buffer.from(text)]))))
  ).pipe(Effect.provide(NodePrivateDirectories.layer))

const modeOf = (at: string): number => fs.statSync(at).mode & 0o7777

const underUmask = <A>(umask: number, effect: Effect.Effect<A>): Effect.Effect<A> =>
  Effect.acquireUseRelease(
    Effect.sync(() => process.umask(umask)),
    () => effect,
    (before) => Effect.sync(() => process.umask(before))
  )

const place = Effect.map(temporary, (base) => {
  const at = (...names: ReadonlyArray<string>) => path.join(base, "scv/adapters/x", ...names)
  fs.mkdirSync(path.join(base, "outside"))
  return { base, at, outside: path.join(base, "outside") }
})

const none = { below: [], links: {} }

describe("a private directory", () => {
  it.scopedLive("is made with all of its parents, for nobody else, whatever the umask", () =>
    Effect.gen(function* () {
      for (const umask of [0o000, 0o022, 0o077, 0o277, 0o777]) {
        const { at, base } = yield* place
        const directory = { path: at(), below: [".config", ".local/share", ".local/state", "tmp"], links: {} }
        assert.isTrue(Either.isRight(yield* underUmask(umask, ensure(directory))))
        for (const made of [path.join(base, "scv"), at(".."), at(), at(".config"), at(".local"), at(".local/state")]) {
          assert.strictEqual(modeOf(made), 0o700, `${umask.toString(8)} ${made}`)
        }
      }
    })
  )

  it.scopedLive("is closed where it is open, and its parents are let be", () =>
    Effect.gen(function* () {
      const { at } = yield* place
      for (const mode of [0o755, 0o777, 0o000, 0o500, 0o2775, 0o1777]) {
        fs.mkdirSync(at("tmp"), { recursive: true })
        fs.chmodSync(at(".."), 0o755)
        fs.chmodSync(at("tmp"), 0o755)
        fs.chmodSync(at(), mode)
        assert.isTrue(Either.isRight(yield* ensure({ path: at(), below: ["tmp"], links: {} })), mode.toString(8))
        assert.strictEqual(modeOf(at()), 0o700, mode.toString(8))
        assert.strictEqual(modeOf(at("..")), 0o755)
        assert.strictEqual(modeOf(at("tmp")), 0o755)
      }
    })
  )

  it.scopedLive("may be a link of the user's, and not a file", () =>
    Effect.gen(function* () {
      const { at, outside } = yield* place
      fs.mkdirSync(at(".."), { recursive: true })
      fs.symlinkSync(outside, at())
      fs.chmodSync(outside, 0o755)
      assert.isTrue(Either.isRight(yield* ensure({ path: at(), below: ["tmp"], links: {} })))
      assert.strictEqual(modeOf(outside), 0o700)
      assert.isTrue(fs.statSync(path.join(outside, "tmp")).isDirectory())
      fs.rmSync(at())
      fs.writeFileSync(at(), "file")
      const refused = Either.getOrThrow(Either.flip(yield* ensure({ path: at(), ...none })))
      assert.deepInclude(refused, { kind: "not_a_directory", path: at() })
      const below = Either.getOrThrow(Either.flip(yield* ensure({ path: at("y/z"), ...none })))
      assert.strictEqual(below.kind, "not_a_directory")
      assert.strictEqual(fs.readFileSync(at(), "utf8"), "file")
    })
  )

  it.scopedLive("lets nothing be made outside of it by links in it", () =>
    Effect.gen(function* () {
      const { at, outside } = yield* place
      const links = { ".gitconfig": outside, "deep/er/link": outside }
      const rows = [
        ["tmp", () => outside],
        ["tmp", () => path.join(outside, "new")],
        ["tmp", () => "../../../outside/new"],
        [".local", () => outside],
        ["deep", () => outside],
        ["deep/er", () => outside],
        ["tmp", () => "tmp"]
      ] as const
      for (const [name, target] of rows) {
        fs.rmSync(at(), { recursive: true, force: true })
        fs.mkdirSync(path.dirname(at(name)), { recursive: true })
        fs.symlinkSync(target(), at(name))
        const result = yield* ensure({ path: at(), below: ["tmp", ".local/share"], links })
        const { kind, message } = Either.getOrThrow(Either.flip(result))
        assert.strictEqual(kind, target() === "tmp" ? "io" : "not_a_directory", name)
        assert.include(message, at(name.split("/")[0]!))
        assert.deepStrictEqual(fs.readdirSync(outside), [], name)
      }
    })
  )

  it.scopedLive("takes links that stay inside, and makes what they lead to", () =>
    Effect.gen(function* () {
      const { at } = yield* place
      fs.mkdirSync(at("data"), { recursive: true })
      fs.symlinkSync("data/tmp", at("tmp"))
      fs.symlinkSync(at("data"), at(".local"))
      assert.isTrue(Either.isRight(yield* ensure({ path: at(), below: ["tmp", ".local/share/x"], links: {} })))
      assert.isTrue(fs.statSync(at("data/tmp")).isDirectory())
      assert.isTrue(fs.statSync(at("data/share/x")).isDirectory())
    })
  )

  it.scopedLive("holds links to what is there, as they are wanted now", () =>
    Effect.gen(function* () {
      const { at, outside } = yield* place
      for (const name of ["one", "two"]) fs.writeFileSync(path.join(outside, name), name)
      const to = (name: string) => path.join(outside, name)
      const links = { a: to("one"), "b/c": to("one"), absent: to("none"), taken: to("one"), file: to("one") }
      fs.mkdirSync(at("taken"), { recursive: true })
      fs.writeFileSync(at("file"), "own")
      for (const _ of [1, 2]) {
        assert.isTrue(Either.isRight(yield* ensure({ path: at(), below: [], links })))
        assert.strictEqual(fs.readlinkSync(at("a")), to("one"))
        assert.strictEqual(fs.readlinkSync(at("b/c")), to("one"))
        assert.isFalse(fs.existsSync(at("absent")))
        assert.isTrue(fs.lstatSync(at("taken")).isDirectory())
        assert.strictEqual(fs.readFileSync(at("file"), "utf8"), "own")
      }
      yield* ensure({ path: at(), below: [], links: { a: to("two"), "b/c": to("none") } })
      assert.strictEqual(fs.readFileSync(at("a"), "utf8"), "two")
      assert.strictEqual(fs.readlinkSync(at("b/c")), to("one"))
      assert.strictEqual(fs.readFileSync(to("one"), "utf8"), "one")
    })
  )

  it.scopedLive("says which directory it cannot make", () =>
    Effect.gen(function* () {
      const { at } = yield* place
      fs.mkdirSync(at(), { recursive: true })
      fs.writeFileSync(at("tmp"), "file")
      for (const name of ["tmp", "tmp/x"]) {
        const error = Either.getOrThrow(Either.flip(yield* ensure({ path: at(), below: [name], links: {} })))
        assert.deepInclude(error, { kind: "not_a_directory", path: at(name) })
      }
      const long = Either.getOrThrow(Either.flip(yield* ensure({ path: at("n".repeat(300)), ...none })))
      assert.strictEqual(long.kind, "limit")
    })
  )
})

describe("a private file", () => {
  it.scopedLive("takes the place of whatever had its name, for nobody else to read", () =>
    Effect.gen(function* () {
      const { at, outside } = yield* place
      fs.mkdirSync(at(), { recursive: true })
      const victim = path.join(outside, "victim")
      fs.writeFileSync(victim, "victim", { mode: 0o644 })
      const places: ReadonlyArray<(name: string) => void> = [
        () => {},
        (name) => fs.writeFileSync(at(name), "old", { mode: 0o666 }),
        (name) => fs.symlinkSync(victim, at(name)),
        (name) => fs.symlinkSync(path.join(outside, "none"), at(name)),
        (name) => fs.linkSync(victim, at(name))
      ]
      const before = openFiles()
      for (const umask of [0o000, 0o777]) {
        for (const [index, occupy] of places.entries()) {
          for (const name of ["a", "b"]) {
            fs.rmSync(at(name), { force: true })
            occupy(name)
          }
          const result = yield* underUmask(umask, put(at(), { a: "new a", b: "" }))
          assert.isTrue(Either.isRight(result), String(index))
          assert.strictEqual(fs.readFileSync(at("a"), "utf8"), "new a")
          assert.strictEqual(fs.readFileSync(at("b"), "utf8"), "")
          for (const name of ["a", "b"]) {
            assert.isTrue(fs.lstatSync(at(name)).isFile())
            assert.strictEqual(modeOf(at(name)), 0o600)
          }
        }
      }
      assert.deepStrictEqual(openFiles(), before)
      assert.strictEqual(fs.readFileSync(victim, "utf8"), "victim")
      assert.strictEqual(modeOf(victim), 0o644)
      assert.deepStrictEqual(fs.readdirSync(outside), ["victim"])
      assert.deepStrictEqual(fs.readdirSync(at()), ["a", "b"])
    })
  )

  it.scopedLive("is put together with the others or not at all, and leaves nothing", () =>
    Effect.gen(function* () {
      const { at } = yield* place
      fs.mkdirSync(at("b"), { recursive: true })
      fs.writeFileSync(at("a"), "old")
      for (const name of ["b", "n".repeat(256)]) {
        assert.isTrue(Either.isLeft(yield* put(at(), { a: "new", [name]: "new" })), name.slice(0, 9))
        assert.strictEqual(fs.readFileSync(at("a"), "utf8"), "old")
        assert.deepStrictEqual(fs.readdirSync(at()), ["a", "b"])
      }
      const missing = Either.getOrThrow(Either.flip(yield* put(at("none"), { a: "new" })))
      assert.strictEqual(missing.kind, "not_found")
    })
  )

  it.scopedLive("removes what a killed writer left, which may hold a key", () =>
    Effect.gen(function* () {
      const { at } = yield* place
      fs.mkdirSync(at(), { recursive: true })
      const namespace = fs.readlinkSync("/proc/self/ns/pid").replace(/\D/g, "")
      // A process of that number and start time there has never been.
      const left = `.scv-write-${namespace}-${process.pid}-1-0123456789abcdef`
      fs.writeFileSync(at(left), "key")
      assert.isTrue(Either.isRight(yield* put(at(), { a: "new" })))
      assert.deepStrictEqual(fs.readdirSync(at()), ["a"])
    })
  )
})
