/**
 * What the contained walk is for: while names are exchanged, counts the reads that return bytes from outside of the
 * workspace, for a check of the real path before the read and for a contained directory. Needs Linux and a C compiler.
 * Run: npx tsx checks/realpath-race.ts
 */
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { Directory } from "@scv/core"
import { NodeDirectory } from "@scv/node"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"

const reads = 50_000

const source = fileURLToPath(new URL("../packages/node/test/support/exchange.c", import.meta.url))

/** What a read returned, or undefined where it was refused. */
type Read = (asked: string) => Buffer | undefined

interface Count {
  inside: number
  outside: number
  refused: number
}

const count = (read: Read): Count => {
  const counted: Count = { inside: 0, outside: 0, refused: 0 }
  const targets = ["dir/file", "file", "dir/../dir/file"]
  for (let i = 0; i < reads; i++) {
    const bytes = read(targets[i % targets.length]!)
    counted[bytes === undefined ? "refused" : bytes.includes("OUTSIDE") ? "outside" : "inside"]++
  }
  return counted
}

/** Counts while another process exchanges what the names in the workspace stand for. */
const underAttack = async (program: string, workspace: string, read: Read): Promise<Count & { exchanges: number }> => {
  const names = ["dir", "dir-link", "file", "file-link"].map((name) => path.join(workspace, name))
  const attacker = spawn(program, names, { stdio: ["pipe", "pipe", "inherit"] })
  const ended = once(attacker, "close")
  let output = ""
  const began = new Promise<void>((resolve, reject) => {
    attacker.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text
      resolve()
    })
    ended.then(() => reject(new Error("the attacker ended before it began")), reject)
  })
  try {
    await began
    const counted = count(read)
    attacker.stdin.end()
    await ended
    return { ...counted, exchanges: Number(output.slice("ready\n".length)) }
  } finally {
    attacker.kill("SIGKILL")
  }
}

const naive =
  (workspace: string): Read =>
  (asked) => {
    try {
      const real = fs.realpathSync(path.join(workspace, asked))
      return real.startsWith(`${workspace}/`) ? fs.readFileSync(real) : undefined
    } catch {
      return undefined
    }
  }

const contained =
  (directory: Directory.Directory): Read =>
  (asked) => {
    const range = Effect.runSync(Effect.either(directory.read(asked, { offset: 0, length: 4096 })))
    return Either.isRight(range) ? Buffer.from(range.right.bytes) : undefined
  }

const base = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "scv-realpath-race-")))
try {
  const workspace = path.join(base, "workspace")
  const outside = path.join(base, "outside")
  fs.mkdirSync(path.join(workspace, "dir"), { recursive: true })
  fs.mkdirSync(outside)
  for (const name of ["dir/file", "file"]) fs.writeFileSync(path.join(workspace, name), "inside")
  fs.writeFileSync(path.join(outside, "file"), "OUTSIDE")
  fs.symlinkSync(outside, path.join(workspace, "dir-link"))
  fs.symlinkSync("../outside/file", path.join(workspace, "file-link"))
  const program = path.join(base, "exchange")
  execFileSync(process.env.CC ?? "cc", ["-O2", "-o", program, source])

  const byRealPath = await underAttack(program, workspace, naive(workspace))
  const ours = await Effect.flatMap(Directory.Directories, (directories) => directories.open(workspace)).pipe(
    Effect.flatMap((directory) => Effect.promise(() => underAttack(program, workspace, contained(directory)))),
    Effect.scoped,
    Effect.provide(NodeDirectory.layer({ containment: "descriptors" })),
    Effect.runPromise
  )

  const shown = ({ exchanges, inside, outside, refused }: Count & { exchanges: number }): string =>
    `${outside} returned bytes from outside (${inside} inside, ${refused} refused, ${exchanges} exchanges)`
  console.log(`of ${reads} reads under attack: realpath, then read: ${shown(byRealPath)}; contained: ${shown(ours)}`)
  // An attack that the naive way withstands shows nothing about ours.
  if (ours.outside > 0 || byRealPath.outside === 0) process.exitCode = 1
} finally {
  fs.rmSync(base, { recursive: true, force: true })
}
