import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { AuditEntry, InputSchema, Recorded, Tool } from "@scv/core"
import { builtins } from "@scv/runtime"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import {
  command,
  type Environment,
  envelopeOf,
  linesOf,
  makeWorkspace,
  runInProcess,
  scv,
  startProgram,
  startScv
} from "./support/scv.ts"

/** A workspace, a home of its own, and the commands in them. */
const world = Effect.map(Effect.all([makeWorkspace, makeWorkspace]), ([workspace, home]) => {
  const env: Environment = { SCV_HOME: home }
  const directory = path.join(home, "state/audit")
  const run = (args: ReadonlyArray<string>, stdin = "", more: Environment = {}) =>
    scv(args, workspace, stdin, { ...env, ...more })
  return {
    workspace,
    home,
    env,
    directory,
    run,
    call: (tool: string, input: object, ...options: ReadonlyArray<string>) =>
      run(["call", tool, JSON.stringify(input), ...options]),
    records: (...options: ReadonlyArray<string>) => Effect.map(run(["audit", "--json", ...options]), linesOf),
    log: () =>
      fs
        .readdirSync(directory)
        .map((name) => fs.readFileSync(path.join(directory, name), "utf8"))
        .join("")
  }
})

const secret = "the-launch-code-is-0000"

// Each test runs the command several times.
const options = { timeout: 120_000 }

