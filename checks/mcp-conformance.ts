/**
 * The server scenarios of the protocol's conformance suite that apply to a server of tools, over HTTP. Needs the network
 * the first time. Of the rest: logging, completions, resources, prompts, sampling and media are not offered; forms with
 * fields are not asked for; polling needs streams that can be resumed; Host and Origin are for whoever mounts the handler.
 */
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import * as HttpServer from "@effect/platform/HttpServer"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { NodeHttpServer } from "@effect/platform-node"
import { Approval, InputSchema, Session, Tool, ToolError } from "@scv/core"
import { Http } from "@scv/mcp"
import { LocalSession, type OfferedTool } from "@scv/runtime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

const suite = "@modelcontextprotocol/conformance@0.1.13"

const scenarios = [
  "server-initialize",
  "ping",
  "tools-list",
  "tools-call-simple-text",
  "tools-call-error",
  "tools-call-with-progress",
  "tools-call-elicitation",
  "server-sse-multiple-streams"
]

const nothing = InputSchema.struct({})

/** A tool of our contract under a name that the suite calls. */
const tool = (
  name: string,
  risk: "read_only" | "process",
  run: Tool.Definition<unknown, unknown, object, object, { readonly text: string }, unknown, never>["run"],
  input: Schema.Schema<never, unknown> = nothing as never
): OfferedTool =>
  Tool.make({
    name,
    description: "For the conformance suite.",
    risk,
    input,
    plan: Schema.Struct({}),
    output: Schema.Struct({ text: Schema.String }),
    prepare: () => Effect.succeed({ summary: `${name} runs`, plan: {} }),
    run
  })

const message = InputSchema.struct({ message: InputSchema.required(InputSchema.text, "what to ask") })

const tools = [
  tool("test_simple_text", "read_only", () => Effect.succeed({ text: "This is a simple text response for testing." })),
  tool("test_error_handling", "read_only", () =>
    Effect.fail(new ToolError({ kind: "io", message: "this tool intentionally returns an error for testing" }))
  ),
  tool("test_tool_with_progress", "read_only", (_, { progress }) =>
    // Slow enough that each is told.
    Effect.forEach(["0", "50", "100"], (text) => Effect.delay(progress(`${text} of 100`), "400 millis")).pipe(
      Effect.zipRight(Effect.delay(Effect.succeed({ text: "done" }), "400 millis"))
    )
  ),
  tool("test_elicitation", "process", () => Effect.succeed({ text: "approved" }), message as never)
]

const serve = Effect.gen(function* () {
  const workspace = yield* Effect.acquireRelease(
    Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "scv-conformance-"))),
    (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true, force: true }))
  )
  const services = yield* Layer.build(Layer.merge(LocalSession.single({ workspace }, tools), Approval.unattended))
  const handle = yield* Http.make({
    version: "0",
    questionSeconds: 60,
    unaskable: "the client cannot be asked",
    open: () => Effect.provide(Session.make({ policy: "on-risk" }), services)
  })
  const node = http.createServer()
  const app = Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    return HttpServerResponse.fromWeb(yield* handle(yield* HttpServerRequest.toWeb(request)))
  })
  yield* Layer.build(
    HttpServer.serve(app).pipe(Layer.provide(NodeHttpServer.layer(() => node, { host: "127.0.0.1", port: 0 })))
  )
  yield* Effect.addFinalizer(() => Effect.sync(() => node.closeAllConnections()))
  return `http://127.0.0.1:${(node.address() as AddressInfo).port}/mcp`
})

const run = (url: string, scenario: string) =>
  Effect.async<boolean>((resume) => {
    const args = ["-y", suite, "server", "--url", url, "--scenario", scenario]
    const child = spawn("npx", args, { cwd: os.tmpdir(), stdio: ["ignore", "pipe", "pipe"] })
    let output = ""
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk) => {
        output += chunk
      })
    }
    child.on("close", (code) => {
      console.log(`${code === 0 ? "ok  " : "FAIL"} ${scenario}`)
      if (code !== 0) console.log(output.slice(-4000))
      resume(Effect.succeed(code === 0))
    })
  })

const check = Effect.gen(function* () {
  const url = yield* serve
  const passed = yield* Effect.forEach(scenarios, (scenario) => run(url, scenario))
  if (passed.includes(false)) process.exitCode = 1
})

await Effect.runPromise(Effect.scoped(check))
