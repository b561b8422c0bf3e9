import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Directory } from "@scv/core"
import { NodeDirectory } from "@scv/node"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import { attack, temporary } from "./support/attacker.ts"
import { openFiles } from "./support/openFiles.ts"

const isLinux = process.platform === "linux"

const containments = isLinux ? (["descriptors", "portable"] as const) : (["portable"] as const)

/** A tree with links of every kind, and the directory of it that is opened. */
const makeTree = (containment: (typeof containments)[number]) =>
  Effect.gen(function* () {
    const base = yield* temporary
    const root = path.join(base, "workspace")
    const at = (name: string) => path.join(root, name)
    for (const name of ["a/b/c", "d", "white space\n"]) fs.mkdirSync(at(name), { recursive: true })
    for (const name of ["outside/sub", "workspace-other"]) fs.mkdirSync(path.join(base, name), { recursive: true })
    for (const name of ["file", "a/b/file"]) fs.writeFileSync(at(name), "content")
    const link = (name: string, target: string) => fs.symlinkSync(target, at(name))
    link("in", "a/b")
    link("in-slash", "a/b/")
    link("in-absolute", at("a/b"))
    link("a/up", "..")
    link("self", ".")
    link("chain", "in")
    link("out", "../outside")
    link("out-absolute", path.join(base, "outside"))
    link("out-and-back", "../workspace/a")
    link("root", "/")
    link("magic", "/proc/self/cwd")
    link("dangling", "none")
    link("loop", "loop-back")
    link("loop-back", "loop")
    link("to-file", "file")
    fs.symlinkSync(root, path.join(base, "alias"))
    const directories = yield* Effect.provide(Directory.Directories, NodeDirectory.layer({ containment }))
    return { base, root, at, directories, directory: yield* directories.open(root) }
  })

const bigint = { bigint: true } as const

