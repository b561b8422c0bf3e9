import { execFileSync } from "node:child_process"
import { once } from "node:events"
import * as fs from "node:fs"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import { Directory } from "@scv/core"
import { NodeDirectory } from "@scv/node"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { openFiles } from "./support/openFiles.ts"

const isLinux = process.platform === "linux"

// Other systems have no way to walk by descriptor.
const containments = isLinux ? (["descriptors", "portable"] as const) : (["portable"] as const)

type Containment = (typeof containments)[number]

const open = (containment: Containment, at: string) =>
  Effect.flatMap(Directory.Directories, (directories) => directories.open(at)).pipe(
    Effect.provide(NodeDirectory.layer({ containment }))
  )

const temporary = (): string => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "scv-directory-")))

const scratch = Effect.acquireRelease(Effect.sync(temporary), (made) =>
  Effect.sync(() => fs.rmSync(made, { recursive: true, force: true }))
)

/** The whole of a small file. */
const whole = { offset: 0, length: 65_536 }

const text = ({ bytes }: Directory.FileRange): string => Buffer.from(bytes).toString()

const base = { path: "" }
const inBase = (given: string): string => given.replace("BASE", base.path)
let server: net.Server

beforeAll(async () => {
  base.path = temporary()
  const workspace = path.join(base.path, "workspace")
  const at = (name: string) => path.join(workspace, name)
  const write = (name: string) => fs.writeFileSync(at(name), `content of ${name}`)
  const link = (name: string, target: string) => fs.symlinkSync(inBase(target), at(name))
  fs.mkdirSync(at("a/b/c"), { recursive: true })
  for (const name of ["plain", "a/side", "a/b/c/nested", "..dots", "white space\n"]) write(name)
  for (const name of ["outside", "workspace-other"]) {
    fs.mkdirSync(path.join(base.path, name))
    fs.writeFileSync(path.join(base.path, name, "file"), "OUTSIDE")
  }
  fs.symlinkSync("workspace", path.join(base.path, "workspace-link"))
  link("link", "a/b/c/nested")
  link("link-absolute", "BASE/workspace/a/b/c/nested")
  link("link-absolute-spelling", "BASE/workspace-link/a/side")
  link("link-directory", "a/b")
  link("link-directory-absolute", "BASE/workspace/a/b")
  link("link-slash", "a/b/c/")
  link("link-file-slash", "plain/")
  link("link-link", "link")
  link("a/link-up", "../plain")
  link("link-workspace", ".")
  link("link-outside", "../outside/file")
  link("link-outside-absolute", "BASE/outside/file")
  link("link-outside-directory", "BASE/outside")
  link("link-outside-link", "link-outside")
  link("link-outside-and-back", "../workspace/plain")
  link("link-outside-inside", "BASE/workspace/../outside/file")
  link("link-sibling", "BASE/workspace-other/file")
  link("link-root", "/")
  link("link-magic", "/proc/self/cwd")
  link("link-outside-missing", "../outside/missing")
  link("dangling", "missing")
  link("dangling-deep", "a/missing/file")
  link("loop", "loop-back")
  link("loop-back", "loop")
  link("loop-self", "loop-self/file")
  link("chain-1", "plain")
  for (let i = 2; i <= 41; i++) link(`chain-${i}`, `chain-${i - 1}`)
  execFileSync("/usr/bin/env", ["mkfifo", at("fifo")])
  link("link-fifo", "fifo")
  server = net.createServer().listen(at("socket"))
  await once(server, "listening")
})

afterAll(async () => {
  server.close()
  await once(server, "close")
  fs.rmSync(base.path, { recursive: true, force: true })
})

interface Found {
  readonly location: string
  readonly links: ReadonlyArray<string>
}

type Row = readonly [asked: string, expected: Found | Directory.DirectoryError["kind"]]

const found = (location: string, ...links: ReadonlyArray<string>): Found => ({ location, links })

const chain = Array.from({ length: 39 }, (_, i) => `chain-${39 - i}`)

