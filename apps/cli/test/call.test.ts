import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import type { ToolResult } from "@scv/core"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { names } from "../src/commands/options.ts"
import { command, envelopeOf, makeWorkspace, scv, startProgram, startScv } from "./support/scv.ts"

const withFile = Effect.tap(makeWorkspace, (workspace) =>
  Effect.sync(() => {
    fs.writeFileSync(path.join(workspace, "a"), "hello\n")
    fs.writeFileSync(path.join(workspace, ".env"), "KEY=abc123\n")
  })
)

const read = (file: string, ...options: ReadonlyArray<string>) => [
  "call",
  "read",
  JSON.stringify({ path: file }),
  ...options
]

/** Whether a process handles HUP by now, which Node does not do on its own: the command is up. */
const catchesHangup = (pid: number): boolean =>
  /^SigCgt:\s+[0-9a-f]+[13579bdf]$/m.test(fs.readFileSync(`/proc/${pid}/status`, "utf8"))

// Its tests run the command up to twenty times.
describe("scv call", { timeout: 120_000 }, () => {
  it.scopedLive("prints the envelope alone on stdout and exits as its status says", () =>
    Effect.gen(function* () {
      const workspace = yield* withFile
      const cases: ReadonlyArray<{ args: ReadonlyArray<string>; status: ToolResult["status"]; code: number }> = [
        { args: read("a"), status: "completed", code: 0 },
        { args: read("nope"), status: "failed", code: 1 },
        { args: read("../a"), status: "invalid", code: 2 },
        { args: ["call", "reed", "{}"], status: "invalid", code: 2 },
        { args: ["call", "read"], status: "invalid", code: 2 },
        { args: ["call", "read", "{oops"], status: "invalid", code: 2 },
        { args: read("a", "--policy", "sometimes"), status: "invalid", code: 2 },
        { args: read("a", "--nope"), status: "invalid", code: 2 },
        { args: read("a", "--workspace", "nope"), status: "invalid", code: 2 },
        { args: read("a", "--workspace", ""), status: "invalid", code: 2 },
        { args: read("a", "--version"), status: "invalid", code: 2 },
        { args: read("a", "--workspace", "a"), status: "invalid", code: 2 },
        { args: read(".env"), status: "denied", code: 3 },
        { args: read("a", "--policy", "always"), status: "denied", code: 3 },
        { args: read(".env", "--yes"), status: "completed", code: 0 },
        { args: read(".env", "--policy", "never"), status: "denied", code: 3 },
        { args: read(".env", "--yes", "--policy", "never"), status: "denied", code: 3 },
        { args: ["call", "--yes", "read", '{"path":".env"}'], status: "completed", code: 0 }
      ]
      for (const { args, code, status } of cases) {
        const ended = yield* scv(args, workspace)
        assert.deepInclude(envelopeOf(ended), { call_id: "1", status }, args.join(" "))
        assert.strictEqual(ended.code, code, args.join(" "))
        assert.match(ended.stdout, /^[^\n]+\n$/)
      }
    })
  )

  it.scopedLive("denies where it cannot ask, shows the summary, and names --yes", () =>
    Effect.gen(function* () {
      const { stderr, stdout } = yield* scv(read(".env"), yield* withFile)
      assert.include(stderr, "approval needed for read (risk: filesystem)")
      assert.include(stderr, "why: the name .env looks like that of a secret")
      assert.include(stderr, "--yes")
      assert.include(stdout, "--yes")
      assert.notInclude(stderr + stdout, "abc123")
    })
  )

  it.scopedLive("shows the workspace of a question as text, whatever its name", () =>
    Effect.gen(function* () {
      const workspace = path.join(yield* makeWorkspace, "ws\n  why: harmless\u001b[2J")
      fs.mkdirSync(workspace)
      const { stderr } = yield* scv(["call", "write", '{"path":"a","content":"","mode":"create"}'], workspace)
      assert.include(stderr, "ws\\n  why: harmless\\x1b[2J")
      assert.notInclude(stderr, "\u001b")
    })
  )

  it.scopedLive("says so where its answer is lost, and where it has no directory any more", () =>
    Effect.gen(function* () {
      const workspace = yield* withFile
      const script = `"$0" "$1" call read '{"path":"a"}' > /dev/full; echo "full $?"
        mkdir d; cd d; rmdir ../d; "$0" "$1" call read '{"path":"a"}'; echo "deleted $?"`
      const running = yield* startProgram(["bash", "-c", script, process.execPath, command], workspace)
      const { stderr, stdout } = yield* running.ended
      assert.include(stdout, "full 74")
      assert.include(stdout, "deleted 2")
      assert.include(stdout, '"kind":"invalid_input"')
      assert.notInclude(stderr, "    at ")
    })
  )

  it.scopedLive("says on one line what is wrong with the command line", () =>
    Effect.gen(function* () {
      const workspace = yield* withFile
      const cases = [
        [["call", "read", "{}", "--limt", "3"], "scv: unknown option --limt; see scv call --help\n"],
        [["call", "read", "{}", "--wrkspace=x"], "scv: unknown option --wrkspace; did you mean `--workspace`?; see"],
        [["call", "read", "{}", "--policy", "x"], "scv: --policy: expected one of on-risk, always, never, got x; see"],
        [["call", "read", "{}", "more"], "scv: Received unknown argument: 'more'; see scv call --help\n"],
        [["call"], "scv: Missing argument <TOOL>; see scv call --help\n"],
        [["cal"], "scv: Invalid subcommand for scv"],
        [["completions", "tcsh"], "scv: SHELL: expected one of bash, zsh, fish, got tcsh; see"],
        [["call", "read", "{}", "--workspace", "a"], "scv: workspace: "]
      ] as const
      for (const [args, line] of cases) {
        const { code, stderr } = yield* scv(args, workspace)
        assert.isTrue(stderr.startsWith(line), stderr)
        assert.match(stderr, /^[^\n]+\n$/)
        assert.strictEqual(code, 2)
      }
    })
  )

  it.scopedLive("takes the input from stdin, whole or not at all", () =>
    Effect.gen(function* () {
      const workspace = yield* withFile
      const outcome = (stdin: string | Uint8Array) =>
        Effect.map(scv(["call", "read", "-"], workspace, stdin), (ended) => envelopeOf(ended).error?.kind ?? "none")
      assert.strictEqual(yield* outcome('{"path":"a"}\n'), "none")
      assert.strictEqual(yield* outcome(""), "invalid_input")
      assert.strictEqual(yield* outcome('{"path":"a"} more'), "invalid_input")
      assert.strictEqual(yield* outcome(Uint8Array.of(0x22, 0xff, 0x22)), "invalid_input")
      assert.strictEqual(yield* outcome(`"${"x".repeat(4 * 1024 * 1024)}"`), "too_large")
    })
  )

  it.scopedLive("ends by a signal while it waits for its input", () =>
    Effect.gen(function* () {
      const workspace = yield* withFile
      for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
        const running = yield* startScv(["call", "read", "-"], workspace)
        yield* Effect.repeat(
          Effect.sync(() => catchesHangup(running.pid)),
          { until: (catches) => catches, schedule: Schedule.spaced("5 millis") }
        )
        running.kill(signal)
        const ended = yield* running.ended
        assert.strictEqual(ended.code, 130, signal)
        assert.deepInclude(envelopeOf(ended), { status: "cancelled" })
      }
    })
  )

  it.scopedLive("survives a reader that goes away", () =>
    Effect.gen(function* () {
      const workspace = yield* withFile
      fs.writeFileSync(path.join(workspace, "big"), "x".repeat(200_000))
      const pipe = `"$0" "$1" call read '{"path":"big"}' | head -c 1 > /dev/null; echo "\${PIPESTATUS[0]}"`
      const running = yield* startProgram(["bash", "-c", pipe, process.execPath, command], workspace)
      const { stderr, stdout } = yield* running.ended
      assert.strictEqual(stdout, "0\n")
      assert.strictEqual(stderr, "")
    })
  )
})