for (const containment of containments) {
  describe(`a directory below (${containment})`, () => {
    const rows: ReadonlyArray<
      readonly [asked: string, location: string | { readonly is: Directory.DirectoryError["kind"] }]
    > = [
      [".", ""],
      ["./", ""],
      ["././/.", ""],
      ["a", "a"],
      ["a/", "a"],
      ["a//b/./", "a/b"],
      ["a/..", ""],
      ["a/b/../../d", "d"],
      ["white space\n", "white space\n"],
      ["in", "a/b"],
      ["in/", "a/b"],
      ["in/c", "a/b/c"],
      ["in/..", "a"],
      ["in-slash", "a/b"],
      ["in-absolute/c", "a/b/c"],
      ["a/up/d", "d"],
      ["self/self", ""],
      ["chain/c", "a/b/c"],
      ["BASE/workspace", ""],
      ["BASE/workspace/", ""],
      ["BASE/workspace/in/..", "a"],
      ["BASE//workspace/./a", "a"],
      ["BASE/workspace/../workspace/a", "a"],
      ["BASE/alias/in/c", "a/b/c"],
      ["BASE/alias", ""],
      ["out", { is: "outside_workspace" }],
      ["out/", { is: "outside_workspace" }],
      ["out/sub", { is: "outside_workspace" }],
      ["out/none", { is: "outside_workspace" }],
      ["out-absolute", { is: "outside_workspace" }],
      ["out-and-back", { is: "outside_workspace" }],
      ["root", { is: "outside_workspace" }],
      ["magic", { is: "outside_workspace" }],
      ["..", { is: "outside_workspace" }],
      ["../workspace", { is: "outside_workspace" }],
      ["../workspace-other", { is: "outside_workspace" }],
      ["a/../..", { is: "outside_workspace" }],
      ["/", { is: "outside_workspace" }],
      ["BASE", { is: "outside_workspace" }],
      ["BASE/outside", { is: "outside_workspace" }],
      ["BASE/outside/none", { is: "outside_workspace" }],
      ["BASE/workspace-other", { is: "outside_workspace" }],
      ["BASE/workspace/out", { is: "outside_workspace" }],
      ["BASE/workspace/../outside", { is: "outside_workspace" }],
      ["BASE/alias/out", { is: "outside_workspace" }],
      ["none", { is: "not_found" }],
      ["none/", { is: "not_found" }],
      ["none/..", { is: "not_found" }],
      ["a/none/b", { is: "not_found" }],
      ["dangling", { is: "not_found" }],
      ["BASE/workspace/none", { is: "not_found" }],
      ["file", { is: "not_a_directory" }],
      ["file/", { is: "not_a_directory" }],
      ["file/.", { is: "not_a_directory" }],
      ["file/none", { is: "not_a_directory" }],
      ["to-file", { is: "not_a_directory" }],
      ["BASE/workspace/file", { is: "not_a_directory" }],
      ["loop", { is: "io" }],
      ["loop/a", { is: "io" }],
      ["", { is: "invalid_input" }],
      ["a\0", { is: "invalid_input" }],
      ["/\0", { is: "invalid_input" }],
      ["n".repeat(300), { is: "limit" }]
    ]

    it.scopedLive("is what a path means to the system, where that stays inside", () =>
      Effect.gen(function* () {
        const { at, base, directory } = yield* makeTree(containment)
        const before = openFiles()
        for (const [given, expected] of rows) {
          const asked = given.replace("BASE", base)
          const label = JSON.stringify(given.slice(0, 40))
          const found = yield* Effect.either(
            Effect.scoped(
              Effect.gen(function* () {
                const below = yield* directory.directory(asked)
                const { dev, ino } = fs.statSync(yield* below.handle, bigint)
                return { path: below.path, identity: below.identity, entered: { dev: String(dev), ino: String(ino) } }
              })
            )
          )
          if (typeof expected === "string") {
            const absolute = expected === "" ? at(".").replace(/\/\.?$/, "") : at(expected)
            const { dev, ino } = fs.statSync(absolute, bigint)
            const identity = { dev: String(dev), ino: String(ino) }
            assert.deepStrictEqual(found, Either.right({ path: absolute, identity, entered: identity }), label)
          } else {
            assert.deepInclude(Either.getOrThrow(Either.flip(found)), { kind: expected.is, path: asked }, label)
          }
        }
        assert.deepStrictEqual(openFiles(), before)
      })
    )

    it.scopedLive("contains its own paths in turn", () =>
      Effect.gen(function* () {
        const { base, directory } = yield* makeTree(containment)
        const below = yield* directory.directory("in")
        assert.strictEqual((yield* below.file("file")).location, "file")
        assert.match((yield* below.directory("c")).path, /workspace\/a\/b\/c$/)
        assert.strictEqual((yield* below.directory(`${base}/workspace/a/b/c`)).path, `${base}/workspace/a/b/c`)
        for (const asked of ["..", "../../d", `${base}/workspace`, `${base}/workspace/d`]) {
          assert.strictEqual((yield* Effect.flip(below.directory(asked))).kind, "outside_workspace", asked)
        }
        assert.strictEqual((yield* Effect.flip(below.file("../../file"))).kind, "outside_workspace")
      })
    )

    it.scopedLive("is no place to start in once it is deleted, and stays itself when it is moved", () =>
      Effect.gen(function* () {
        const { at, directory } = yield* makeTree(containment)
        const [gone, moved] = [yield* directory.directory("d"), yield* directory.directory("a/b/c")]
        fs.rmdirSync(at("d"))
        assert.strictEqual((yield* Effect.flip(gone.handle)).kind, "not_found")
        fs.mkdirSync(at("d"))
        fs.renameSync(at("a/b/c"), at("e"))
        if (containment === "descriptors") {
          assert.strictEqual((yield* Effect.flip(gone.handle)).kind, "not_found")
          assert.strictEqual(fs.realpathSync.native(yield* moved.handle), at("e"))
          assert.isFalse(Directory.isSame((yield* directory.directory("d")).identity, gone.identity))
        }
      })
    )

    it.scopedLive("is by any path, of any components, what the system says, or refused", () =>
      Effect.gen(function* () {
        const { directory, root } = yield* makeTree(containment)
        const names = ["a", "b", "c", "d", "..", ".", "", "in", "chain", "self", "up", "out", "file", "none", "loop"]
        const relative = FastCheck.array(FastCheck.constantFrom(...names), { minLength: 1, maxLength: 7 })
        const before = openFiles()
        let opened = 0
        for (const [components, isAbsolute] of FastCheck.sample(FastCheck.tuple(relative, FastCheck.boolean()), 800)) {
          const name = components.join("/")
          if (name === "" || name.startsWith("/")) continue
          const asked = isAbsolute ? `${root}/${name}` : name
          let real: string | undefined
          try {
            real = fs.realpathSync.native(`${root}/${name}`)
            if (!fs.statSync(real).isDirectory()) real = undefined
          } catch {
            real = undefined
          }
          const found = yield* Effect.either(Effect.scoped(Effect.map(directory.directory(asked), ({ path }) => path)))
          if (Either.isRight(found)) {
            opened++
            assert.strictEqual(found.right, real, asked)
            assert.match(`${found.right}/`, new RegExp(`^${root}/`), asked)
          } else if (real !== undefined && `${real}/`.startsWith(`${root}/`)) {
            // Inside all the same: only by a way that leaves the directory, which is refused where it is not absolute.
            assert.isFalse(isAbsolute, asked)
            assert.strictEqual(found.left.kind, "outside_workspace", asked)
          }
        }
        assert.isAbove(opened, 50)
        assert.deepStrictEqual(openFiles(), before)
      })
    )
  })
}

