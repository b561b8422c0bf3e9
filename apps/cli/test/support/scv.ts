import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { PassThrough } from "node:stream"
import { fileURLToPath } from "node:url"
import type { ToolResult } from "@scv/core"
import type { OfferedTool } from "@scv/runtime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { run } from "../../src/Cli.ts"
import * as Signals from "../../src/Signals.ts"
import { Stdio } from "../../src/Stdio.ts"

/** The built command. */
export const command = fileURLToPath(new URL("../../dist/scv.js", import.meta.url))

/** An empty directory for as long as the scope is open. */
export const makeWorkspace: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "scv-test-")))),
  (directory) => Effect.sync(() => fs.rmSync(directory, { recursive: true, force: true }))
)

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** A running command whose streams a test can wait on. */
export interface Running {
  readonly pid: number
  readonly write: (text: string | Uint8Array) => void
  readonly end: () => void
  readonly kill: (signal: NodeJS.Signals) => void
  /** Waits until one of the streams holds a text. A program that ends without having said it is a defect. */
  readonly until: (text: string) => Effect.Effect<void>
  /** What it has written so far. */
  readonly said: Effect.Effect<{ readonly stdout: string; readonly stderr: string }>
  readonly ended: Effect.Effect<Ended>
}

export type Environment = Readonly<Record<string, string>>

/** No test sees the configuration of whoever runs it, or writes to their audit log; one file's tests share a home. */
export const home = fs.mkdtempSync(path.join(os.tmpdir(), "scv-test-home-"))

process.once("exit", () => fs.rmSync(home, { recursive: true, force: true }))

export const isolated: Environment = { NO_COLOR: "1", SCV_HOME: home, SCV_CONFIG: "" }

// For what runs in this process.
Object.assign(process.env, isolated)

const start = (argv: ReadonlyArray<string>, cwd: string, env: Environment): Running => {
  const [file = "", ...args] = argv
  const child = spawn(file, args, { cwd, env: { ...process.env, ...isolated, ...env } })
  const output = { stdout: "", stderr: "" }
  const waiters = new Set<() => void>()
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream].setEncoding("utf8").on("data", (text: string) => {
      output[stream] += text
      for (const waiter of waiters) waiter()
    })
  }
  child.stdin.on("error", () => {})
  let hasEnded = false
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on("error", reject)
    child.on("close", (code, signal) => {
      hasEnded = true
      resolve({ code, signal, ...output })
      for (const waiter of waiters) waiter()
    })
  })
  return {
    pid: child.pid ?? 0,
    write: (text) => {
      child.stdin.write(text)
    },
    end: () => {
      child.stdin.end()
    },
    kill: (signal) => {
      child.kill(signal)
    },
    until: (text) =>
      Effect.async<void>((resume) => {
        const look = () => {
          const said = output.stdout + output.stderr
          const isSaid = said.includes(text)
          if (!isSaid && !hasEnded) return
          waiters.delete(look)
          resume(isSaid ? Effect.void : Effect.dieMessage(`ended without ${text}; said last: ${said.slice(-200)}`))
        }
        waiters.add(look)
        look()
      }),
    said: Effect.sync(() => ({ ...output })),
    ended: Effect.promise(() => ended)
  }
}

/** Starts any program; it is killed when the scope closes. */
export const startProgram = (
  argv: ReadonlyArray<string>,
  cwd: string,
  env: Environment = {}
): Effect.Effect<Running, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => start(argv, cwd, env)),
    (running) => Effect.sync(() => running.kill("SIGKILL"))
  )

/**
 * Starts a program on a pseudo-terminal of its own, which `script` of util-linux makes. It ends with the code of the
 * program. The shell in between becomes the program: one that stays would get the terminal's signals as well, and
 * whether it outlives them is different from shell to shell.
 */
export const startOnTerminal = (argv: ReadonlyArray<string>, cwd: string, env: Environment = {}) => {
  const quoted = argv.map((word) => `'${word.replaceAll("'", `'\\''`)}'`)
  return startProgram(["script", "-qec", `exec ${quoted.join(" ")}`, "/dev/null"], cwd, { ...env, SHELL: "/bin/sh" })
}

/** Starts the built command. */
export const startScv = (args: ReadonlyArray<string>, cwd: string, env?: Environment) =>
  startProgram([process.execPath, command, ...args], cwd, env)

/** Runs the built command to its end, with the given stdin. */
export const scv = (
  args: ReadonlyArray<string>,
  cwd: string,
  stdin: string | Uint8Array = "",
  env: Environment = {}
): Effect.Effect<Ended> =>
  Effect.scoped(
    Effect.gen(function* () {
      const running = yield* startScv(args, cwd, env)
      running.write(stdin)
      running.end()
      return yield* running.ended
    })
  )

/** The envelope on a stdout that holds nothing else. */
export const envelopeOf = ({ stdout }: { readonly stdout: string }): ToolResult => JSON.parse(stdout)

/** The JSON objects on a stdout, one a line. */
export const linesOf = ({ stdout }: { readonly stdout: string }): ReadonlyArray<Record<string, unknown>> =>
  stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line))

/** Runs the command in this process with the given tools, and with `stdin` as its input. */
export const runInProcess = (args: ReadonlyArray<string>, offered: ReadonlyArray<OfferedTool>, stdin = "") =>
  Effect.suspend(() => {
    const output = { stdout: "", stderr: "" }
    const input = new PassThrough()
    input.end(stdin)
    const collect = (stream: "stdout" | "stderr") => (text: string) =>
      Effect.sync(() => {
        output[stream] += text
      })
    const stdio = Layer.succeed(Stdio, {
      out: collect("stdout"),
      err: collect("stderr"),
      input,
      isInteractive: false,
      isWatched: false,
      hasColor: () => false,
      readerGone: Effect.never,
      hasLost: Effect.succeed(false)
    })
    return run(["node", "scv", ...args], offered).pipe(
      Effect.provide(Layer.merge(stdio, Signals.layer(Effect.void))),
      Effect.map((code) => ({ code, ...output }))
    )
  })
