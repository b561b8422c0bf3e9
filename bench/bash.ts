/** Running programs: a call of `bash` against the least it must do, and how fast what runs is ended and read. */
import { spawn } from "node:child_process"
import * as path from "node:path"
import * as readline from "node:readline"
import { fileURLToPath } from "node:url"
import { bash } from "@scv/builtins"
import { Approval, Limits, ServerEnvironment, Session, ToolRegistry, type ToolResult, Workspace } from "@scv/core"
import { NodeCallTag, NodeDigest, NodeDirectory, NodeHome, NodeProcessSpawner } from "@scv/node"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { auditLogIn } from "./auditLog.ts"
import { type Benchmark, interleaved, type Row, repeated, summed, time } from "./measure.ts"
import { scratch } from "./scratch.ts"

const command = fileURLToPath(new URL("../apps/cli/dist/scv.js", import.meta.url))

/**
 * Without a home there is no login profile: one can take a hundred milliseconds, on both sides, in which what is ours
 * would not be seen.
 */
const environment = { HOME: "/nonexistent", PATH: "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C" }

const sessionIn = (workspace: string) =>
  Layer.mergeAll(
    ToolRegistry.layer([bash]).pipe(
      Layer.provideMerge(NodeProcessSpawner.layer()),
      Layer.provideMerge(Layer.succeed(ServerEnvironment, environment)),
      Layer.provideMerge(NodeCallTag.layer),
      Layer.provideMerge(Workspace.layer(workspace)),
      Layer.provideMerge(Limits.layer()),
      Layer.provideMerge(NodeDigest.layer),
      Layer.provideMerge(NodeHome.layer(path.join(workspace, ".scv"))),
      Layer.provide(NodeDirectory.layer())
    ),
    auditLogIn(workspace),
    Approval.unattended
  )

/** The same vector by Node alone, its two pipes read until they are closed. */
const bare = (command: string, cwd: string): Effect.Effect<number> =>
  Effect.async<number>((resume) => {
    const child = spawn("/bin/bash", ["-lc", "--", command], {
      cwd,
      env: environment,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"]
    })
    let bytes = 0
    const count = (chunk: Buffer) => {
      bytes += chunk.length
    }
    child.stdout.on("data", count)
    child.stderr.on("data", count)
    child.once("close", (code) => resume(code === 0 ? Effect.succeed(bytes) : Effect.dieMessage(`ended with ${code}`)))
  })

const expecting = (answer: ToolResult, expected: Readonly<Record<string, unknown>>): Effect.Effect<void> => {
  const given: Record<string, unknown> = { status: answer.status, ...(answer.result as object | undefined) }
  return Object.entries(expected).every(([key, value]) => given[key] === value)
    ? Effect.void
    : Effect.dieMessage(`bash answered ${JSON.stringify(answer).slice(0, 300)}`)
}

const benchmark = <E>(
  rows: (session: Session.Session, at: string) => Effect.Effect<ReadonlyArray<Row>, E>
): Benchmark =>
  Effect.gen(function* () {
    const at = yield* scratch
    return yield* Effect.gen(function* () {
      return yield* rows(yield* Session.make({ surface: "bench", policy: "on-risk", assumeYes: true }), at)
    }).pipe(Effect.provide(sessionIn(at)))
  }).pipe(Effect.scoped, Effect.orDie)

/** A call of a command that does nothing. */
export const bashCall: Benchmark = benchmark((session, at) =>
  Effect.gen(function* () {
    const call = Effect.flatMap(session.call({ tool: "bash", input: { command: ":" } }), (answer) =>
      expecting(answer, { status: "completed", output: "" })
    )
    const operations = 5
    const measured = yield* interleaved({
      ours: repeated(operations, call),
      bare: repeated(operations, bare(":", at)),
      operations,
      rounds: 31,
      warmUp: 5
    })
    return [{ name: "call of bash, :", measured, aim: { of: "ratio", atMost: 1.1 } as const }]
  })
)