describe("scv --help", () => {
  it.scopedLive("is there for each command, goes to stdout, and has no colour off a terminal", () =>
    Effect.gen(function* () {
      const workspace = yield* withFile
      const { stdout: root } = yield* scv(["--help"], workspace)
      const commands = [...root.matchAll(/^ {2}([a-z]+)(?: [A-Z[\] ]+)? {2,}/gm)].map(([, name = ""]) => name)
      assert.includeMembers(commands, ["call", "tools", "session", "audit", "doctor", "completions"])
      for (const name of commands) {
        const { code, stderr, stdout } = yield* scv([name, "--help"], workspace)
        assert.include(stdout, `Usage: scv ${name}`)
        assert.notInclude(stdout, "\u001b")
        assert.strictEqual(stderr, "")
        assert.strictEqual(code, 0)
      }
      assert.strictEqual((yield* scv([], workspace)).stdout, root)
    })
  )

  it.scopedLive("and completions agree on the options of each command", () =>
    Effect.gen(function* () {
      const workspace = yield* withFile
      const { stdout: script } = yield* scv(["completions", "bash"], workspace)
      const library = ["--completions", "--log-level", "--version", "--wizard"]
      const options = new Set(script.match(/--[a-z][a-z-]*/g))
      assert.sameMembers(
        [...options].filter((option) => !library.includes(option)),
        [...names]
      )
      for (const shell of ["bash", "zsh", "fish"]) {
        const { stdout } = yield* scv(["completions", shell], workspace)
        for (const name of ["call", "tools", "session", "audit", "doctor"]) assert.include(stdout, name, shell)
      }
    })
  )

  it.scopedLive("has a version beside it", () =>
    Effect.gen(function* () {
      assert.match((yield* scv(["--version"], yield* makeWorkspace)).stdout, /^\d+\.\d+\.\d+\n$/)
    })
  )
})

describe("scv doctor", () => {
  it.scopedLive("names what it checked, with a mend for what is wrong", () =>
    Effect.gen(function* () {
      const { stdout } = yield* scv(["doctor", "--json"], yield* makeWorkspace)
      const { checks } = JSON.parse(stdout) as { checks: ReadonlyArray<Record<string, string>> }
      assert.deepStrictEqual(
        checks.map(({ name }) => name),
        ["node", "containment", "processes", "output", "login shell", "audit log"]
      )
      for (const check of checks) assert.strictEqual(check.status === "ok", check.mend === undefined)
    })
  )
})
