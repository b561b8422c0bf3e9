/** Where an agent is run: a home, a workspace and SCV's own directory, all new, and an environment that leads elsewhere. */
import { execFileSync } from "node:child_process"
import { randomUUID } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type Ended, type Environment, type Running, startScv } from "../../apps/cli/test/support/scv.ts"
import { type Found, kill, processesWith } from "./processes.ts"

export interface World {
  /** What the user has in the way of a home. Nothing may be written there. */
  readonly userHome: string
  /** What variables of the agents lead to. Nothing may be written there either. */
  readonly elsewhere: string
  /** The temporary directory of `scv` itself. */
  readonly temporary: string
  readonly scvHome: string
  /** A git repository. */
  readonly workspace: string
  /** A directory that is no repository. */
  readonly bare: string
  /** The user's own setup of an agent. */
  readonly setup: string
  readonly environment: Environment
  /** The processes that are part of it. */
  readonly processes: () => ReadonlyArray<Found>
}

/** A key that nobody may use, since it is not the private home's. */
const strangersKey = "sk-of-somebody-else"

const worldIn = (base: string, executables: string): World => {
  const at = (name: string) => {
    const directory = path.join(base, name)
    fs.mkdirSync(directory)
    return directory
  }
  const [userHome, elsewhere, temporary, workspace] = [at("user"), at("elsewhere"), at("temporary"), at("workspace")]
  const scvHome = path.join(base, "scv")
  fs.mkdirSync(scvHome, { mode: 0o700 })
  execFileSync("git", ["init", "--quiet", workspace])
  fs.writeFileSync(path.join(workspace, "README.md"), "A workspace.\n")
  const run = `CHECK_AGENTS_RUN=${randomUUID()}`
  const [name, value] = run.split("=") as [string, string]
  return {
    userHome,
    elsewhere,
    temporary,
    workspace,
    scvHome,
    bare: at("bare"),
    setup: at("setup"),
    environment: {
      [name]: value,
      PATH: `${executables}:${process.env.PATH}`,
      HOME: userHome,
      SCV_HOME: scvHome,
      TMPDIR: temporary,
      NO_PROXY: "127.0.0.1",
      no_proxy: "127.0.0.1",
      ANTHROPIC_API_KEY: strangersKey,
      ANTHROPIC_BASE_URL: "http://127.0.0.1:1",
      OPENAI_API_KEY: strangersKey,
      CODEX_API_KEY: strangersKey,
      CLAUDE_CONFIG_DIR: elsewhere,
      CODEX_HOME: elsewhere,
      PI_CODING_AGENT_DIR: elsewhere
    },
    processes: () => processesWith(run)
  }
}

/** A new world; whatever is left of it when the scope closes is killed. */
export const makeWorld = (base: string, executables: string): Effect.Effect<World, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => worldIn(base, executables)),
    ({ processes }) =>
      Effect.sync(processes).pipe(
        Effect.tap((left) => {
          for (const { pid } of left) kill(pid)
        }),
        Effect.delay("50 millis"),
        Effect.repeat({ until: (left) => left.length === 0, times: 100 })
      )
  )

/** Waits for a condition, at most so many seconds. */
export const until = (what: string, seconds: number, condition: () => boolean): Effect.Effect<void, string> =>
  Effect.sync(condition).pipe(
    Effect.delay("20 millis"),
    Effect.repeat({ until: (holds) => holds }),
    Effect.timeoutFail({ duration: `${seconds} seconds`, onTimeout: () => `${what}: not within ${seconds} s` }),
    Effect.asVoid
  )

/** What is done while `scv` runs. */
export type Meanwhile = (running: Running) => Effect.Effect<void, string>

/** Runs `scv` to its end, at most two minutes, with a text on its stdin or with something that is done meanwhile. */
export const scvIn = (
  world: World,
  args: ReadonlyArray<string>,
  meanwhile: Meanwhile | string = ""
): Effect.Effect<Ended, string> =>
  Effect.gen(function* () {
    const running = yield* startScv(args, world.userHome, world.environment)
    if (typeof meanwhile === "string") running.write(meanwhile)
    running.end()
    if (typeof meanwhile === "function") yield* meanwhile(running)
    return yield* running.ended
  }).pipe(
    Effect.scoped,
    Effect.timeoutFail({ duration: "2 minutes", onTimeout: () => `scv ${args[0]}: no end within 2 minutes` })
  )