// Only Linux has the walk by descriptor and the call that exchanges two names.
describe.runIf(isLinux)("a directory below, under attack", () => {
  it.scopedLive(
    "is one inside, whatever is exchanged meanwhile",
    () =>
      Effect.gen(function* () {
        const base = yield* temporary
        const at = (name: string) => path.join(base, name)
        for (const name of ["workspace/dir/sub", "outside/sub"]) fs.mkdirSync(at(name), { recursive: true })
        fs.symlinkSync(at("outside"), at("workspace/link"))
        const inside = new Set(
          ["workspace", "workspace/dir", "workspace/dir/sub"].map((name) => String(fs.statSync(at(name), bigint).ino))
        )
        const directories = yield* Directory.Directories
        const directory = yield* directories.open(at("workspace"))
        const { isNative, stop } = yield* attack(base, [at("workspace/dir"), at("workspace/link")])
        const before = openFiles()
        const asked = ["dir", "dir/", "dir/sub", "dir/..", at("workspace/dir"), at("workspace/dir/sub")]
        const kinds = new Set<string>()
        let opened = 0
        for (let i = 0; i < 3000; i++) {
          const found = yield* Effect.either(
            Effect.scoped(
              Effect.flatMap(directory.directory(asked[i % asked.length]!), ({ handle, identity }) =>
                Effect.map(handle, (entered) => [identity.ino, String(fs.statSync(entered, bigint).ino)])
              )
            )
          )
          if (Either.isLeft(found)) kinds.add(found.left.kind)
          else {
            opened++
            for (const ino of found.right) assert.isTrue(inside.has(ino), `${asked[i % asked.length]} led outside`)
          }
        }
        assert.deepStrictEqual(openFiles(), before)
        assert.isAbove(yield* stop, isNative ? 10_000 : 100)
        assert.isAbove(opened, 250)
        assert.isTrue(kinds.has("outside_workspace"))
        const expected = ["outside_workspace", "not_found", "changed", "not_a_directory", "io"]
        assert.deepStrictEqual(
          [...kinds].filter((kind) => !expected.includes(kind)),
          []
        )
      }).pipe(Effect.provide(NodeDirectory.layer({ containment: "descriptors" }))),
    120_000
  )
})
