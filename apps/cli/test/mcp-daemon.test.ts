import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it, vi } from "@effect/vitest"
import { Client } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { InputSchema, Tool } from "@scv/core"
import { builtins } from "@scv/runtime"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import { startInProcess } from "../../daemon/test/support/inProcess.ts"
import { command, linesOf, makeWorkspace, scv, startScv } from "./support/scv.ts"

// Each starts a daemon and several commands.
vi.setConfig({ testTimeout: 240_000 })

interface Home {
  readonly home: string
  readonly workspace: string
  readonly run: (args: ReadonlyArray<string>) => ReturnType<typeof scv>
}

/** A home whose daemon is stopped when the scope closes, and a workspace. */
const started = Effect.gen(function* () {
  const home = yield* makeWorkspace
  const workspace = yield* makeWorkspace
  const run: Home["run"] = (args) => scv(args, workspace, "", { SCV_HOME: home })
  yield* Effect.acquireRelease(run(["daemon", "start"]), () => run(["daemon", "stop", "--now"]))
  fs.writeFileSync(path.join(workspace, "a"), "from the file\n")
  return { home, workspace, run } satisfies Home
})

/** Answers a question of the server's; a client without it offers none. */
type Elicited = (message: string, signal: AbortSignal) => Promise<object>

interface Connecting {
  readonly args?: ReadonlyArray<string>
  readonly elicited?: Elicited
  /** The one version of the protocol that the client takes. */
  readonly pin?: string
}

const connect = (
  { home, workspace }: Pick<Home, "home" | "workspace">,
  { args = [], elicited, pin }: Connecting = {}
) =>
  Effect.gen(function* () {
    const client = new Client(
      { name: "test", version: "1" },
      {
        capabilities: elicited === undefined ? {} : { elicitation: {} },
        ...(pin === undefined ? {} : { versionNegotiation: { mode: { pin } } })
      }
    )
    if (elicited !== undefined) {
      client.setRequestHandler(
        "elicitation/create",
        ({ params }, { mcpReq }) => elicited(params.message, mcpReq.signal) as never
      )
    }
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [command, "mcp", "--daemon", "--workspace", workspace, ...args],
      env: { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "", SCV_HOME: home },
      stderr: "ignore"
    })
    yield* Effect.acquireRelease(
      Effect.promise(() => client.connect(transport)),
      () => Effect.promise(() => client.close())
    )
    return { client, transport }
  })

const bash = (client: Client, line: string, options: Parameters<Client["callTool"]>[1] = {}) =>
  Effect.map(
    Effect.promise(() => client.callTool({ name: "bash", arguments: { command: line } }, options)),
    ({ structuredContent }) => structuredContent as Record<string, unknown>
  )

const until = <A>(look: Effect.Effect<A>, is: (found: A) => boolean): Effect.Effect<A> =>
  Effect.flatMap(look, (found) => (is(found) ? Effect.succeed(found) : Effect.delay(until(look, is), "20 millis")))

const questionOf = ({ run }: Home): Effect.Effect<string> =>
  Effect.map(
    until(
      Effect.map(run(["approvals", "--json"]), ({ stdout }) => JSON.parse(stdout).approvals),
      ({ length }) => length > 0
    ),
    ([asked]) => asked.approval_id
  )

const sessionsOf = ({ run }: Home) =>
  Effect.map(run(["sessions", "--json"]), ({ stdout }) => JSON.parse(stdout).sessions as ReadonlyArray<object>)

/** How many processes run `sleep` for so many seconds. */
const sleepers = (seconds: string) =>
  Effect.sync(
    () =>
      fs.readdirSync("/proc").filter((pid) => {
        if (!/^\d+$/.test(pid)) return false
        try {
          return fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(`sleep\0${seconds}\0`)
        } catch {
          return false
        }
      }).length
  )

const line = (id: unknown, method: string, params: object) =>
  `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`

const initialize = line(0, "initialize", {
  protocolVersion: "2025-06-18",
  capabilities: {},
  clientInfo: { name: "test", version: "1" }
})

