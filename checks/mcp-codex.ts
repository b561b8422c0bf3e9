/**
 * The real Codex uses SCV as its MCP server, here and in the daemon, with a stand-in on loopback for the service that its
 * model runs at. Prints a line for each check. AGENT_CLIS names a directory in which Codex is kept from one run to the
 * next. Needs Linux, git, npm's registry, `npm run build`, and 1.2 GB of disk.
 */
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { command, scv, startProgram } from "../apps/cli/test/support/scv.ts"
import { clis, executablesOf, install } from "./agents/clis.ts"
import * as ModelService from "./agents/modelService.ts"
import { processesWith } from "./agents/processes.ts"
import { until } from "./agents/world.ts"

const codex = clis.find(({ agent }) => agent === "codex")!

const temporary: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "scv-codex-")))),
  (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true, force: true, maxRetries: 5 }))
)

const expect = (holds: boolean, otherwise: string): Effect.Effect<void, string> =>
  holds ? Effect.void : Effect.fail(otherwise)

/** A string as TOML has it. */
const toml = (text: string): string => JSON.stringify(text)

interface Place {
  readonly workspace: string
  readonly env: Readonly<Record<string, string>>
  /** The variable that every process of the place has. */
  readonly mark: string
}

/** A workspace, and a home in which Codex has the service for its model and SCV for its one MCP server. */
const makePlace = (executables: string, url: string, args: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const place = yield* temporary
    const workspace = path.join(place, "workspace")
    execFileSync("git", ["init", "--quiet", workspace])
    const scvHome = path.join(place, "scv")
    const mark = `CHECK_CODEX=${place}`
    fs.mkdirSync(path.join(place, ".codex"))
    const server = [command, "mcp", ...args, "--workspace", workspace].map(toml).join(", ")
    fs.writeFileSync(
      path.join(place, ".codex/config.toml"),
      `
model = "some-model"
model_provider = "relay"
check_for_update_on_startup = false

[features]
plugins = false

[model_providers.relay]
name = "A relay"
base_url = ${toml(`${url}/v1`)}
wire_api = "responses"
experimental_bearer_token = "token"

[mcp_servers.scv]
command = ${toml(process.execPath)}
args = [${server}]
required = true
default_tools_approval_mode = "approve"

[mcp_servers.scv.env]
SCV_HOME = ${toml(scvHome)}
CHECK_CODEX = ${toml(place)}
`
    )
    const env = {
      PATH: `${executables}:${process.env.PATH}`,
      HOME: place,
      SCV_HOME: scvHome,
      CODEX_HOME: path.join(place, ".codex"),
      CHECK_CODEX: place
    }
    return { workspace, env, mark } satisfies Place
  })

/** Starts Codex on a task; its stdin is at its end. */
const work = ({ env, workspace }: Place) =>
  Effect.tap(startProgram(["codex", "exec", "Do it."], workspace, env), (running) => Effect.sync(() => running.end()))

/** What the model was told of its call. */
const told = (service: ModelService.ModelService): string => service.asked.at(-1)?.text ?? ""

const text = "It is done."

/** Codex runs a command by the server's `bash` to its end. */
const runs = (service: ModelService.ModelService, place: Place, line: string) =>
  Effect.gen(function* () {
    service.behave({ does: "run", server: "scv", command: line, text })
    const running = yield* work(place)
    const { code, stderr, stdout } = yield* running.ended
    yield* expect(code === 0 && stdout.trim() === text, `exit code ${code}, ${stdout}${stderr.slice(-500)}`)
  })

const completes = (service: ModelService.ModelService, place: Place) =>
  Effect.gen(function* () {
    yield* runs(service, place, "echo from bash; touch made")
    yield* expect(/status[\\":]+completed/.test(told(service)), `the model was told ${told(service).slice(-500)}`)
    yield* expect(told(service).includes("from bash"), "the model was not told the output")
    yield* expect(fs.existsSync(path.join(place.workspace, "made")), "nothing was made")
  })

const checks = (executables: string, service: ModelService.ModelService) => {
  const place = (...args: ReadonlyArray<string>) => makePlace(executables, service.url, args)
  return {
    "runs bash by scv mcp --yes": Effect.flatMap(place("--yes"), (place) => completes(service, place)),
    "declines what SCV asks while it runs alone, and its model is told so": Effect.gen(function* () {
      const here = yield* place()
      yield* runs(service, here, "touch made")
      yield* expect(/status[\\":]+denied/.test(told(service)), `the model was told ${told(service).slice(-500)}`)
      yield* expect(!fs.existsSync(path.join(here.workspace, "made")), "it ran")
    }),
    "leaves nothing of a call at Ctrl-C": Effect.gen(function* () {
      const here = yield* place("--yes")
      service.behave({ does: "run", server: "scv", command: "setsid sleep 300 & sleep 300 & touch up; wait", text })
      const running = yield* work(here)
      yield* until("the call", 60, () => fs.existsSync(path.join(here.workspace, "up")))
      running.kill("SIGINT")
      yield* running.ended
      yield* until("an end of all that was started", 15, () => processesWith(here.mark).length === 0)
    }),
    "runs bash in the daemon by scv mcp --daemon --yes": Effect.gen(function* () {
      const here = yield* place("--daemon", "--yes")
      const run = (...args: ReadonlyArray<string>) => scv(args, here.workspace, "", here.env)
      yield* Effect.acquireRelease(run("daemon", "start"), () => run("daemon", "stop"))
      yield* completes(service, here)
      const { stdout } = yield* run("audit", "--json")
      yield* expect(/"surface": ?"scvd"/.test(stdout), `the daemon did not make the call: ${stdout.slice(-500)}`)
    })
  }
}

let failed = 0

const run = (name: string, check: Effect.Effect<unknown, string, Scope.Scope>) =>
  Effect.scoped(check).pipe(
    Effect.timeoutFail({ duration: "2 minutes", onTimeout: () => "no end within 2 minutes" }),
    Effect.match({
      onFailure: (fault) => {
        failed++
        console.log(`FAIL ${name}: ${fault}`)
      },
      onSuccess: () => console.log(`ok   ${name}`)
    })
  )

const main = Effect.gen(function* () {
  const directory = path.resolve(process.env.AGENT_CLIS ?? (yield* temporary), `codex-${codex.version}`)
  yield* run("codex is installed", install(codex, directory))
  if (failed > 0) return
  const service = yield* ModelService.start
  for (const [name, check] of Object.entries(checks(executablesOf(directory), service))) {
    yield* run(`codex ${codex.version} ${name}`, check)
  }
})

await Effect.runPromise(Effect.scoped(main))
process.exitCode = failed === 0 ? 0 : 1
