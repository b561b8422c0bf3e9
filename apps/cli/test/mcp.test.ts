import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it, vi } from "@effect/vitest"
import { Client } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { InputSchema, Tool } from "@scv/core"
import { builtins } from "@scv/runtime"
import { Ajv2020 } from "ajv/dist/2020.js"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { command, isolated, linesOf, makeWorkspace, runInProcess, scv, startProgram, startScv } from "./support/scv.ts"

// Each starts several processes, some of them one after the other.
vi.setConfig({ testTimeout: 90_000 })

const line = (id: unknown, method: string, params?: object) =>
  `${JSON.stringify({ jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) })}\n`

const initialize = line(0, "initialize", {
  protocolVersion: "2025-06-18",
  capabilities: {},
  clientInfo: { name: "test", version: "1" }
})

const call = (id: unknown, name: string, input: object) => line(id, "tools/call", { name, arguments: input })

interface Answer {
  readonly content: ReadonlyArray<{ readonly text: string }>
  readonly structuredContent: { readonly status: string; readonly error?: { readonly message: string } }
  readonly isError?: boolean
  readonly tools?: ReadonlyArray<{ readonly name: string }>
}

const answerTo = (lines: ReadonlyArray<Record<string, unknown>>, id: unknown) =>
  lines.find((message) => message.id === id)?.result as Answer

/** How many processes run `sleep` for so many seconds. */
const sleepers = (seconds: string): number => running(`sleep\0${seconds}\0`)

/** How many processes have a command line with this in it; its arguments end in NUL. */
const running = (text: string): number =>
  fs.readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false
    try {
      return fs.readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(text)
    } catch {
      return false
    }
  }).length

/** Waits until a condition holds. */
const until = (holds: () => boolean): Effect.Effect<void> =>
  Effect.suspend(() => (holds() ? Effect.void : Effect.delay(until(holds), "20 millis")))

/** A number of seconds that no other test sleeps for. */
const aLongTime = (() => {
  let count = 0
  return () => `300.${process.pid}${++count}`
})()

const withFile = Effect.tap(makeWorkspace, (workspace) =>
  Effect.sync(() => fs.writeFileSync(path.join(workspace, "a"), "from the file\n"))
)