const rows: ReadonlyArray<Row> = [
  // Plain and nested names.
  ["plain", found("plain")],
  ["a/b/c/nested", found("a/b/c/nested")],
  ["..dots", found("..dots")],
  ["white space\n", found("white space\n")],
  ["./plain", found("plain")],
  ["a//b/./c///nested", found("a/b/c/nested")],
  ["missing", "not_found"],
  ["missing/file", "not_found"],
  ["a/missing/nested", "not_found"],
  ["plain/file", "not_a_directory"],
  ["plain/missing/file", "not_a_directory"],

  // Upwards.
  ["a/../plain", found("plain")],
  ["a/b/../../plain", found("plain")],
  ["a/b/../side", found("a/side")],
  ["missing/../plain", "not_found"],
  ["plain/../plain", "not_a_directory"],
  ["..", "outside_workspace"],
  ["../workspace/plain", "outside_workspace"],
  ["a/../../workspace/plain", "outside_workspace"],
  ["../outside/file", "outside_workspace"],
  ["a/..", "not_a_file"],

  // Links inside.
  ["link", found("a/b/c/nested", "a/b/c/nested")],
  ["link-link", found("a/b/c/nested", "link", "a/b/c/nested")],
  ["link-absolute", found("a/b/c/nested", "BASE/workspace/a/b/c/nested")],
  ["link-directory/c/nested", found("a/b/c/nested", "a/b")],
  ["link-directory-absolute/c/nested", found("a/b/c/nested", "BASE/workspace/a/b")],
  ["link-slash/nested", found("a/b/c/nested", "a/b/c/")],
  ["link-workspace/link-workspace/plain", found("plain", ".", ".")],
  ["a/link-up", found("plain", "../plain")],
  // The parent of where a link leads to, as for the kernel.
  ["link-directory/../side", found("a/side", "a/b")],
  ["link-directory/../plain", "not_found"],
  ["chain-40", found("plain", ...chain, "plain")],
  ["chain-41", "io"],

  // Links outside.
  ["link-outside", "outside_workspace"],
  ["link-outside-absolute", "outside_workspace"],
  ["link-outside-directory/file", "outside_workspace"],
  ["link-outside-directory", "outside_workspace"],
  ["link-outside-link", "outside_workspace"],
  ["link-outside-inside", "outside_workspace"],
  ["link-outside-missing", "outside_workspace"],
  ["link-sibling", "outside_workspace"],
  ["link-root", "outside_workspace"],
  ["link-magic/plain", "outside_workspace"],
  // A link must not leave the workspace, even where it comes back.
  ["link-outside-and-back", "outside_workspace"],
  ["link-root/../plain", "outside_workspace"],

  // Links to nothing.
  ["dangling", "not_found"],
  ["dangling/file", "not_found"],
  ["dangling-deep", "not_found"],
  ["loop", "io"],
  ["loop/file", "io"],
  ["loop-self", "io"],

  // What is no regular file.
  ["a", "not_a_file"],
  ["a/", "not_a_file"],
  ["a/b/.", "not_a_file"],
  [".", "not_a_file"],
  ["link-directory", "not_a_file"],
  ["link-slash", "not_a_file"],
  ["link-workspace", "not_a_file"],
  ["fifo", "not_a_file"],
  ["link-fifo", "not_a_file"],
  ["fifo/file", "not_a_directory"],
  ["socket", "not_a_file"],

  // A slash at the end asks for a directory.
  ["plain/", "not_a_directory"],
  ["plain/.", "not_a_directory"],
  ["link/", "not_a_directory"],
  ["link-file-slash", "not_a_directory"],
  ["fifo/", "not_a_directory"],
  ["missing/", "not_found"],

  // What can be no path of a file in here.
  ["", "invalid_input"],
  ["plain\0", "invalid_input"],
  ["a\0/../plain", "invalid_input"],
  ["n".repeat(300), "limit"],
  [`${"n".repeat(300)}/file`, "limit"],
  ["BASE/workspace/plain", "invalid_input"],
  ["BASE/outside/file", "outside_workspace"],
  ["BASE/workspace/../outside/file", "outside_workspace"],
  ["BASE/workspace-other/file", "outside_workspace"],
  ["/", "outside_workspace"]
]

