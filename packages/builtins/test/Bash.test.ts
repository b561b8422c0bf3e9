import * as fs from "node:fs"
import * as os from "node:os"
import { assert, describe, it } from "@effect/vitest"
import { CallTag } from "@scv/core"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import { makeWorkspace, type Options } from "./support/workspace.ts"

/** No login profile of this machine's user: it takes its time, and its variables are not ours. */
const environment = {
  HOME: "/nonexistent",
  PATH: "/usr/local/bin:/usr/bin:/bin",
  LC_ALL: "C.UTF-8",
  GIVEN: "by the server"
}

const make = (options: Options = {}) => makeWorkspace({ assumeYes: true, environment, ...options })

const tagged = () =>
  fs.readdirSync("/proc").filter((pid) => {
    try {
      if (!/^\d+$/.test(pid) || pid === String(process.pid)) return false
      const given = fs.readFileSync(`/proc/${pid}/environ`, "latin1")
      return given.includes(CallTag.prefix) && given.includes("GIVEN=by the server")
    } catch {
      return false
    }
  })

const nobodyIsLeft = Effect.sync(() => assert.deepStrictEqual(tagged(), [], "left alive"))

type Held = Effect.Effect.Success<ReturnType<typeof makeWorkspace>>

/** Waits until a call has said something. To be forked before the call. */
const says = ({ session }: Held, word: string) =>
  Effect.gen(function* () {
    const events = yield* session.events
    let said = ""
    return yield* Effect.fork(
      Stream.runDrain(
        Stream.takeUntil(events, (event) => {
          if (event.event === "progress") said += event.text
          return said.includes(word)
        })
      )
    )
  })

const question = ({ session }: Held) =>
  Effect.map(Effect.repeat(session.approvals, { until: (open) => open.length === 1 }), ([request]) => request!)