describe("scv mcp", () => {
  it.scopedLive("answers what is written to it, only the protocol on stdout, and ends with its input", () =>
    Effect.gen(function* () {
      const stdin = [
        initialize,
        "oops\n",
        line(1, "tools/list"),
        call("two", "read", { path: "a" }),
        call(3, "bash", { command: "echo hi" }),
        call(4, "read", { pth: "a" })
      ]
      const ended = yield* scv(["mcp"], yield* withFile, stdin.join(""), { NODE_DEBUG: "fs,stream,timer" })
      assert.strictEqual(ended.code, 0)
      const lines = linesOf(ended)
      assert.isTrue(lines.every(({ jsonrpc }) => jsonrpc === "2.0"))
      const names = answerTo(lines, 1).tools?.map(({ name }) => name) ?? []
      assert.include(names, "bash")
      assert.strictEqual(answerTo(lines, "two").content[1]?.text, "from the file\n")
      const { structuredContent } = answerTo(lines, 3)
      assert.strictEqual(structuredContent.status, "denied")
      assert.match(structuredContent.error?.message ?? "", /scv mcp --yes.*--policy.*tools\.approval_policy/)
      assert.strictEqual(answerTo(lines, 4).structuredContent.status, "invalid")
      assert.include(ended.stderr, "mcp: expected one JSON-RPC 2.0 message a line, got no JSON")
    })
  )

  it.scopedLive("serves a client that speaks 2024-11-05 alone", () =>
    Effect.gen(function* () {
      const workspace = yield* withFile
      const version = "2024-11-05"
      const hello = { protocolVersion: version, capabilities: { roots: {} }, clientInfo: { name: "old", version: "1" } }
      const server = yield* startScv(["mcp", "--yes"], workspace)
      server.write(line(0, "initialize", hello))
      yield* server.until(`"protocolVersion":"${version}"`)
      server.write(line(undefined, "notifications/initialized") + line(1, "tools/list") + line(2, "ping"))
      server.write(call(3, "bash", { command: "cat a" }) + call(4, "read", { path: "b" }))
      for (const id of [1, 2, 3, 4]) yield* server.until(`"id":${id}`)
      server.end()
      const ended = yield* server.ended
      assert.strictEqual(ended.code, 0)
      const lines = linesOf(ended)
      assert.includeMembers(answerTo(lines, 1).tools?.map(({ name }) => name) ?? [], ["read", "write", "bash"])
      // It knows no structured content: the text tells all.
      assert.match(answerTo(lines, 3).content[0]?.text ?? "", /^bash completed\nexit_code: 0\n/)
      assert.strictEqual(answerTo(lines, 3).content[1]?.text, "from the file\n")
      assert.isTrue(answerTo(lines, 4).isError)
      assert.match(answerTo(lines, 4).content[0]?.text ?? "", /^read failed \(not_found\): b: /)
    })
  )

  it.scopedLive("takes --yes and --policy as scv call does", () =>
    Effect.gen(function* () {
      const workspace = yield* withFile
      const stdin = initialize + call(1, "bash", { command: "echo hi" }) + call(2, "read", { path: "a" })
      const statuses = (args: ReadonlyArray<string>) =>
        Effect.gen(function* () {
          const server = yield* startScv(["mcp", ...args], workspace)
          server.write(stdin)
          for (const id of [1, 2]) yield* server.until(`"id":${id}`)
          server.end()
          const lines = linesOf(yield* server.ended)
          return [1, 2].map((id) => answerTo(lines, id).structuredContent.status).join(" ")
        })
      assert.strictEqual(yield* statuses(["--yes"]), "completed completed")
      assert.strictEqual(yield* statuses(["--policy", "always"]), "denied denied")
      assert.strictEqual(yield* statuses(["--policy", "never", "--yes"]), "denied completed")
      const wrong = yield* scv(["mcp", "--policy", "sometimes"], workspace)
      assert.strictEqual(wrong.code, 2)
      assert.strictEqual(wrong.stdout, "")
      assert.include(wrong.stderr, "--policy: expected one of on-risk, always, never")
      const nowhere = yield* scv(["mcp", "--workspace", "/nope/nope"], workspace)
      assert.strictEqual(nowhere.code, 2)
      assert.match(nowhere.stderr, /^scv: workspace: [^\n]+\n$/)
    })
  )

  for (const mode of ["legacy", { pin: "2026-07-28" }] as const) {
    it.scopedLive(`serves the official client, whose user is asked (${JSON.stringify(mode)})`, () =>
      Effect.gen(function* () {
        const workspace = yield* withFile
        const client = new Client(
          { name: "test", version: "1" },
          { capabilities: { elicitation: {} }, versionNegotiation: { mode } }
        )
        const questions: Array<string> = []
        client.setRequestHandler("elicitation/create", ({ params }) => {
          questions.push(params.message)
          return { action: questions.length === 1 ? "accept" : "decline" }
        })
        const transport = new StdioClientTransport({
          command: process.execPath,
          args: [command, "mcp", "--workspace", workspace],
          env: { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "", ...isolated },
          stderr: "ignore"
        })
        yield* Effect.acquireRelease(
          Effect.promise(() => client.connect(transport)),
          () => Effect.promise(() => client.close())
        )
        const { tools } = yield* Effect.promise(() => client.listTools())
        const ajv = new Ajv2020({ strict: true })
        const isAnswerOf = new Map(tools.map(({ name, outputSchema }) => [name, ajv.compile(outputSchema as object)]))
        for (const { inputSchema } of tools) ajv.compile(inputSchema)
        const bash = (command: string) =>
          Effect.tap(
            Effect.promise(() => client.callTool({ name: "bash", arguments: { command } })),
            ({ structuredContent }) => assert.isTrue(isAnswerOf.get("bash")?.(structuredContent))
          )
        assert.include(JSON.stringify((yield* bash("echo to both >&2; echo done")).structuredContent), "to both\\ndone")
        assert.isTrue((yield* bash("touch ran")).isError)
        assert.isFalse(fs.existsSync(path.join(workspace, "ran")))
        assert.lengthOf(questions, 2)
        assert.match(questions[1] ?? "", /^approval needed for bash \(risk: process\)\n[\s\S]*touch ran/)
        const { pid } = transport
        yield* Effect.promise(() => client.close())
        assert.isFalse(fs.existsSync(`/proc/${pid}`))
      })
    )
  }

  it.scopedLive("cancels a call on request, and leaves nothing of it", () =>
    Effect.gen(function* () {
      const server = yield* startScv(["mcp", "--yes"], yield* withFile)
      const seconds = aLongTime()
      server.write(
        initialize + call(1, "bash", { command: `trap 'echo bye > trapped; exit' TERM; sleep ${seconds} & wait` })
      )
      yield* until(() => sleepers(seconds) > 0)
      server.write(line(undefined, "notifications/cancelled", { requestId: 1 }) + call(2, "read", { path: "trapped" }))
      yield* server.until('"id":2')
      assert.strictEqual(sleepers(seconds), 0)
      server.end()
      const ended = yield* server.ended
      const lines = linesOf(ended)
      assert.isUndefined(lines.find(({ id }) => id === 1))
      assert.strictEqual(answerTo(lines, 2).structuredContent.status, "completed")
    })
  )

  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    it.scopedLive(`${signal} cancels all, waits for the release, and exits 130`, () =>
      Effect.gen(function* () {
        const server = yield* startScv(["mcp", "--yes"], yield* withFile)
        const seconds = aLongTime()
        server.write(
          initialize + call(1, "bash", { command: `sleep ${seconds} & wait` }) + call(2, "read", { path: "a" })
        )
        yield* until(() => sleepers(seconds) > 0)
        server.kill(signal)
        const ended = yield* server.ended
        assert.strictEqual(ended.code, 130)
        assert.strictEqual(sleepers(seconds), 0)
        const lines = linesOf(ended)
        assert.strictEqual(answerTo(lines, 1).structuredContent.status, "cancelled")
        assert.strictEqual(answerTo(lines, 2).structuredContent.status, "cancelled")
      })
    )
  }

  it.scopedLive("a client that dies leaves no process", () =>
    Effect.gen(function* () {
      const workspace = yield* withFile
      const seconds = aLongTime()
      const stubborn = `trap '' TERM; sleep ${seconds} & wait; sleep ${seconds} & wait`
      const requests = initialize + call(1, "bash", { command: stubborn })
      // The client holds both ends of the server's pipes.
      const script = `
        const { spawn } = require("node:child_process")
        const child = spawn(process.execPath, [${JSON.stringify(command)}, "mcp", "--yes"], { stdio: ["pipe", "pipe", "ignore"] })
        child.stdin.write(${JSON.stringify(requests)})
        child.stdout.resume()`
      const client = yield* startProgram([process.execPath, "-e", script], workspace)
      yield* until(() => sleepers(seconds) > 0)
      client.kill("SIGKILL")
      yield* client.ended
      yield* until(() => sleepers(seconds) === 0)
      yield* until(() => running(`${command}\0mcp\0`) === 0)
    })
  )

  it.scopedLive("serves a tool of somebody else's", () =>
    Effect.gen(function* () {
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
      const workspace = yield* withFile
      const stdin = initialize + line(1, "tools/list") + call(2, "shout", { word: "hi" })
      const ended = yield* runInProcess(["mcp", "--yes", "--workspace", workspace], [...builtins, shout], stdin)
      assert.strictEqual(ended.code, 0)
      const lines = linesOf(ended)
      assert.strictEqual(answerTo(lines, 1).tools?.at(-1)?.name, "shout")
      assert.strictEqual(answerTo(lines, 2).content[0]?.text, "shout completed\nshouted: HI")
    })
  )

  it.scopedLive("has help of its own and is completed", () =>
    Effect.gen(function* () {
      const workspace = yield* withFile
      assert.include((yield* scv(["mcp", "--help"], workspace)).stdout, "Usage: scv mcp [OPTIONS]")
      assert.match((yield* scv(["--help"], workspace)).stdout, /^ {2}mcp {2,}/m)
      assert.include((yield* scv(["completions", "bash"], workspace)).stdout, "mcp")
    })
  )
})