describe.each(containments)("NodeDirectory, %s", (containment) => {
  const openWorkspace = Effect.suspend(() => open(containment, path.join(base.path, "workspace")))

  const failure = <A, R>(effect: Effect.Effect<A, Directory.DirectoryError, R>) =>
    Effect.match(effect, {
      onFailure: ({ kind, message }) => ({ kind, message }),
      onSuccess: () => ({ kind: "none", message: "no failure" })
    })

  describe("finds and reads", () => {
    for (const [asked, expected] of rows) {
      const outcome = typeof expected === "string" ? expected : expected.location
      it.scopedLive(`${JSON.stringify(asked.slice(0, 40))}: ${JSON.stringify(outcome)}`, () =>
        Effect.gen(function* () {
          const directory = yield* openWorkspace
          if (typeof expected === "string") {
            expect((yield* failure(directory.file(inBase(asked)))).kind).toBe(expected)
            expect((yield* failure(directory.read(inBase(asked), whole))).kind).toBe(expected)
            return
          }
          const info = yield* directory.file(inBase(asked))
          const stat = fs.lstatSync(path.join(directory.path, expected.location), { bigint: true })
          expect(info).toMatchObject({
            location: expected.location,
            links: expected.links.map(inBase),
            identity: { dev: String(stat.dev), ino: String(stat.ino) },
            size: Number(stat.size),
            mode: Number(stat.mode & 0o7777n)
          })
          const content = Buffer.from(`content of ${expected.location}`)
          expect(yield* directory.read(inBase(asked), whole)).toEqual({
            file: info,
            bytes: content,
            totalBytes: content.length
          })
        })
      )
    }

    it.scopedLive("a device", () =>
      Effect.gen(function* () {
        const directory = yield* open(containment, "/dev")
        const expected = { kind: "not_a_file", message: "null: is a device, not a regular file" }
        expect(yield* failure(directory.file("null"))).toEqual(expected)
        expect(yield* failure(directory.read("null", whole))).toEqual(expected)
      })
    )

    it.scopedLive("from / as from any other directory", () =>
      Effect.gen(function* () {
        const directory = yield* open(containment, "/")
        const asked = path.join(base.path, "workspace/link-absolute")
        expect((yield* directory.file(asked.slice(1))).location).toBe(
          path.join(base.path, "workspace/a/b/c/nested").slice(1)
        )
        expect(yield* failure(directory.file(asked))).toEqual({
          kind: "invalid_input",
          message: `${asked}: expected a path relative to the workspace: ${asked.slice(1)}`
        })
        expect((yield* failure(directory.file("../etc"))).kind).toBe("outside_workspace")
      })
    )
  })

  describe("says of a refused path", () => {
    it.scopedLive.each([
      ["BASE/workspace/a/side", "expected a path relative to the workspace: a/side"],
      ["BASE/workspace/a/../plain", "expected a path relative to the workspace: plain"],
      ["BASE/workspace/", "expected a path relative to the workspace: ."],
      ["BASE/outside/file", "is outside of the workspace; give a path inside it"],
      ["../outside/file", "leads out of the workspace"],
      ["link-outside-absolute", "leads through a link out of the workspace"],
      ["a/missing/file", "no such file: a/missing does not exist"],
      ["link-directory/c/nested/file", "a/b/c/nested is a file, not a directory"],
      ["chain-41", "more than 40 links on the way"],
      ["fifo", "is a FIFO, not a regular file"]
    ])("%s", ([asked, detail]) =>
      Effect.gen(function* () {
        const directory = yield* openWorkspace
        const { message } = yield* failure(directory.read(inBase(asked!), whole))
        expect(message).toBe(`${inBase(asked!)}: ${detail}`)
      })
    )

    it.scopedLive("that is empty, or holds NUL", () =>
      Effect.gen(function* () {
        const directory = yield* openWorkspace
        expect((yield* failure(directory.file(""))).message).toContain("expected a path, got nothing")
        expect((yield* failure(directory.file("a\0b"))).message).toContain("expected a path without NUL")
      })
    )
  })

  describe("opened", () => {
    it.scopedLive("through a link, is the directory that the link led to", () =>
      Effect.gen(function* () {
        const link = path.join(base.path, "workspace-link")
        const directory = yield* open(containment, `${link}/`)
        expect(directory.path).toBe(path.join(base.path, "workspace"))
        expect(directory.identity).toEqual((yield* openWorkspace).identity)
        expect((yield* directory.file("plain")).location).toBe("plain")
        // Both of its names are known to be inside.
        expect((yield* directory.file("link-absolute")).location).toBe("a/b/c/nested")
        expect((yield* directory.file("link-absolute-spelling")).location).toBe("a/side")
        for (const spelling of [link, directory.path]) {
          const { kind, message } = yield* failure(directory.file(`${spelling}/a/side`))
          expect(kind).toBe("invalid_input")
          expect(message).toContain("expected a path relative to the workspace: a/side")
        }
      })
    )

    it.scopedLive("by its own path, does not know the names of other links to it", () =>
      Effect.gen(function* () {
        const directory = yield* openWorkspace
        expect((yield* failure(directory.file("link-absolute-spelling"))).kind).toBe("outside_workspace")
      })
    )

    it.scopedLive("must be a directory that is there", () =>
      Effect.gen(function* () {
        const failureAt = (name: string) => {
          const at = path.join(base.path, name)
          return Effect.map(failure(open(containment, at)), ({ kind, message }) => [kind, message.replace(at, "")])
        }
        expect(yield* failureAt("missing")).toEqual(["not_found", ": no such directory"])
        expect(yield* failureAt("workspace/plain")).toEqual(["not_a_directory", ": is a file, not a directory"])
        expect(yield* failureAt("workspace/plain/below")).toEqual(["not_a_directory", ": is a file, not a directory"])
      })
    )
  })

  describe("reads ranges", () => {
    const content = "0123456789"

    it.scopedLive.each([
      [0, 10, content],
      [0, 11, content],
      [0, 4, "0123"],
      [3, 4, "3456"],
      [6, 4, "6789"],
      [6, 100, "6789"],
      [9, 1, "9"],
      [10, 5, ""],
      [500, 5, ""]
    ] as const)("from %d, at most %d", ([offset, length, expected]) =>
      Effect.gen(function* () {
        const at = yield* scratch
        fs.writeFileSync(path.join(at, "file"), content)
        const directory = yield* open(containment, at)
        const range = yield* directory.read("file", { offset, length })
        expect(text(range)).toBe(expected)
        expect(range.totalBytes).toBe(10)
        expect(range.file).toEqual(yield* directory.file("file"))
      })
    )

    it.scopedLive("of an empty file", () =>
      Effect.gen(function* () {
        const at = yield* scratch
        fs.writeFileSync(path.join(at, "file"), "")
        const directory = yield* open(containment, at)
        for (const offset of [0, 7]) {
          const { bytes, totalBytes } = yield* directory.read("file", { offset, length: 100 })
          expect([bytes.length, totalBytes]).toEqual([0, 0])
        }
      })
    )

    it.scopedLive("of no bytes at all, and tells the length all the same", () =>
      Effect.gen(function* () {
        const at = yield* scratch
        fs.writeFileSync(path.join(at, "file"), content)
        const directory = yield* open(containment, at)
        const { bytes, totalBytes } = yield* directory.read("file", { offset: 0, length: 0 })
        expect([bytes.length, totalBytes]).toEqual([0, 10])
      })
    )

    it.scopedLive("of a large file", () =>
      Effect.gen(function* () {
        const at = yield* scratch
        const large = Buffer.alloc(1024 * 1024, "0123456789abcdef-")
        fs.writeFileSync(path.join(at, "large"), large)
        const directory = yield* open(containment, at)
        for (const [offset, length] of [
          [0, large.length],
          [0, 4 * large.length],
          [300_001, 200_003],
          [300_001, 1000],
          [large.length - 100_000, 200_000],
          [large.length - 3, 200_000],
          [large.length + 1, 200_000],
          // Around the size up to which a file is read at once.
          [0, 65_535],
          [0, 65_536],
          [0, 65_537]
        ] as const) {
          const range = yield* directory.read("large", { offset, length })
          expect(large.subarray(offset, offset + length).equals(range.bytes)).toBe(true)
          expect(range.totalBytes).toBe(large.length)
        }
      })
    )

    it.scopedLive("of a file that grows while it is read", () =>
      Effect.gen(function* () {
        const at = yield* scratch
        const file = path.join(at, "growing")
        const before = Buffer.alloc(300_000, "before")
        const added = Buffer.alloc(150_000, "added")
        fs.writeFileSync(file, before)
        const directory = yield* open(containment, at)
        const reading = yield* Effect.fork(directory.read("growing", { offset: 0, length: 1_000_000 }))
        // Its read has begun, and cannot end before this code lets go.
        yield* Effect.yieldNow()
        fs.appendFileSync(file, added)
        const range = yield* Fiber.join(reading)
        expect(range.file.size).toBe(before.length)
        expect(Buffer.concat([before, added]).equals(range.bytes)).toBe(true)
        expect(range.totalBytes).toBe(before.length + added.length)
      })
    )

    it.scopedLive("of a file that is cut while it is read", () =>
      Effect.gen(function* () {
        const at = yield* scratch
        const file = path.join(at, "shrinking")
        fs.writeFileSync(file, Buffer.alloc(300_000, "before"))
        const directory = yield* open(containment, at)
        const reading = yield* Effect.fork(directory.read("shrinking", { offset: 200_000, length: 1_000_000 }))
        yield* Effect.yieldNow()
        fs.truncateSync(file, 0)
        const range = yield* Fiber.join(reading)
        // As much as was there yet, and never more than that.
        expect(range.bytes.length).toBeLessThanOrEqual(100_000)
        expect(range.totalBytes).toBeLessThanOrEqual(200_000 + range.bytes.length)
      })
    )
  })

  // These files are Linux's own.
  describe.runIf(isLinux)("reads files that hold more than they report", () => {
    it.scopedLive("by ranges, with their real length", () =>
      Effect.gen(function* () {
        const directory = yield* open(containment, "/proc")
        const version = fs.readFileSync("/proc/version", "utf8")
        expect((yield* directory.file("version")).size).toBe(0)
        for (const [offset, length] of [
          [0, 65_536],
          [0, version.length],
          [0, version.length + 1],
          [0, 5],
          [6, 7],
          [version.length - 2, 100],
          [version.length, 100],
          [version.length + 50, 100]
        ] as const) {
          const range = yield* directory.read("version", { offset, length })
          expect(text(range)).toBe(version.slice(offset, offset + length))
          expect(range.totalBytes).toBe(version.length)
        }
      })
    )

    it.scopedLive("of this process, through a link", () =>
      Effect.gen(function* () {
        const directory = yield* open(containment, "/proc")
        const range = yield* directory.read("self/status", whole)
        expect(range.file).toMatchObject({
          location: `${process.pid}/status`,
          links: [`${process.pid}`],
          size: 0
        })
        expect(text(range)).toMatch(new RegExp(`^Name:[^]*\\nPid:\\t${process.pid}\\n[^]*\\n$`))
        expect(range.totalBytes).toBe(range.bytes.length)
      })
    )

    // Some files answer one read only, from their start.
    it.scopedLive("of which only the first read returns anything", () =>
      Effect.gen(function* () {
        const directory = yield* open(containment, "/proc/sys/kernel")
        const expected = fs.readFileSync("/proc/sys/kernel/pid_max", "utf8")
        const range = yield* directory.read("pid_max", whole)
        expect(text(range)).toBe(expected)
        expect(range.totalBytes).toBe(expected.length)
        const part = yield* directory.read("pid_max", { offset: 0, length: 3 })
        expect(text(part)).toBe(expected.slice(0, 3))
        expect(part.totalBytes).toBe(expected.length)
      })
    )

    // sysfs says 4096 of a file of a few bytes.
    it.scopedLive("that report more than they hold", () =>
      Effect.gen(function* () {
        const directory = yield* open(containment, "/sys/kernel")
        const expected = fs.readFileSync("/sys/kernel/uevent_seqnum", "utf8")
        expect((yield* directory.file("uevent_seqnum")).size).toBeGreaterThan(expected.length)
        for (const range of [whole, { offset: 0, length: 1 }, { offset: 100, length: 5 }]) {
          expect((yield* directory.read("uevent_seqnum", range)).totalBytes).toBe(expected.length)
        }
      })
    )
  })

  describe("reads what was expected", () => {
    const files = Effect.gen(function* () {
      const at = yield* scratch
      for (const name of ["one", "two"]) fs.writeFileSync(path.join(at, name), name)
      fs.symlinkSync("one", path.join(at, "link"))
      return { at, directory: yield* open(containment, at) }
    })

    it.scopedLive("or refuses once another file has the name", () =>
      Effect.gen(function* () {
        const { at, directory } = yield* files
        const expected = yield* directory.file("one")
        expect(text(yield* directory.read("one", { ...whole, expected }))).toBe("one")
        fs.renameSync(path.join(at, "two"), path.join(at, "one"))
        expect(yield* failure(directory.read("one", { ...whole, expected }))).toEqual({
          kind: "changed",
          message: "one: is not the file any more that was looked at before; call again"
        })
      })
    )

    it.scopedLive("or refuses once a link leads elsewhere, be it to the same file by another name", () =>
      Effect.gen(function* () {
        const { at, directory } = yield* files
        const expected = yield* directory.file("link")
        expect(text(yield* directory.read("link", { ...whole, expected }))).toBe("one")
        fs.linkSync(path.join(at, "one"), path.join(at, "same"))
        fs.unlinkSync(path.join(at, "link"))
        fs.symlinkSync("same", path.join(at, "link"))
        expect((yield* directory.file("link")).identity).toEqual(expected.identity)
        expect((yield* failure(directory.read("link", { ...whole, expected }))).kind).toBe("changed")
      })
    )

    it.scopedLive("whatever was written into it meanwhile", () =>
      Effect.gen(function* () {
        const { at, directory } = yield* files
        const expected = yield* directory.file("one")
        fs.appendFileSync(path.join(at, "one"), ", longer")
        expect(text(yield* directory.read("one", { ...whole, expected }))).toBe("one, longer")
      })
    )
  })

  // Only Linux tells which descriptors are open.
  describe.runIf(isLinux)("holds descriptors", () => {
    it.scopedLive("while its scope is open", () =>
      Effect.gen(function* () {
        const at = yield* scratch
        const before = openFiles()
        const during = yield* Effect.scoped(Effect.map(open(containment, at), openFiles))
        expect(during).toEqual(containment === "descriptors" ? [...before, at].sort() : before)
        expect(openFiles()).toEqual(before)
      })
    )

    it.scopedLive("for no longer than a call, whatever its end", () =>
      Effect.gen(function* () {
        const directory = yield* openWorkspace
        const before = openFiles()
        for (const [asked] of rows) {
          yield* Effect.exit(directory.file(inBase(asked)))
          yield* Effect.exit(directory.read(inBase(asked), whole))
        }
        const expected = { location: "plain", identity: { dev: "0", ino: "0" } }
        expect((yield* failure(directory.read("plain", { ...whole, expected }))).kind).toBe("changed")
        expect(openFiles()).toEqual(before)
      })
    )

    it.scopedLive("for no longer than a large read that is interrupted", () =>
      Effect.gen(function* () {
        const at = yield* scratch
        const file = path.join(at, "large")
        fs.writeFileSync(file, Buffer.alloc(1024 * 1024))
        const directory = yield* open(containment, at)
        const before = openFiles()
        for (let i = 0; i < 200; i++) {
          const reading = yield* Effect.fork(directory.read("large", { offset: 0, length: 2 * 1024 * 1024 }))
          yield* Effect.yieldNow()
          expect(openFiles()).toContain(file)
          expect(Exit.isInterrupted(yield* Fiber.interrupt(reading))).toBe(true)
        }
        expect(openFiles()).toEqual(before)
      })
    )
  })
})
