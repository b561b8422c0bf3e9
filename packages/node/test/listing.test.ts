import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Directory } from "@scv/core"
import { NodeDirectory } from "@scv/node"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import { openFiles } from "./support/openFiles.ts"

const isLinux = process.platform === "linux"

const scratch = Effect.acquireRelease(
  Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "scv-listing-")))),
  (made) => Effect.sync(() => fs.rmSync(made, { recursive: true, force: true }))
)

/** A workspace with an outside beside it, opened by the name of a link to it. */
const makeTree = (containment: "descriptors" | "portable") =>
  Effect.gen(function* () {
    const base = yield* scratch
    const at = (name: string) => path.join(base, name)
    for (const name of ["ws/a/b", "ws/a/empty", "outside"]) fs.mkdirSync(at(name), { recursive: true })
    for (const name of ["ws/plain", "ws/a/side", "ws/a/b/nested", "outside/file"]) fs.writeFileSync(at(name), name)
    fs.symlinkSync("ws", at("spelling"))
    const links = {
      down: "a/b",
      slash: "a/b/",
      dots: "./a/./b/.",
      up: "a/b/..",
      self: ".",
      absolute: at("ws/a/b"),
      spelled: at("spelling/a/b"),
      out: "../outside",
      "out-absolute": at("outside"),
      "out-and-back": "../ws/a",
      dangling: "missing",
      loop: "loop",
      "to-file": "plain",
      "a/out-of-a": "../plain",
      "a/out-of-a-absolute": at("ws/plain"),
      "a/in-a": at("spelling/a/side")
    }
    for (const [name, target] of Object.entries(links)) fs.symlinkSync(target, at(`ws/${name}`))
    execFileSync("mkfifo", [at("ws/fifo")])
    const { open } = yield* Directory.Directories.pipe(Effect.provide(NodeDirectory.layer({ containment })))
    return { at, directory: yield* open(at("spelling")) }
  })

const inB = ["nested"]

const paths: ReadonlyArray<readonly [asked: string, names: Array<string> | Directory.DirectoryError["kind"]]> = [
  ["a/b", inB],
  ["a//b/./", inB],
  ["a/empty", []],
  ["a/../a/b", inB],
  ["down", inB],
  ["slash", inB],
  ["dots", inB],
  ["absolute", inB],
  ["spelled", inB],
  ["self/self/down", inB],
  ["up/b", inB],
  ["up/../..", "outside_workspace"],
  ["..", "outside_workspace"],
  ["a/../..", "outside_workspace"],
  ["out", "outside_workspace"],
  ["out-absolute", "outside_workspace"],
  ["out-and-back", "outside_workspace"],
  ["missing", "not_found"],
  ["a/missing/b", "not_found"],
  ["dangling", "not_found"],
  ["loop", "io"],
  ["plain", "not_a_directory"],
  ["plain/b", "not_a_directory"],
  ["to-file", "not_a_directory"],
  ["fifo", "not_a_directory"],
  ["", "invalid_input"],
  ["a\0b", "invalid_input"],
  ["/etc", "outside_workspace"]
]

