import { type ChildProcessByStdio, execFileSync, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import type { Readable, Writable } from "node:stream"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "@effect/vitest"
import { Directory } from "@scv/core"
import { NodeDirectory } from "@scv/node"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"

const reads = 50_000

const source = fileURLToPath(new URL("support/exchange.c", import.meta.url))

/** What support/exchange.c does, as well as plain renames can: not atomically, so that names are missing now and then. */
const withoutCompiler = `
  const fs = require("node:fs")
  const names = process.argv.slice(1)
  let exchanges = 0
  let stopped = false
  process.stdin.on("end", () => { stopped = true }).resume()
  const turn = () => {
    for (let round = 0; round < 64; round++) {
      for (let i = 0; i < names.length; i += 2) {
        fs.renameSync(names[i], names[i] + ".aside")
        fs.renameSync(names[i + 1], names[i])
        fs.renameSync(names[i] + ".aside", names[i + 1])
        exchanges++
      }
    }
    if (exchanges === 32 * names.length) console.log("ready")
    if (stopped) console.log(exchanges)
    else setImmediate(turn)
  }
  turn()`

const temporary = Effect.acquireRelease(
  Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "scv-containment-")))),
  (made) => Effect.sync(() => fs.rmSync(made, { recursive: true, force: true }))
)

/** Compiles the attacker, or answers undefined where there is no compiler. */
const compiled = (into: string): string | undefined => {
  const program = path.join(into, "exchange")
  for (const compiler of ["cc", "gcc"]) {
    try {
      execFileSync(compiler, ["-O2", "-o", program, source])
      return program
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error
    }
  }
  return undefined
}

const closed = (child: ChildProcessByStdio<Writable, Readable, null>): Effect.Effect<void> =>
  Effect.async((resume) => {
    if (child.stdout.closed && (child.exitCode !== null || child.signalCode !== null)) resume(Effect.void)
    else child.once("close", () => resume(Effect.void))
  })

/** Exchanges pairs of names from when it answers until it is told to stop, which answers how often it did. */
const attack = (command: string, args: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const child = yield* Effect.acquireRelease(
      Effect.sync(() => spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] })),
      (started) =>
        Effect.zipRight(
          Effect.sync(() => started.kill("SIGKILL")),
          closed(started)
        )
    )
    let output = ""
    yield* Effect.async<void>((resume) => {
      child.once("error", (error) => resume(Effect.die(error)))
      child.once("close", () => resume(Effect.dieMessage("the attacker ended before it began")))
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        output += text
        if (output.startsWith("ready\n")) resume(Effect.void)
      })
    })
    const stop = Effect.zipRight(
      Effect.sync(() => child.stdin.end()),
      closed(child)
    )
    return Effect.map(stop, () => Number(output.slice("ready\n".length)))
  })

/** Every descriptor of this process, as what it is open on. */
const openFiles = (): ReadonlyArray<string> =>
  fs
    .readdirSync("/proc/self/fd")
    .flatMap((fd) => {
      try {
        return [fs.readlinkSync(`/proc/self/fd/${fd}`)]
      } catch {
        // The one that listed the others.
        return []
      }
    })
    .sort()

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

        const program = compiled(base)
        const stop = yield* program === undefined
          ? attack(process.execPath, ["-e", withoutCompiler, ...pairs])
          : attack(program, pairs)
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
        expect(exchanges).toBeGreaterThan(program === undefined ? 1000 : 10_000)
        expect(openAfter).toEqual(openBefore)
      }).pipe(Effect.provide(NodeDirectory.layer({ containment: "descriptors" }))),
    60_000
  )
})