describe("scv mcp --daemon", () => {
  it.scopedLive("without a daemon says so, and how to start one", () =>
    Effect.gen(function* () {
      const home = yield* makeWorkspace
      const { code, stderr, stdout } = yield* scv(["mcp", "--daemon"], home, "", { SCV_HOME: home })
      assert.strictEqual(code, 2)
      assert.match(stderr, /^scv: no daemon runs \(nobody answers at .*\); scv daemon start starts one\n$/)
      assert.strictEqual(stdout, "")
    })
  )

  it.scopedLive("makes calls in the daemon, where a client that cannot be asked is answered for", () =>
    Effect.gen(function* () {
      const home = yield* started
      const { client } = yield* connect(home)
      const { tools } = yield* Effect.promise(() => client.listTools())
      assert.includeMembers(
        tools.map(({ name }) => name),
        ["read", "write", "bash"]
      )
      const shown = tools.find(({ name }) => name === "bash")
      assert.strictEqual(shown?.annotations?.destructiveHint, true)
      assert.property(shown?.inputSchema.properties, "command")
      const read = yield* Effect.promise(() => client.callTool({ name: "read", arguments: { path: "a" } }))
      assert.deepInclude(read.structuredContent, { tool: "read", status: "completed" })
      const bad = yield* Effect.promise(() => client.callTool({ name: "read", arguments: { pth: "a" } }))
      assert.deepInclude(bad.structuredContent, { tool: "read", status: "invalid" })
      assert.lengthOf(yield* sessionsOf(home), 1)

      const told: Array<string> = []
      const asking = yield* Effect.fork(
        bash(client, "echo one; sleep 0.3; echo two", { onprogress: ({ message = "" }) => told.push(message) })
      )
      yield* home.run(["approve", yield* questionOf(home)])
      assert.strictEqual((yield* Fiber.join(asking)).status, "completed")
      assert.include(told, "waiting for approval")

      const refused = yield* Effect.fork(bash(client, "touch ran"))
      yield* home.run(["deny", yield* questionOf(home), "--reason", "not now"])
      const denied = yield* Fiber.join(refused)
      assert.strictEqual(denied.status, "denied")
      assert.include(JSON.stringify(denied), "not now")
      assert.isFalse(fs.existsSync(path.join(home.workspace, "ran")))

      const { stdout } = yield* home.run(["audit", "--json"])
      assert.include(stdout, `"call_id":"${denied.call_id}"`)
      yield* Effect.promise(() => client.close())
      assert.lengthOf(yield* sessionsOf(home), 0)
    })
  )

  it.scopedLive("asks a client that can be asked beside the list, and the first answer wins", () =>
    Effect.gen(function* () {
      const home = yield* started
      let withdrawn = 0
      let asked = 0
      const { client } = yield* connect(home, {
        elicited: (_, signal) => {
          if (asked++ === 0) return Promise.resolve({ action: "accept", content: {} })
          return new Promise((resolve) => {
            signal.addEventListener("abort", () => {
              withdrawn++
              resolve({ action: "cancel" })
            })
          })
        }
      })
      assert.strictEqual((yield* bash(client, "echo hi")).status, "completed")
      const second = yield* Effect.fork(bash(client, "echo hi"))
      yield* home.run(["deny", yield* questionOf(home)])
      assert.strictEqual((yield* Fiber.join(second)).status, "denied")
      yield* until(
        Effect.sync(() => withdrawn),
        (count) => count === 1
      )
    })
  )

  it.scopedLive("asks in a round of its own where the protocol wants that", () =>
    Effect.gen(function* () {
      const home = yield* started
      const actions = ["accept", "decline"]
      const elicited = async () => ({ action: actions.shift() ?? "cancel", content: {} })
      const { client } = yield* connect(home, { elicited, pin: "2026-07-28" })
      assert.strictEqual((yield* bash(client, "touch one")).status, "completed")
      assert.strictEqual((yield* bash(client, "touch two")).status, "denied")
      assert.isTrue(fs.existsSync(path.join(home.workspace, "one")))
      assert.isFalse(fs.existsSync(path.join(home.workspace, "two")))
      assert.strictEqual((yield* home.run(["approvals"])).stdout, "nothing waits for an answer\n")
    })
  )

  it.scopedLive("takes --yes and --policy as scv mcp does", () =>
    Effect.gen(function* () {
      const home = yield* started
      const asked: Array<string> = []
      const elicited = async (message: string) => {
        asked.push(message)
        return { action: "decline" }
      }
      const yes = yield* connect(home, { args: ["--yes"], elicited })
      assert.strictEqual((yield* bash(yes.client, "echo hi")).status, "completed")
      const never = yield* connect(home, { args: ["--yes", "--policy", "never"], elicited })
      assert.strictEqual((yield* bash(never.client, "echo hi")).status, "denied")
      assert.lengthOf(asked, 0)
    })
  )

  it.scopedLive("cancels calls, at once by request and when it is killed, and keeps them apart", () =>
    Effect.gen(function* () {
      const home = yield* started
      const { client, transport } = yield* connect(home, { args: ["--yes"] })
      const first = `302.${process.pid}1`
      const second = `302.${process.pid}2`
      const controller = new AbortController()
      const running = yield* Effect.fork(
        Effect.exit(bash(client, `sleep ${first} & wait`, { signal: controller.signal }))
      )
      yield* until(sleepers(first), (count) => count > 0)
      const queued = yield* Effect.fork(bash(client, "echo queued"))
      controller.abort()
      yield* Fiber.join(running)
      assert.include(JSON.stringify(yield* Fiber.join(queued)), "queued")
      assert.strictEqual(yield* sleepers(first), 0)
      yield* Effect.fork(Effect.exit(bash(client, `sleep ${second} & wait`)))
      yield* until(sleepers(second), (count) => count > 0)
      process.kill(transport.pid ?? 0, "SIGKILL")
      yield* until(sleepers(second), (count) => count === 0)
    })
  )

  it.scopedLive("killed while it asks leaves no question", () =>
    Effect.gen(function* () {
      const home = yield* started
      const elicited = () => new Promise<object>(() => {})
      const { client, transport } = yield* connect(home, { elicited })
      yield* Effect.fork(Effect.exit(bash(client, "touch made")))
      yield* questionOf(home)
      process.kill(transport.pid ?? 0, "SIGKILL")
      yield* until(home.run(["approvals"]), ({ stdout }) => stdout === "nothing waits for an answer\n")
      assert.isFalse(fs.existsSync(path.join(home.workspace, "made")))
    })
  )

  it.scopedLive("serves a tool of somebody else's, which the daemon has", () =>
    Effect.gen(function* () {
      const workspace = yield* makeWorkspace
      const shout = Tool.make({
        name: "shout",
        description: "Says it loudly.",
        risk: "process",
        input: InputSchema.struct({ word: InputSchema.required(InputSchema.nonEmpty, "what to shout") }),
        plan: Schema.Struct({ word: Schema.String }),
        output: Schema.Struct({ shouted: Schema.String }),
        prepare: ({ word }) => Effect.succeed({ summary: `shout ${word}`, plan: { word: word.toUpperCase() } }),
        run: ({ word }) => Effect.succeed({ shouted: word })
      })
      const { home, stop } = yield* startInProcess([...builtins, shout])
      yield* Effect.gen(function* () {
        const { client } = yield* connect({ home, workspace }, { args: ["--yes"] })
        const { tools } = yield* Effect.promise(() => client.listTools())
        assert.deepInclude(tools.at(-1), { name: "shout", description: "Says it loudly." })
        const { structuredContent } = yield* Effect.promise(() =>
          client.callTool({ name: "shout", arguments: { word: "hi" } })
        )
        assert.deepInclude(structuredContent as object, { status: "completed", result: { shouted: "HI" } })
      }).pipe(Effect.scoped)
      assert.strictEqual(yield* stop, 0)
    })
  )

  it.scopedLive("ends with the daemon, and says so", () =>
    Effect.gen(function* () {
      const home = yield* started
      const server = yield* startScv(["mcp", "--daemon"], home.workspace, { SCV_HOME: home.home })
      server.write(initialize + line(1, "tools/call", { name: "bash", arguments: { command: "echo never" } }))
      yield* questionOf(home)
      yield* home.run(["daemon", "stop"])
      const ended = yield* server.ended
      assert.strictEqual(ended.code, 2)
      assert.include(ended.stderr, "scv: the daemon ended the session, or went away")
      const answered = linesOf(ended).find(({ id }) => id === 1)?.result as { structuredContent: { status: string } }
      assert.strictEqual(answered.structuredContent.status, "cancelled")
    })
  )
})