/** `scv mcp` in a process of its own; each call waits for its answer. */
const mcpServer = (at: string) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => {
        const env = { ...environment, SCV_HOME: path.join(at, ".scv") }
        const child = spawn(process.execPath, [command, "mcp", "--yes"], {
          cwd: at,
          env,
          stdio: ["pipe", "pipe", "inherit"]
        })
        return { child, lines: readline.createInterface({ input: child.stdout }) }
      }),
      ({ child }) => Effect.sync(() => child.kill())
    ),
    ({ child, lines }) => {
      let id = 0
      return (command: string): Effect.Effect<ToolResult> =>
        Effect.async((resume) => {
          lines.once("line", (line) => resume(Effect.succeed(JSON.parse(line).result.structuredContent)))
          const params = { name: "bash", arguments: { command } }
          child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: ++id, method: "tools/call", params })}\n`)
        })
    }
  )

/** The same call by MCP on stdio, against the one in this process. */
export const bashByMcp: Benchmark = benchmark((session, at) =>
  Effect.gen(function* () {
    const byMcp = yield* mcpServer(at)
    const isDone = (answer: ToolResult) => expecting(answer, { status: "completed", output: "" })
    const operations = 5
    const measured = yield* interleaved({
      ours: repeated(operations, Effect.flatMap(byMcp(":"), isDone)),
      bare: repeated(operations, Effect.flatMap(session.call({ tool: "bash", input: { command: ":" } }), isDone)),
      operations,
      rounds: 31,
      warmUp: 5
    })
    return [{ name: "bash, : by MCP against in process", measured, aim: { of: "ratio", atMost: 1.3 } as const }]
  }).pipe(Effect.scoped)
)

/** Submits a command, waits until it has said `ready`, and measures from a cancel to its answer. */
const cancelled = (session: Session.Session, command: string): Effect.Effect<number> =>
  Effect.scoped(
    Effect.gen(function* () {
      const events = yield* session.events
      let said = ""
      const ready = yield* Effect.fork(
        Stream.runDrain(
          Stream.takeUntil(events, (event) => {
            if (event.event === "progress") said += event.text
            return said.includes("ready")
          })
        )
      )
      const { id, result } = yield* Effect.orDie(session.submit({ tool: "bash", input: { command } }))
      yield* Fiber.join(ready)
      let answer: ToolResult | undefined
      const spent = yield* time(
        Effect.zipRight(
          session.cancel(id),
          Effect.map(result, (given) => {
            answer = given
          })
        )
      )
      yield* expecting(answer!, { status: "cancelled", output: "ready\n", left_running: undefined })
      return spent
    })
  )

/** What has no bare way is compared with nothing. */
const alone = (times: ReadonlyArray<number>) => summed(times.map((ours) => ({ ours, bare: 0 })))

const sampled = (rounds: number, sample: Effect.Effect<number>): Effect.Effect<ReadonlyArray<number>> =>
  Effect.map(Effect.replicateEffect(sample, rounds + 1), (times) => times.slice(1))

/** How fast a call ends that is cancelled, or out of time. */
export const bashEnding: Benchmark = benchmark((session) =>
  Effect.gen(function* () {
    const one = yield* sampled(15, cancelled(session, "echo ready; sleep 60"))
    const many = yield* sampled(7, cancelled(session, "for i in {1..200}; do sleep 60 & done; echo ready; wait"))
    const late = yield* sampled(
      5,
      Effect.gen(function* () {
        let answer: ToolResult | undefined
        const spent = yield* time(
          Effect.map(
            Effect.orDie(session.call({ tool: "bash", input: { command: "sleep 60", timeout_seconds: 1 } })),
            (given) => {
              answer = given
            }
          )
        )
        yield* expecting(answer!, { status: "timed_out" })
        return spent - 1_000_000
      })
    )
    return [
      { name: "cancel of sleep 60 to answer", measured: alone(one), aim: { of: "ours", atMost: 50_000 } as const },
      { name: "cancel of 200 processes", measured: alone(many), aim: { of: "ours", atMost: 100_000 } as const },
      { name: "answer after a deadline of 1 s", measured: alone(late), aim: { of: "ours", atMost: 30_000 } as const }
    ]
  })
)

/** A gigabyte of output, taken and counted. */
export const bashOutput: Benchmark = benchmark((session, at) =>
  Effect.gen(function* () {
    const command = "head -c 1G /dev/zero"
    const size = 2 ** 30
    const measured = yield* interleaved({
      ours: Effect.flatMap(session.call({ tool: "bash", input: { command } }), (answer) =>
        expecting(answer, { status: "completed", output_bytes: size })
      ),
      bare: Effect.flatMap(bare(command, at), (bytes) =>
        bytes === size ? Effect.void : Effect.dieMessage(`read ${bytes} bytes`)
      ),
      operations: 1,
      rounds: 5,
      warmUp: 1
    })
    return [{ name: "call of bash, 1 GiB of output", measured, aim: { of: "ratio", atMost: 1 } as const }]
  })
)
