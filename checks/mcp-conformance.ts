/**
 * The server scenarios of the protocol's conformance suite that apply to a server of tools, over HTTP: of the handler of
 * `@scv/mcp`, and of the daemon's `/mcp`. Needs the network the first time. Of the rest: logging, completions, resources,
 * prompts, sampling and media are not offered; forms with fields are not asked for; a tool's schema with `$defs` is not
 * taken; polling needs streams that can be resumed. Host and Origin are for whoever mounts the handler, as the daemon does.
 */
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { InputSchema, Tool, ToolError } from "@scv/core"
import type { OfferedTool } from "@scv/runtime"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { startInProcess } from "../apps/daemon/test/support/inProcess.ts"
import { listen } from "../packages/mcp/test/support/http.ts"
import { openSession } from "../packages/mcp/test/support/served.ts"

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

const run = (server: string, url: URL, scenario: string) =>
  Effect.async<boolean>((resume) => {
    const args = ["-y", suite, "server", "--url", url.href, "--scenario", scenario]
    const child = spawn("npx", args, { cwd: os.tmpdir(), stdio: ["ignore", "pipe", "pipe"] })
    let output = ""
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk) => {
        output += chunk
      })
    }
    child.on("close", (code) => {
      console.log(`${code === 0 ? "ok  " : "FAIL"} ${server}: ${scenario}`)
      if (code !== 0) console.log(output.slice(-4000))
      resume(Effect.succeed(code === 0))
    })
  })

const listening = (server: http.Server) =>
  Effect.async<number>((resume) => {
    server.listen(0, "127.0.0.1", () => resume(Effect.succeed((server.address() as AddressInfo).port)))
  })

const closed = (server: http.Server) =>
  Effect.sync(() => {
    server.closeAllConnections()
    server.close()
  })

const freePort = Effect.acquireUseRelease(
  Effect.sync(() => http.createServer()),
  listening,
  closed
)

/** The suite sends no token: this adds one, and is otherwise the daemon. */
const withToken = (daemon: string, token: string) =>
  Effect.gen(function* () {
    const server = yield* Effect.acquireRelease(
      Effect.sync(() => http.createServer()),
      closed
    )
    const own = `127.0.0.1:${yield* listening(server)}`
    server.on("request", (incoming, outgoing) => {
      const headers: http.OutgoingHttpHeaders = { ...incoming.headers, authorization: `Bearer ${token}` }
      for (const name of ["host", "origin"]) {
        if (typeof headers[name] === "string") headers[name] = headers[name].replace(own, daemon)
      }
      const { method = "GET", url = "/" } = incoming
      const passedOn = http.request(`http://${daemon}${url}`, { method, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(outgoing)
      })
      passedOn.on("error", () => outgoing.destroy())
      outgoing.on("close", () => passedOn.destroy())
      incoming.pipe(passedOn)
    })
    return own
  })

const daemon = Effect.gen(function* () {
  const address = `127.0.0.1:${yield* freePort}`
  const { home } = yield* startInProcess(tools, ["--listen", address])
  const token = fs.readFileSync(path.join(home, "state/token"), "utf8").trim()
  return new URL(`http://${yield* withToken(address, token)}/mcp?workspace=${encodeURIComponent(home)}`)
})

const checkAll = (server: string, url: URL, chosen: ReadonlyArray<string>) =>
  Effect.forEach(chosen, (scenario) => run(server, url, scenario))

const check = Effect.gen(function* () {
  const passed = [
    yield* checkAll("the handler", yield* listen(() => openSession(tools)), scenarios),
    yield* checkAll("the daemon", yield* daemon, [...scenarios, "dns-rebinding-protection"])
  ]
  if (passed.flat().includes(false)) process.exitCode = 1
})

await Effect.runPromise(Effect.scoped(check))
