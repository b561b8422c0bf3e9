import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Executables, ServerEnvironment } from "@scv/core"
import { NodeExecutables } from "@scv/node"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import { temporary } from "./support/attacker.ts"

const find = (command: string, environment: Readonly<Record<string, string>>) =>
  Effect.flatMap(Executables.Executables, ({ find }) => Effect.either(find(command))).pipe(
    Effect.provide(Layer.provide(NodeExecutables.layer, Layer.succeed(ServerEnvironment, environment)))
  )

/** Directories `a` and `b` with a program each, and names that are none. */
const place = Effect.map(temporary, (base) => {
  const at = (name: string) => path.join(base, name)
  for (const name of ["a/sub", "b", "real/deep/bin", "real/other", "bin"]) fs.mkdirSync(at(name), { recursive: true })
  const program = (name: string, mode = 0o755) => fs.writeFileSync(at(name), "", { mode })
  for (const name of ["a/both", "b/both", "b/only", "real/deep/bin/deep", "bin/deep"]) program(name)
  program("a/plain", 0o644)
  program("b/plain", 0o700)
  fs.symlinkSync("only", at("b/link"))
  fs.symlinkSync("none", at("a/dangling"))
  fs.symlinkSync("loop", at("a/loop"))
  fs.symlinkSync(at("real/deep/other"), at("to"))
  fs.mkdirSync(at("real/deep/other"))
  return { at, PATH: `${at("a")}:${at("b")}` }
})

describe("an executable", () => {
  it.scopedLive("is the first fit of PATH, by its absolute path", () =>
    Effect.gen(function* () {
      const { PATH, at } = yield* place
      const rows = [
        ["both", PATH, "a/both"],
        ["both", `${at("none")}:${at("a/both")}:${at("b")}:${at("a")}`, "b/both"],
        ["both", `${at("a")}//:${at("b")}`, "a/both"],
        ["only", PATH, "b/only"],
        ["link", PATH, "b/link"],
        // What is there and cannot be run is passed over.
        ["plain", PATH, "b/plain"],
        ["sub", `${PATH}:/`, undefined],
        ["dangling", PATH, undefined],
        ["loop", PATH, undefined],
        ["none", PATH, undefined],
        ["n".repeat(300), PATH, undefined],
        [".", PATH, undefined],
        ["..", PATH, undefined],
        ["", PATH, undefined]
      ] as const
      for (const [command, PATH, expected] of rows) {
        const found = yield* find(command, { PATH })
        const label = command.slice(0, 20)
        if (expected !== undefined) {
          assert.deepStrictEqual(found, Either.right(at(expected)), label)
        } else {
          const { message } = Either.getOrThrow(Either.flip(found))
          assert.include(message, "in PATH", label)
          assert.isBelow(message.length, 400)
        }
      }
    })
  )

  it.scopedLive("is never one of a directory that PATH names by a relative or empty element", () =>
    Effect.gen(function* () {
      const { at } = yield* place
      const before = process.cwd()
      process.chdir(at("a"))
      yield* Effect.gen(function* () {
        for (const PATH of ["", ":", ".", "./", "../a", "a", `:${at("none")}:`, "../b:.", " /usr", "~/a", "\n/a"]) {
          assert.isTrue(Either.isLeft(yield* find("both", { PATH })), PATH)
        }
        assert.isTrue(Either.isLeft(yield* find("both", {})))
        assert.deepStrictEqual(yield* find("both", { PATH: `.::${at("b")}` }), Either.right(at("b/both")))
      }).pipe(Effect.ensuring(Effect.sync(() => process.chdir(before))))
    })
  )

  it.scopedLive("is looked for where the system would, behind a link too", () =>
    Effect.gen(function* () {
      const { at } = yield* place
      // `to` leads to real/deep/other, whose parent's bin it is, and not the one beside `to`.
      const found = yield* find("deep", { PATH: `${at("to")}/../bin` })
      assert.deepStrictEqual(found, Either.right(`${at("to")}/../bin/deep`))
      fs.rmSync(at("real/deep/bin/deep"))
      assert.isTrue(Either.isLeft(yield* find("deep", { PATH: `${at("to")}/../bin` })))
    })
  )

  it.scopedLive("may be given by an absolute path, and by no relative one", () =>
    Effect.gen(function* () {
      const { PATH, at } = yield* place
      const given = (command: string) => find(command, { PATH })
      assert.deepStrictEqual(yield* given(at("b/link")), Either.right(at("b/link")))
      for (const [command, why] of [
        [at("a/plain"), "is not executable"],
        [at("a"), "is not a file"],
        [at("none"), "no such file"],
        [`${at("a/both")}/x`, "no such file"],
        [at("a/dangling"), "no such file"],
        [`${at("a/both")}\0`, "no such file"],
        ["./both", "expected an absolute path"],
        ["a/both", "expected an absolute path"],
        ["sub/\u001b[2J", "expected an absolute path"]
      ] as const) {
        const { message } = Either.getOrThrow(Either.flip(yield* given(command)))
        assert.include(message, why, JSON.stringify(command))
        assert.notMatch(message, /[\u001b\0\n]/)
      }
    })
  )

  it.scopedLive("is looked for anew each time", () =>
    Effect.gen(function* () {
      const { PATH, at } = yield* place
      const { find } = yield* Executables.Executables.pipe(
        Effect.provide(Layer.provide(NodeExecutables.layer, Layer.succeed(ServerEnvironment, { PATH })))
      )
      assert.isTrue(Either.isLeft(yield* Effect.either(find("new"))))
      fs.writeFileSync(at("b/new"), "", { mode: 0o755 })
      assert.strictEqual(yield* find("new"), at("b/new"))
    })
  )
})
