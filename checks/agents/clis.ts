/** The agents' real command lines, from the npm registry. */
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import { sizeOf } from "./places.ts"
import { kill } from "./processes.ts"

export interface Cli {
  readonly agent: "claude" | "codex" | "pi"
  readonly version: string
  /** What to install, at exact versions; with a Node of its own where this one may be too old for it. */
  readonly packages: ReadonlyArray<string>
}

/** For each agent the newest that runs on Node 20, and for those that have moved on the newest there is. */
export const clis: ReadonlyArray<Cli> = [
  { agent: "codex", version: "0.171.0", packages: ["@openai/codex@0.171.0"] },
  { agent: "claude", version: "2.1.197", packages: ["@anthropic-ai/claude-code@2.1.197"] },
  { agent: "claude", version: "2.1.332", packages: ["@anthropic-ai/claude-code@2.1.332"] },
  { agent: "pi", version: "0.73.1", packages: ["@mariozechner/pi-coding-agent@0.73.1"] },
  { agent: "pi", version: "1.6.0", packages: ["@earendil-works/pi-coding-agent@1.6.0", "node@22.23.3"] }
]

/** The most that one of them takes on the disk with its download, in bytes. */
const needed = 1_200_000_000

const run = (program: string, args: ReadonlyArray<string>): Effect.Effect<string, string> =>
  Effect.async<string, string>((resume) => {
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], detached: true })
    let output = ""
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text
      })
    }
    child.on("error", (error) => resume(Effect.fail(error.message)))
    child.on("close", (code) => resume(code === 0 ? Effect.succeed(output) : Effect.fail(output.slice(-2000))))
    return Effect.sync(() => {
      if (child.pid !== undefined) kill(-child.pid)
    })
  })

/** The directory that a CLI's executables are in, below the one that it is installed in. */
export const executablesOf = (directory: string): string => path.join(directory, "node_modules/.bin")

// Written last: without it an installation was cut short.
const mark = (directory: string): string => path.join(directory, "installed")

export const isInstalled = (directory: string): boolean => fs.existsSync(mark(directory))

const shown = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`

/** Installs a CLI in a directory, unless it is there. Nothing stays in npm's cache. Fails with a line that says why. */
export const install = (cli: Cli, directory: string): Effect.Effect<string, string> =>
  Effect.gen(function* () {
    if (isInstalled(directory)) return `kept in ${directory}`
    fs.rmSync(directory, { recursive: true, force: true })
    fs.mkdirSync(directory, { recursive: true })
    const { bavail, bsize } = fs.statfsSync(directory)
    if (bavail * bsize < needed) {
      return yield* Effect.fail(`${shown(bavail * bsize)} are free in ${directory}; it needs ${shown(needed)}`)
    }
    const cache = path.join(directory, "cache")
    const options = ["--prefix", directory, "--cache", cache, "--no-audit", "--no-fund", "--ignore-scripts=false"]
    yield* run("npm", ["install", ...options, ...cli.packages]).pipe(
      Effect.timeoutFail({ duration: "10 minutes", onTimeout: () => "npm install: no end within 10 minutes" }),
      Effect.ensuring(Effect.sync(() => fs.rmSync(cache, { recursive: true, force: true })))
    )
    fs.writeFileSync(mark(directory), "")
    return `${cli.packages.join(", ")}, ${shown(sizeOf(directory))}`
  })