describe("scv audit", options, () => {
  it.scopedLive("shows who asked for what, what was decided, and what became of it", () =>
    Effect.gen(function* () {
      const { call, records, run } = yield* world
      yield* call("bash", { command: "exit 3" }, "--yes")
      yield* call("bash", { command: "true" })
      yield* call("bash", { command: "true" }, "--policy", "never")
      yield* call("nope", {})
      const [failed, unanswered, forbidden, unknown, ...more] = yield* records()
      assert.deepStrictEqual(more, [])
      assert.deepInclude(failed, {
        tool: "bash",
        call_id: "1",
        surface: "scv call",
        risk: "process",
        plan: { program: "/bin/bash", args: ["-lc", "--", "exit 3"], timeout_seconds: 120 },
        decision: { decision: "approve", by: "assume_yes" },
        status: "failed",
        uid: process.getuid?.(),
        ppid: process.pid
      })
      assert.deepInclude(failed?.result as object, { exit_code: 3, output: { bytes: 0 } })
      assert.match(String(failed?.digest), /^[0-9a-f]{64}$/)
      assert.isAtLeast(Number(failed?.duration_ms), 1)
      assert.deepInclude(unanswered?.decision as object, { decision: "deny", by: "no terminal" })
      assert.deepInclude(forbidden?.decision as object, { decision: "deny", by: "policy" })
      assert.deepInclude(unknown, { tool: "nope", status: "invalid" })
      assert.isUndefined(unknown?.plan)
      const { code, stderr, stdout } = yield* run(["audit"])
      assert.deepStrictEqual([code, stderr], [0, ""])
      const rows = stdout.trimEnd().split("\n")
      assert.lengthOf(rows, 4)
      assert.match(
        rows[0] ?? "",
        /^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2} {2}failed +bash .*approved by assume_yes .*exit 3/
      )
    })
  )

  it.scopedLive("holds contents of writes and outputs by hash and size alone", () =>
    Effect.gen(function* () {
      const { call, log, records, workspace } = yield* world
      fs.writeFileSync(path.join(workspace, "old"), secret)
      yield* call("write", { path: "new", content: secret, mode: "create" }, "--yes")
      yield* call("write", { path: "old", content: `${secret}!`, mode: "replace" })
      yield* call("read", { path: "old" })
      yield* call("bash", { command: "cat new" }, "--yes")
      yield* call("write", { path: "new", content: secret, mode: "oops" }, "--yes")
      assert.notInclude(log(), secret)
      const [written, , read, shown] = yield* records()
      const { sha256 } = (read?.result ?? {}) as { sha256?: string }
      assert.match(sha256 ?? "", /^[0-9a-f]{64}$/)
      const { plan } = written ?? {}
      assert.deepStrictEqual((plan as { content: unknown }).content, { bytes: secret.length, sha256 })
      assert.deepInclude(written?.result as object, { path: "new", bytes: secret.length, sha256 })
      assert.deepInclude(read?.result as object, { content: { bytes: secret.length } })
      assert.deepInclude(shown?.result as object, { output: { bytes: secret.length }, output_bytes: secret.length })
    })
  )

  it.scopedLive("holds what a tool of somebody else's marks by hash alone, too", () =>
    Effect.gen(function* () {
      const workspace = yield* makeWorkspace
      const keep = Tool.make({
        name: "keep",
        description: "Keeps a secret.",
        risk: "read_only",
        input: InputSchema.struct({ word: InputSchema.required(InputSchema.text, "the secret") }),
        plan: Schema.Struct({ words: Schema.Array(Recorded.byDigest(Schema.String)) }),
        output: Schema.Struct({ word: Schema.String }),
        prepare: ({ word }) => Effect.succeed({ summary: "keep", plan: { words: [word] } }),
        run: ({ words }) => Effect.succeed({ word: words[0] ?? "" })
      })
      const input = JSON.stringify({ word: secret })
      const called = yield* runInProcess(["call", "keep", input, "--workspace", workspace], [...builtins, keep])
      assert.deepInclude(envelopeOf(called), { status: "completed", result: { word: secret } })
      const { stdout } = yield* runInProcess(["audit", "--json", "--tool", "keep"], builtins)
      assert.notInclude(stdout, secret)
      const [record] = linesOf({ stdout })
      const { plan, result } = record ?? {}
      assert.lengthOf((plan as { words: ReadonlyArray<unknown> }).words, 1)
      assert.deepStrictEqual(result, { word: { bytes: secret.length } })
    })
  )

  it.scopedLive("selects by session, tool, status and local day", () =>
    Effect.gen(function* () {
      const { directory, records, run } = yield* world
      fs.mkdirSync(directory, { recursive: true })
      const calls = [
        ["one", "read", "2025-01-30T12:00:00.000Z", "completed"],
        ["one", "bash", "2025-01-31T12:30:00.000Z", "failed"],
        ["two", "read", "2025-02-01T11:30:00.000Z", "completed"],
        ["two", "bash", "2025-02-01T23:59:00.000Z", undefined]
      ] as const
      for (const [serial, [session, tool, time, status]] of calls.entries()) {
        const common = { v: 1 as const, time, session, serial }
        const start = { entry: "start" as const, call_id: "a", tool, surface: "test", pid: 1, workspace: "/" }
        const lines = [
          AuditEntry.line({ ...common, ...start, policy: "on-risk", assume_yes: false }),
          ...(status === undefined ? [] : [AuditEntry.line({ ...common, entry: "end", status, duration_ms: 1 })])
        ]
        // Each call's end is a day's file later than it could be.
        fs.appendFileSync(path.join(directory, `${time.slice(0, 10)}.1.jsonl`), lines.join(""))
      }
      const serials = (env: Environment, ...options: ReadonlyArray<string>) =>
        Effect.map(run(["audit", "--json", ...options], "", env), (ended) => linesOf(ended).map(({ serial }) => serial))
      const utc = { TZ: "UTC" }
      assert.deepStrictEqual(yield* serials(utc), [0, 1, 2, 3])
      assert.deepStrictEqual(yield* serials(utc, "--session", "one"), [0, 1])
      assert.deepStrictEqual(yield* serials(utc, "--session", "two", "--tool", "bash"), [3])
      assert.deepStrictEqual(yield* serials(utc, "--status", "unfinished"), [3])
      assert.deepStrictEqual(yield* serials(utc, "--status", "completed"), [0, 2])
      assert.deepStrictEqual(yield* serials(utc, "--day", "2025-02-01"), [2, 3])
      assert.deepStrictEqual(yield* serials({ TZ: "Etc/GMT-12" }, "--day", "2025-02-01"), [1, 2])
      assert.deepStrictEqual(yield* serials({ TZ: "Etc/GMT+12" }, "--day", "2025-01-31"), [1, 2])
      const faults = [
        ["--day", "2025-02-30", "--day: expected a day of the calendar, YYYY-MM-DD, got 2025-02-30"],
        ["--day", "yesterday", "--day: expected a day"],
        ["--status", "done", "--status: expected one of completed, failed, invalid"]
      ] as const
      for (const [option, value, message] of faults) {
        const { code, stderr, stdout } = yield* run(["audit", option, value])
        assert.deepStrictEqual([code, stdout], [2, ""])
        assert.include(stderr, message)
      }
      assert.lengthOf(yield* records("--session", "one"), 2)
    })
  )

  it.scopedLive("shows what a killed process was at, with the plan", () =>
    Effect.gen(function* () {
      const { env, records, run, workspace } = yield* world
      const session = yield* startScv(["session", "--yes"], workspace, env)
      session.write('{"type":"call","id":"long","tool":"bash","input":{"command":"echo on; exec sleep 60"}}\n')
      session.write('{"type":"call","id":"waits","tool":"bash","input":{"command":"true"}}\n')
      yield* session.until('"progress"')
      session.kill("SIGKILL")
      yield* session.ended
      const left = yield* records("--status", "unfinished")
      assert.deepStrictEqual(
        left.map(({ call_id }) => call_id),
        ["long", "waits"]
      )
      assert.deepInclude(left[0], { surface: "scv session", decision: { decision: "approve", by: "assume_yes" } })
      assert.include(JSON.stringify(left[0]?.plan), "exec sleep 60")
      assert.isUndefined(left[1]?.plan)
      assert.match((yield* run(["audit"])).stdout, /unfinished +bash/)
    })
  )

  it.scopedLive("says by whom a question of a session was answered", () =>
    Effect.gen(function* () {
      const { env, records, workspace } = yield* world
      const session = yield* startScv(["session"], workspace, env)
      session.write('{"type":"call","id":"a","tool":"bash","input":{"command":"true"}}\n')
      yield* session.until('"approval_requested"')
      session.write('{"type":"deny","approval_id":"a-1","reason":"not\\u001b[2J today"}\n')
      session.end()
      const { stdout } = yield* session.ended
      const [record] = yield* records()
      assert.deepInclude(record, {
        status: "denied",
        decision: { decision: "deny", by: "client", reason: "not\\x1b[2J today" }
      })
      const asked = linesOf({ stdout }).find(({ event }) => event === "approval_requested")
      assert.strictEqual(record?.digest, asked?.digest)
    })
  )

  it.scopedLive("shows hostile text as text, one line a call", () =>
    Effect.gen(function* () {
      const { call, env, log, run, workspace } = yield* world
      const forged = '\n{"v":1,"entry":"end","status":"completed"}\n'
      const evil = `echo \u001b[2J\u202e\u2028${forged}`
      yield* call("bash", { command: evil })
      yield* call(`x${evil}`, {})
      const line = { type: "call", id: evil, tool: "read", input: { path: evil } }
      yield* scv(["session"], workspace, `${JSON.stringify(line)}\n`, env)
      assert.lengthOf(log().trimEnd().split("\n"), 4 + 2 + 2)
      for (const options of [[], ["--json"]]) {
        const { stdout } = yield* run(["audit", ...options])
        assert.lengthOf(stdout.trimEnd().split("\n"), 3)
        assert.notMatch(stdout, /[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/u)
      }
    })
  )

  it.scopedLive("says where there is nothing, and which lines it cannot read", () =>
    Effect.gen(function* () {
      const { call, directory, home, run } = yield* world
      const none = yield* run(["audit"])
      assert.deepStrictEqual([none.code, none.stdout], [0, ""])
      assert.include(none.stderr, `nothing is recorded in ${home}/state/audit`)
      yield* call("nope", {})
      fs.appendFileSync(path.join(directory, "2025-01-31.1.jsonl"), '{"v":1,"entry":"st')
      const { code, stderr, stdout } = yield* run(["audit"])
      assert.strictEqual(code, 0)
      assert.strictEqual(stderr, "scv: 1 lines of the audit log are broken or of another version, and left out\n")
      assert.lengthOf(stdout.trimEnd().split("\n"), 1)
      fs.rmSync(directory, { recursive: true })
      fs.symlinkSync("/etc", directory)
      fs.symlinkSync("/etc/passwd", path.join(home, "2025-01-31.1.jsonl"))
      assert.strictEqual((yield* run(["doctor", "--json"])).code, 1)
    })
  )

  it.scopedLive("ends with its reader", () =>
    Effect.gen(function* () {
      const { directory, env, workspace } = yield* world
      fs.mkdirSync(directory, { recursive: true })
      const line = (serial: number) =>
        AuditEntry.line({
          v: 1,
          entry: "end",
          time: "2025-01-31T12:00:00.000Z",
          session: "s",
          serial,
          status: "completed",
          duration_ms: 1
        })
      fs.writeFileSync(
        path.join(directory, "2025-01-31.1.jsonl"),
        Array.from({ length: 20_000 }, (_, i) => line(i)).join("")
      )
      const pipe = `"$0" "$1" audit | head -n 1; echo "\${PIPESTATUS[0]}"`
      const running = yield* startProgram(["bash", "-c", pipe, process.execPath, command], workspace, env)
      const { stderr, stdout } = yield* running.ended
      assert.match(stdout, /^-.*s\/0 .*\n0\n$/)
      assert.strictEqual(stderr, "")
    })
  )
})