describe("bash", () => {
  it.scopedLive("answers with exit code and output", () =>
    Effect.gen(function* () {
      const { call } = yield* make()
      const { duration_ms, ...rest } = yield* call("bash", { command: "echo out; echo err >&2" })
      assert.isNumber(duration_ms)
      assert.deepStrictEqual(rest, {
        status: "completed",
        exit_code: 0,
        signal: null,
        output: "out\nerr\n",
        output_bytes: 8,
        truncated: false,
        omitted_bytes: 0
      })
      const cases = [
        ["exit 3", "failed", 3, null],
        ["false", "failed", 1, null],
        ["no-such-program-here 2> /dev/null", "failed", 127, null],
        ["if", "failed", 2, null],
        ["ulimit -c 0; kill -SEGV $$", "failed", null, "SIGSEGV"],
        ["kill $$", "failed", null, "SIGTERM"],
        ["kill -KILL $$", "failed", null, "SIGKILL"]
      ] as const
      for (const [command, status, exit_code, signal] of cases) {
        assert.deepInclude(yield* call("bash", { command }), { status, exit_code, signal }, command)
      }
      yield* nobodyIsLeft
    })
  )

  it.scopedLive("is a login shell in the workspace, with the server's environment and a tag", () =>
    Effect.gen(function* () {
      const { at, call, directory, put } = yield* make({
        environment: { ...environment, HOME: os.tmpdir(), OLDPWD: "/" }
      })
      assert.deepInclude(yield* call("bash", { command: "shopt -q login_shell && pwd && pwd -P && echo $PWD" }), {
        exit_code: 0,
        output: `${directory}\n`.repeat(3)
      })
      const { output } = yield* call("bash", { command: 'echo "$GIVEN"; compgen -e | grep ^SCV_' })
      assert.match(String(output), /^by the server\nSCV_CALL_[0-9a-f]{16}\n$/)
      put("file", "content")
      assert.deepInclude(yield* call("bash", { command: "cat file > copy" }), { exit_code: 0 })
      assert.strictEqual(fs.readFileSync(at("copy"), "utf8"), "content")
    })
  )

  it.scopedLive("reads the login profile", () =>
    Effect.gen(function* () {
      const home = yield* make()
      home.put(".bash_profile", "PROFILE=read\n")
      const { call } = yield* make({ environment: { ...environment, HOME: home.directory } })
      assert.deepInclude(yield* call("bash", { command: 'echo "$PROFILE"' }), { output: "read\n" })
    })
  )

  it.scopedLive("has nothing to read", () =>
    Effect.gen(function* () {
      const { call } = yield* make()
      assert.deepInclude(yield* call("bash", { command: "cat; read -r line; echo $?" }), { output: "1\n" })
    })
  )

  it.scopedLive("refuses what is no command or no timeout, and runs nothing", () =>
    Effect.gen(function* () {
      const { call, directory } = yield* make()
      const command = "touch ran"
      const cases: ReadonlyArray<readonly [kind: string, said: string, input: object]> = [
        ["invalid_input", "timeout_seconds", { command, timeout_seconds: 0 }],
        ["invalid_input", "timeout_seconds", { command, timeout_seconds: -1 }],
        ["invalid_input", "timeout_seconds", { command, timeout_seconds: 0.4 }],
        ["invalid_input", "timeout_seconds", { command, timeout_seconds: 1.5 }],
        ["invalid_input", "timeout_seconds", { command, timeout_seconds: "5" }],
        ["invalid_input", "timeout_seconds", { command, timeout_seconds: null }],
        ["invalid_input", "timeout_seconds", { command, timeout_seconds: true }],
        ["invalid_input", "timeout_seconds", { command, timeout_seconds: Number.POSITIVE_INFINITY }],
        ["invalid_input", "timeout_seconds", { command, timeout_seconds: Number.NaN }],
        ["limit", "1800", { command, timeout_seconds: 2 ** 53 }],
        ["limit", "1800", { command, timeout_seconds: 1e300 }],
        ["limit", "1800", { command, timeout_seconds: 1801 }],
        ["limit", "1800", { command, timeout_seconds: Number.MAX_SAFE_INTEGER }],
        ["invalid_input", "command", {}],
        ["invalid_input", "command", { command: "" }],
        ["invalid_input", "blank", { command: "   " }],
        ["invalid_input", "blank", { command: " \n\t\r\n" }],
        ["invalid_input", "NUL", { command: "touch ran\0" }],
        ["invalid_input", "surrogate", { command: "touch ran # \ud800" }],
        ["invalid_input", "command", { command: 5 }],
        ["invalid_input", "command", { command: ["touch", "ran"] }],
        ["invalid_input", "command", { command: null }],
        ["invalid_input", "cwd", { command, cwd: "/" }],
        ["invalid_input", "timeout_seconds", { command, timeout: 5 }],
        ["limit", "131072", { command: `touch ran;${" ".repeat(131_072 - 10)}` }],
        // Bytes, not characters.
        ["limit", "131073", { command: `touch ran; : ${"é".repeat(65_530)}` }]
      ]
      for (const [kind, said, input] of cases) {
        const label = JSON.stringify(input).slice(0, 80)
        const answer = yield* call("bash", input)
        assert.deepInclude(answer, { status: "invalid", kind }, label)
        assert.include(String(answer.message).slice(0, 400), said, label)
        assert.notInclude(String(answer.message), "\n")
      }
      assert.deepStrictEqual(fs.readdirSync(directory), [])
    })
  )

  it.scopedLive("takes the longest command, and whole seconds however they are written", () =>
    Effect.gen(function* () {
      const { call } = yield* make()
      const command = `echo ran;${" ".repeat(131_071 - 9)}`
      assert.strictEqual(Buffer.byteLength(command), 131_071)
      assert.deepInclude(yield* call("bash", { command }), { exit_code: 0, output: "ran\n" })
      for (const timeout_seconds of [JSON.parse("2.0") as number, 1800]) {
        assert.deepInclude(yield* call("bash", { command: "echo ran", timeout_seconds }), { output: "ran\n" })
      }
    })
  )

  it.scopedLive("takes a command for a command, whatever it begins with", () =>
    Effect.gen(function* () {
      const { call } = yield* make()
      for (const command of ["-x", "--version", "-c 'echo no'", "--help"]) {
        const answer = yield* call("bash", { command })
        assert.deepInclude(answer, { status: "failed", exit_code: 127 }, command)
        assert.include(String(answer.output).slice(0, 200), "command not found", command)
      }
      assert.deepInclude(yield* call("bash", { command: "# nothing" }), { exit_code: 0, output: "" })
    })
  )

  it.scopedLive("is described with the ceiling in force", () =>
    Effect.gen(function* () {
      for (const [limits, maximum] of [
        [{}, 1800],
        [{ maxTimeoutSeconds: 30 }, 30]
      ] as const) {
        const { call, session } = yield* make({ limits })
        const tool = session.tools.find(({ name }) => name === "bash")!
        assert.strictEqual(tool.risk, "process")
        const schema = tool.inputSchema as unknown as {
          readonly required: ReadonlyArray<string>
          readonly properties: { readonly timeout_seconds: object }
          readonly additionalProperties: boolean
        }
        assert.deepStrictEqual(schema.required, ["command"])
        assert.isFalse(schema.additionalProperties)
        assert.deepInclude(schema.properties.timeout_seconds, { type: "integer", minimum: 1, maximum })
        const refused = yield* call("bash", { command: ":", timeout_seconds: maximum + 1 })
        assert.deepInclude(refused, { status: "invalid", kind: "limit" })
        assert.include(String(refused.message), String(maximum))
      }
    })
  )

  it.scopedLive("refuses a timeout above the ceiling before anybody is asked", () =>
    Effect.gen(function* () {
      const { session } = yield* make({ assumeYes: false })
      const { result } = yield* session.submit({ tool: "bash", input: { command: ":", timeout_seconds: 1801 } })
      assert.deepInclude((yield* result).error, { kind: "limit" })
      assert.lengthOf(yield* session.approvals, 0)
    })
  )

  it.scopedLive("shows the whole command, and runs exactly what it showed", () =>
    Effect.gen(function* () {
      const held = yield* make({ assumeYes: false })
      const { directory, session } = held
      const command = `echo one\n  timeout: 1 s\necho '\u001b[2J\u202e\t'\r\n: ${"x".repeat(3000)}`
      const { result } = yield* session.submit({ tool: "bash", input: { command, timeout_seconds: 7 } })
      const { approval_id, plan, risk, summary } = yield* question(held)
      assert.strictEqual(risk, "process")
      const expected = [
        "run a command by /bin/bash -lc",
        "  command: echo one",
        "    |   timeout: 1 s",
        "    | echo '\\x1b[2J\\u{202e}\\t'\\r",
        `    | : ${"x".repeat(3000)}`,
        "  timeout: 7 s"
      ]
      assert.isTrue(summary === expected.join("\n"), summary.slice(0, 300))
      assert.deepStrictEqual(plan, { program: "/bin/bash", args: ["-lc", "--", command], timeout_seconds: 7 })
      assert.lengthOf(tagged(), 0)
      assert.deepStrictEqual(fs.readdirSync(directory), [])
      yield* session.answer(approval_id, { decision: "deny", by: "test" })
      assert.strictEqual((yield* result).status, "denied")

      const shown = "tr '\\0' '\\n' < /proc/$$/cmdline"
      const second = yield* session.submit({ tool: "bash", input: { command: shown } })
      const asked = yield* question(held)
      const { args, program } = asked.plan as { readonly program: string; readonly args: ReadonlyArray<string> }
      assert.include(asked.summary, "  timeout: 120 s")
      yield* session.answer(asked.approval_id, { decision: "approve", by: "test" })
      const { result: ran } = yield* second.result
      assert.strictEqual((ran as { output: string }).output, `${[program, ...args].join("\n")}\n`)
    })
  )

  it.scopedLive("keeps head and tail of a long output", () =>
    Effect.gen(function* () {
      const { call } = yield* make({ limits: { outputLimitBytes: 1000 } })
      const answer = yield* call("bash", {
        command: "echo first; head -c 1000000 /dev/zero | tr '\\0' x; echo; echo last"
      })
      const output = String(answer.output)
      assert.deepInclude(answer, { exit_code: 0, output_bytes: 1_000_012, truncated: true })
      assert.isTrue(output.startsWith("first\n") && output.endsWith("\nlast\n"))
      assert.strictEqual(answer.omitted_bytes, 1_000_012 - 1000)
      assert.isBelow(output.length, 1100)
    })
  )

  it.scopedLive("is killed at once when its time is over, and keeps what it said", () =>
    Effect.gen(function* () {
      const { call } = yield* make()
      const command = "trap 'echo got' TERM; echo ready; while :; do sleep 0.05; done"
      const answer = yield* call("bash", { command, timeout_seconds: 1 })
      assert.deepInclude(answer, { status: "timed_out", exit_code: null, signal: "SIGKILL", output: "ready\n" })
      assert.isAtLeast(Number(answer.duration_ms), 990)
      assert.isBelow(Number(answer.duration_ms), 2000)
      yield* nobodyIsLeft
    })
  )

  it.scopedLive("has the configured time where it asks for none", () =>
    Effect.gen(function* () {
      const { call, session } = yield* make({ limits: { commandTimeoutSeconds: 1 } })
      const description = JSON.stringify(session.tools.find(({ name }) => name === "bash")?.inputSchema)
      assert.include(description, "Default: 1.")
      const answer = yield* call("bash", { command: "echo ready; sleep 60" })
      assert.deepInclude(answer, { status: "timed_out", output: "ready\n" })
      assert.deepInclude(yield* call("bash", { command: "sleep 1.2; echo done", timeout_seconds: 20 }), {
        status: "completed",
        output: "done\n"
      })
      yield* nobodyIsLeft
    })
  )

  it.scopedLive("has at most the ceiling where it asks for none", () =>
    Effect.gen(function* () {
      const { call } = yield* make({ limits: { commandTimeoutSeconds: 100, maxTimeoutSeconds: 1 } })
      assert.deepInclude(yield* call("bash", { command: "sleep 60" }), { status: "timed_out" })
    })
  )

  it.scopedLive("that is cancelled keeps what it said", () =>
    Effect.gen(function* () {
      const held = yield* make()
      const { session } = held
      const ready = yield* says(held, "ready")
      const { id, result } = yield* session.submit({ tool: "bash", input: { command: "echo ready; sleep 60" } })
      yield* Fiber.join(ready)
      assert.isTrue(yield* session.cancel(id))
      const answer = yield* result
      assert.strictEqual(answer.status, "cancelled")
      assert.deepInclude(answer.error, { kind: "cancelled" })
      assert.deepInclude(answer.result, { output: "ready\n", exit_code: null, signal: "SIGTERM" })
      yield* nobodyIsLeft
    })
  )

  it.scopedLive("that ignores a cancel is killed by a second one", () =>
    Effect.gen(function* () {
      const held = yield* make()
      const { session } = held
      const ready = yield* says(held, "ready")
      const got = yield* says(held, "got")
      const command = "trap 'echo got' TERM; echo ready; while :; do sleep 0.05; done 2> /dev/null"
      const { id, result } = yield* session.submit({ tool: "bash", input: { command } })
      yield* Fiber.join(ready)
      yield* session.cancel(id)
      yield* Fiber.join(got)
      const begun = performance.now()
      yield* session.cancel(id)
      const answer = yield* result
      assert.isBelow(performance.now() - begun, 1500)
      assert.strictEqual(answer.status, "cancelled")
      assert.deepInclude(answer.result, { output: "ready\ngot\n", signal: "SIGKILL" })
      yield* nobodyIsLeft
    })
  )

  it.scopedLive("that waits for an answer is cancelled before it runs", () =>
    Effect.gen(function* () {
      const held = yield* make({ assumeYes: false })
      const { id, result } = yield* held.session.submit({ tool: "bash", input: { command: "touch ran" } })
      yield* question(held)
      yield* held.session.cancel(id)
      const answer = yield* result
      assert.strictEqual(answer.status, "cancelled")
      assert.isUndefined(answer.result)
      assert.deepStrictEqual(fs.readdirSync(held.directory), [])
    })
  )

  it.scopedLive("ends its background and names what has left it", () =>
    Effect.gen(function* () {
      const { call } = yield* make()
      const ended = yield* call("bash", { command: "sleep 60 & echo ready" })
      assert.deepInclude(ended, {
        status: "completed",
        output: "ready\n",
        hint: "background processes were ended with the call"
      })
      yield* nobodyIsLeft
      const command = 'setsid sleep 60 & until read -r _ _ _ _ g _ < /proc/$!/stat && [ "$g" = $! ]; do :; done'
      const left = yield* call("bash", { command })
      const running = left.left_running as ReadonlyArray<{ readonly pid: number; readonly command: string }>
      assert.deepStrictEqual(
        running.map(({ command }) => command),
        ["sleep 60"]
      )
      assert.isUndefined(left.hint)
      for (const { pid } of running) process.kill(pid, "SIGKILL")
      yield* Effect.repeat(Effect.sync(tagged), { until: (pids) => pids.length === 0 })
    })
  )

  it.scopedLive("fails where the workspace is gone", () =>
    Effect.gen(function* () {
      const { call, directory } = yield* make()
      fs.rmSync(directory, { recursive: true })
      assert.deepInclude(yield* call("bash", { command: ":" }), { status: "failed", kind: "not_found" })
    })
  )
})