describe.each(isLinux ? (["descriptors", "portable"] as const) : (["portable"] as const))("%s", (containment) => {
  it.scopedLive("a directory is listed and opened where its path stays inside", () =>
    Effect.gen(function* () {
      const { at, directory } = yield* makeTree(containment)
      const before = openFiles()
      for (const [asked, expected] of paths) {
        const listed = yield* Effect.either(directory.list(asked, 100))
        const opened = yield* Effect.either(
          Effect.scoped(
            Effect.flatMap(directory.directory(asked), (inner) =>
              Effect.map(inner.list(".", 100), (names) => ({ inner, names }))
            )
          )
        )
        if (typeof expected === "string") {
          assert.deepInclude(listed, { _tag: "Left" }, asked)
          for (const found of [listed, opened])
            assert.strictEqual(found._tag === "Left" && found.left.kind, expected, asked)
        } else {
          assert.deepStrictEqual(listed._tag === "Right" && listed.right.map(({ name }) => name), expected, asked)
          assert.deepStrictEqual(opened._tag === "Right" && opened.right.names.map(({ name }) => name), expected, asked)
          if (opened._tag === "Right" && expected === inB) assert.strictEqual(opened.right.inner.path, at("ws/a/b"))
        }
      }
      if (isLinux) assert.deepStrictEqual(openFiles(), before)
    })
  )

  it.scopedLive("a directory in another one reaches nothing beside it", () =>
    Effect.gen(function* () {
      const { at, directory } = yield* makeTree(containment)
      const inner = yield* directory.directory("a")
      assert.deepStrictEqual(inner.identity, (yield* directory.directory("up")).identity)
      const whole = { offset: 0, length: 100 }
      const content = (file: string) =>
        Effect.map(inner.read(file, whole), ({ bytes }) => Buffer.from(bytes).toString())
      assert.strictEqual(yield* content("side"), "ws/a/side")
      assert.strictEqual(yield* content("b/nested"), "ws/a/b/nested")
      assert.strictEqual(yield* content("in-a"), "ws/a/side")
      for (const file of ["../plain", "out-of-a", "out-of-a-absolute", "b/../../plain", at("ws/plain")]) {
        assert.strictEqual((yield* Effect.flip(content(file))).kind, "outside_workspace", file)
      }
    })
  )

  it.scopedLive("a list tells links, files and others apart, in the order of their bytes", () =>
    Effect.gen(function* () {
      const { at, directory } = yield* makeTree(containment)
      const list = at("ws/list")
      fs.mkdirSync(path.join(list, "a-directory"), { recursive: true })
      for (const name of ["Z", "a", "B", ".hidden", "é", "\ue000", "😀", "x\ny", "a-b"])
        fs.writeFileSync(path.join(list, name), "")
      fs.symlinkSync("a", path.join(list, "link"))
      fs.symlinkSync("nowhere", path.join(list, "link-to-nothing"))
      execFileSync("mkfifo", [path.join(list, "fifo")])
      if (isLinux) fs.writeFileSync(Buffer.concat([Buffer.from(`${list}/`), Buffer.from([0x7a, 0xff])]), "")
      const entries = yield* directory.list("list", 100)
      assert.deepStrictEqual(
        entries.map(({ isText, kind, name }) => `${name} ${kind}${isText ? "" : " no text"}`),
        [
          ".hidden file",
          "B file",
          "Z file",
          "a file",
          "a-b file",
          "a-directory directory",
          "fifo other",
          "link link",
          "link-to-nothing link",
          "x\ny file",
          ...(isLinux ? ["z\ufffd file no text"] : []),
          "é file",
          "\ue000 file",
          "😀 file"
        ]
      )
    })
  )

  it.scopedLive("a list is refused that is longer than wanted", () =>
    Effect.gen(function* () {
      const { at, directory } = yield* makeTree(containment)
      for (let i = 0; i < 3000; i++) fs.writeFileSync(at(`ws/a/empty/${i}`), "")
      assert.strictEqual((yield* directory.list("a/empty", 3000)).length, 3000)
      const error = yield* Effect.flip(directory.list("a/empty", 2999))
      assert.strictEqual(error.message, "a/empty: holds more than 2999 names")
      assert.strictEqual(error.kind, "limit")
    })
  )

  it.scopedLive.prop(
    "a list has every name once, sorted by code point",
    [FastCheck.uniqueArray(FastCheck.string({ unit: "grapheme", minLength: 1, maxLength: 8 }))],
    ([given]) =>
      Effect.gen(function* () {
        const base = yield* scratch
        const names = given.filter((name) => !/[/\0]/.test(name) && name !== "." && name !== "..")
        for (const name of names) fs.writeFileSync(path.join(base, name), "")
        const { open } = yield* Directory.Directories.pipe(Effect.provide(NodeDirectory.layer({ containment })))
        const listed = (yield* (yield* open(base)).list(".", 100)).map(({ name }) => name)
        const points = (name: string) =>
          Array.from(name, (each) => each.codePointAt(0)!.toString(16).padStart(6, "0")).join()
        assert.deepStrictEqual(
          listed,
          [...fs.readdirSync(base)].sort((a, b) => (points(a) < points(b) ? -1 : 1))
        )
      }),
    { fastCheck: { numRuns: 30 } }
  )
})