describe("an audit log that cannot be written", options, () => {
  it.scopedLive("costs no call its result, and is said loudly each time", () =>
    Effect.gen(function* () {
      const { call, directory, env, workspace } = yield* world
      fs.writeFileSync(path.join(workspace, "a"), "text")
      for (let i = 0; i < 4; i++) yield* call("read", { path: "a" })
      const [name = ""] = fs.readdirSync(directory)
      const file = path.join(directory, name)
      const before = fs.readFileSync(file, "utf8")
      assert.isAbove(before.length, 2048)
      for (const limit of [1, 2]) {
        const limited = `ulimit -f ${limit}; exec "$@"`
        const input = JSON.stringify({ path: "a" })
        const argv = ["bash", "-c", limited, "bash", process.execPath, command, "call", "read", input]
        const running = yield* startProgram(argv, workspace, env)
        const ended = yield* running.ended
        assert.strictEqual(ended.code, 0)
        assert.deepInclude(envelopeOf(ended), { status: "completed" })
        assert.match(ended.stderr, /^scv: NOT RECORDED: the audit log cannot be written: .*; calls go on without it\n$/)
      }
      assert.strictEqual(fs.readFileSync(file, "utf8"), before)
      fs.rmSync(directory, { recursive: true })
      fs.writeFileSync(directory, "")
      const input = ["a", "b"].map((id) => JSON.stringify({ type: "call", id, tool: "read", input: { path: "a" } }))
      const { code, stderr, stdout } = yield* scv(["session"], workspace, `${input.join("\n")}\n`, env)
      assert.strictEqual(code, 0)
      assert.lengthOf(stderr.trimEnd().split("\n"), 1)
      const statuses = linesOf({ stdout }).flatMap(({ result }) =>
        result === undefined ? [] : [(result as { status: string }).status]
      )
      assert.deepStrictEqual(statuses, ["completed", "completed"])
      const doctor = yield* scv(["doctor", "--json"], workspace, "", env)
      const { checks } = JSON.parse(doctor.stdout) as { checks: ReadonlyArray<Record<string, string>> }
      assert.deepInclude(
        checks.find(({ name }) => name === "audit log"),
        { status: "fail" }
      )
    })
  )
})
