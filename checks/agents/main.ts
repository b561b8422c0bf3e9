/**
 * Delegates to the agents' real command lines, by the built `scv`, with a stand-in on loopback for the services that
 * their models run at. Prints a line for each check. Arguments choose agents; AGENT_CLIS names a directory in which the
 * command lines are kept from one run to the next. Needs Linux, git, npm's registry and 1.2 GB of disk, or 2.1 GB to keep
 * them; nobody should use these agents meanwhile, since the home directory is looked at for what they write.
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import { checksOf } from "./checks.ts"
import { type Cli, clis, executablesOf, install, isInstalled } from "./clis.ts"
import * as ModelService from "./modelService.ts"
import { makeWorld } from "./world.ts"

const temporary = (name: string): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), name)))),
    (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true, force: true, maxRetries: 5 }))
  )

const seconds = (from: number): string => `${((performance.now() - from) / 1000).toFixed(1)} s`

let passed = 0
let failed = 0

const report = (isWell: boolean, name: string, seen: string): void => {
  if (isWell) passed++
  else failed++
  console.log(`${isWell ? "ok  " : "FAIL"}  ${name}: ${seen}`)
}

const wordsOf = (cause: Cause.Cause<string>): string => {
  if (Cause.isInterruptedOnly(cause)) return "interrupted"
  return cause._tag === "Fail" ? cause.error : String(Cause.squash(cause))
}

/** Runs one check and prints its line. */
const run = (name: string, check: Effect.Effect<string, string>): Effect.Effect<void> =>
  Effect.sync(() => performance.now()).pipe(
    Effect.flatMap((from) =>
      Effect.matchCause(check, {
        onFailure: (cause) => report(false, name, `${wordsOf(cause)} [${seconds(from)}]`),
        onSuccess: (seen) => report(true, name, `${seen} [${seconds(from)}]`)
      })
    )
  )

const filter = process.argv.slice(2)
const unknown = filter.filter((name) => !clis.some(({ agent }) => agent === name))
const chosen = clis.filter(({ agent }) => filter.length === 0 || filter.includes(agent))

const checkAll = (cli: Cli) =>
  Effect.gen(function* () {
    const name = `${cli.agent} ${cli.version}`
    const directory = path.resolve(
      process.env.AGENT_CLIS ?? (yield* temporary("scv-agent-clis-")),
      name.replace(" ", "-")
    )
    yield* run(`${name}: install`, install(cli, directory))
    if (!isInstalled(directory)) return
    const service = yield* ModelService.start
    const world = yield* makeWorld(yield* temporary("scv-check-agents-"), executablesOf(directory))
    for (const check of checksOf(cli, directory, world, service)) yield* run(`${name}: ${check.name}`, check.body)
  }).pipe(Effect.scoped)

if (unknown.length > 0) {
  console.error(`unknown: ${unknown.join(", ")}; known: ${[...new Set(clis.map(({ agent }) => agent))].join(", ")}`)
  process.exitCode = 2
} else {
  const controller = new AbortController()
  // More than once: a terminal and npm may both send it.
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => controller.abort())
  const ended = await Effect.runPromiseExit(Effect.forEach(chosen, checkAll), { signal: controller.signal })
  if (Exit.isFailure(ended)) report(false, "run", wordsOf(ended.cause))
  console.log(`${passed} passed, ${failed} failed`)
  process.exitCode = failed > 0 ? 1 : 0
}
