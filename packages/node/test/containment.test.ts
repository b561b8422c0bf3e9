import * as fs from "node:fs"
import * as path from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Directory } from "@scv/core"
import { NodeDirectory } from "@scv/node"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { attack, temporary } from "./support/attacker.ts"
import { openFiles } from "./support/openFiles.ts"

const reads = 50_000

const writes = 20_000

const refusalOf = ({ detail, kind }: Directory.DirectoryError): string => (kind === "io" ? `io: ${detail}` : kind)

/** All that may be refused while names change. */
const expectedRefusals = new Set([
  "outside_workspace",
  "not_found",
  "changed",
  "not_a_file",
  "not_a_directory",
  "io: more than 40 links on the way"
])

const expectedWriteRefusals = new Set([...expectedRefusals, "already_exists"])

// Only Linux has the walk by descriptor and the call that exchanges two names.
describe.runIf(process.platform === "linux")("containment by descriptors, under attack", () => {
  it.scopedLive(
    "returns nothing from outside, whatever is exchanged meanwhile",
    () =>
      Effect.gen(function* () {
        const base = yield* temporary
        const workspace = path.join(base, "workspace")
        const outside = path.join(base, "outside")
        fs.mkdirSync(path.join(workspace, "dir"), { recursive: true })
        fs.mkdirSync(outside)
        const inDirectory = Buffer.from("inside, in the directory\n")
        const atTop = Buffer.from("inside, at the top\n")
        fs.writeFileSync(path.join(workspace, "dir/file"), inDirectory)
        fs.writeFileSync(path.join(workspace, "file"), atTop)
        fs.writeFileSync(path.join(outside, "file"), "OUTSIDE")
        // One link leads out by an absolute path, the other one by a relative path.
        fs.symlinkSync(outside, path.join(workspace, "dir-link"))
        fs.symlinkSync("../outside/file", path.join(workspace, "file-link"))
        const pairs = ["dir", "dir-link", "file", "file-link"].map((name) => path.join(workspace, name))
        const targets = [
          { asked: "dir/file", content: inDirectory },
          { asked: "file", content: atTop },
          { asked: "dir/../dir/file", content: inDirectory }
        ]

        const directories = yield* Directory.Directories
        const directory = yield* directories.open(workspace)
        const identities = new Map<string, Directory.Identity>()
        for (const { asked } of targets) identities.set(asked, (yield* directory.file(asked)).identity)

        const { isNative, stop } = yield* attack(base, pairs)
        const openBefore = openFiles()

        const isInside = (asked: string, { identity, location }: Directory.FileInfo): boolean =>
          path.normalize(asked) === location && Directory.isSame(identity, identities.get(asked)!)
        const escapes: Array<string> = []
        const refusals: Record<string, number> = {}
        const good = { plain: 0, expected: 0 }

        for (let i = 0; i < reads; i++) {
          const { asked, content } = targets[i % targets.length]!
          // Pairs of the same call follow each other on each path.
          const isPlain = Math.floor(i / targets.length) % 2 === 0
          const plain = { offset: 0, length: 4096 }
          const result = yield* Effect.either(
            isPlain
              ? directory.read(asked, plain)
              : Effect.flatMap(directory.file(asked), (file) => {
                  if (!isInside(asked, file)) escapes.push(`${asked}: found ${file.location}`)
                  return directory.read(asked, { ...plain, expected: file })
                })
          )
          if (Either.isLeft(result)) {
            const refusal = refusalOf(result.left)
            refusals[refusal] = (refusals[refusal] ?? 0) + 1
          } else if (isInside(asked, result.right.file) && content.equals(result.right.bytes)) {
            good[isPlain ? "plain" : "expected"]++
          } else {
            escapes.push(`${asked}: read ${result.right.file.location}, ${Buffer.from(result.right.bytes)}`)
          }
        }

        const openAfter = openFiles()
        const exchanges = yield* stop
        expect(escapes.slice(0, 10)).toEqual([])
        expect(good.plain).toBeGreaterThan(1000)
        expect(good.expected).toBeGreaterThan(1000)
        // The attack was met, and only with refusals that say what was met.
        expect(refusals).toHaveProperty("outside_workspace")
        expect(Object.keys(refusals).filter((refusal) => !expectedRefusals.has(refusal))).toEqual([])
        expect(exchanges).toBeGreaterThan(isNative ? 10_000 : 1000)
        expect(openAfter).toEqual(openBefore)
      }).pipe(Effect.provide(NodeDirectory.layer({ containment: "descriptors" }))),
    60_000
  )

  it.scopedLive(
    "writes nothing outside, and leaves nothing behind, whatever is exchanged meanwhile",
    () =>
      Effect.gen(function* () {
        const base = yield* temporary
        const workspace = path.join(base, "workspace")
        const outside = path.join(base, "outside")
        fs.mkdirSync(path.join(workspace, "dir"), { recursive: true })
        fs.mkdirSync(outside)
        for (const at of [path.join(workspace, "dir"), workspace, outside])
          fs.writeFileSync(path.join(at, "file"), "old")
        fs.symlinkSync(outside, path.join(workspace, "dir-link"))
        fs.symlinkSync("../outside/file", path.join(workspace, "file-link"))
        const pairs = ["dir", "dir-link", "file", "file-link"].map((name) => path.join(workspace, name))
        const directories = yield* Directory.Directories
        const directory = yield* directories.open(workspace)
        const { isNative, stop } = yield* attack(base, pairs)
        const openBefore = openFiles()
        const refusals: Record<string, number> = {}
        let good = 0
        const targets = [
          { name: "dir/file", mode: "replace" },
          { name: "file", mode: "replace" },
          { name: "dir/new", mode: "create" },
          { name: "dir/../dir/deep/new", mode: "create" }
        ] as const
        for (let i = 0; i < writes; i++) {
          const { mode, name } = targets[i % targets.length]!
          // Nothing is ever removed by name: that could follow a link and hide an escape.
          const asked = mode === "create" ? `${name}-${i}` : name
          const written = yield* Effect.either(
            Effect.flatMap(directory.target(asked, mode), ({ existing, location, parent }) =>
              directory.write(asked, {
                mode,
                content: Buffer.from(`new ${i}`),
                expected: { location, existing, parent },
                expectedSha256: undefined,
                onInstalled: Effect.void
              })
            )
          )
          if (Either.isRight(written)) {
            good++
          } else {
            const refusal = refusalOf(written.left)
            refusals[refusal] = (refusals[refusal] ?? 0) + 1
          }
        }
        const openAfter = openFiles()
        const exchanges = yield* stop
        expect(fs.readdirSync(outside)).toEqual(["file"])
        expect(fs.readFileSync(path.join(outside, "file"), "utf8")).toBe("old")
        const names = fs
          .readdirSync(workspace, { recursive: true, encoding: "utf8" })
          .map((name) => path.basename(name))
        expect(names.filter((name) => name.startsWith(".scv-write"))).toEqual([])
        expect(good).toBeGreaterThan(500)
        expect(refusals).toHaveProperty("outside_workspace")
        expect(Object.keys(refusals).filter((refusal) => !expectedWriteRefusals.has(refusal))).toEqual([])
        expect(exchanges).toBeGreaterThan(isNative ? 10_000 : 1000)
        expect(openAfter).toEqual(openBefore)
      }).pipe(Effect.provide(NodeDirectory.layer({ containment: "descriptors" }))),
    400_000
  )
})
