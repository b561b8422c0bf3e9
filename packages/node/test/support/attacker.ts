import { type ChildProcessByStdio, execFileSync, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import type { Readable, Writable } from "node:stream"
import { fileURLToPath } from "node:url"
import * as Effect from "effect/Effect"

const source = fileURLToPath(new URL("exchange.c", import.meta.url))

/** What exchange.c does, as well as plain renames can: not atomically, so that names are missing now and then. */
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

/** An empty directory for as long as the scope is open. */
export const temporary = Effect.acquireRelease(
  Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "scv-attack-")))),
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
const startAttack = (command: string, args: ReadonlyArray<string>) =>
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

/**
 * Starts to exchange the names of each pair, as fast as this machine can; what it answers ends that, and tells how often
 * it was done. `base` is a directory for the program.
 */
export const attack = (base: string, pairs: ReadonlyArray<string>) => {
  const program = compiled(base)
  const started =
    program === undefined
      ? startAttack(process.execPath, ["-e", withoutCompiler, ...pairs])
      : startAttack(program, pairs)
  return Effect.map(started, (stop) => ({ stop, isNative: program !== undefined }))
}
