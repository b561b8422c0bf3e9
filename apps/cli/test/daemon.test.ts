import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { command, envelopeOf, makeWorkspace, scv, startProgram, startScv } from "./support/scv.ts"

/** For what hangs, in milliseconds: some of these start a dozen processes one after another. */
const hanging = 240_000

const inHome = (home: string) => ({ SCV_HOME: home })

/** A home whose daemon is stopped when the scope closes. */
const started = Effect.gen(function* () {
  const home = yield* makeWorkspace
  const workspace = yield* makeWorkspace
  const run = (args: ReadonlyArray<string>, env: Record<string, string> = {}) =>
    scv(args, workspace, "", { ...inHome(home), ...env })
  yield* Effect.acquireRelease(run(["daemon", "start"]), () => run(["daemon", "stop", "--now"]))
  fs.writeFileSync(path.join(workspace, "a"), "text")
  return { home, workspace, run }
})

const firstApproval = (run: (args: ReadonlyArray<string>) => ReturnType<typeof scv>): Effect.Effect<string> =>
  Effect.flatMap(run(["approvals", "--json"]), ({ stdout }) => {
    const [asked] = JSON.parse(stdout).approvals
    return asked === undefined ? firstApproval(run) : Effect.succeed(asked.approval_id)
  })

describe("without a daemon", () => {
  it.scopedLive(
    "every command says so in one line, and how to start one",
    () =>
      Effect.gen(function* () {
        const home = yield* makeWorkspace
        const commands = [
          ["sessions"],
          ["approvals", "--json"],
          ["approve", "x-1-1"],
          ["deny", "x-1-1"],
          ["cancel", "x-1"],
          ["watch"],
          ["daemon", "open"]
        ]
        for (const args of commands) {
          const { code, stderr, stdout } = yield* scv(args, home, "", inHome(home))
          assert.strictEqual(code, 2, args.join(" "))
          assert.match(stderr, /^scv: no daemon runs \(nobody answers at .*\); scv daemon start starts one\n$/)
          assert.strictEqual(stdout, "")
        }
        const call = yield* scv(["call", "read", '{"path":"a"}', "--daemon"], home, "", inHome(home))
        assert.strictEqual(call.code, 2)
        assert.deepInclude(envelopeOf(call), { tool: "read", status: "invalid" })
        const status = yield* scv(["daemon", "status"], home, "", inHome(home))
        assert.strictEqual(status.code, 1)
        assert.strictEqual((yield* scv(["daemon", "stop"], home, "", inHome(home))).code, 0)
      }),
    hanging
  )

  it.scopedLive("that cannot start, start says why", () =>
    Effect.gen(function* () {
      const home = yield* makeWorkspace
      fs.writeFileSync(path.join(home, "config.toml"), "[daemon]\nmax_sessions = 0\n")
      const { code, stderr } = yield* scv(["daemon", "start"], home, "", inHome(home))
      assert.strictEqual(code, 2)
      assert.match(stderr, /daemon\.max_sessions/)
    })
  )
})

describe("scv daemon", () => {
  it.scopedLive(
    "starts one, refuses a second, and stops it",
    () =>
      Effect.gen(function* () {
        const { home, run } = yield* started
        const again = yield* run(["daemon", "start"])
        assert.strictEqual(again.code, 2)
        assert.match(again.stderr, /a daemon runs already: process \d+/)
        const status = JSON.parse((yield* run(["daemon", "status", "--json"])).stdout)
        assert.deepInclude(status, { status: "ok", socket: path.join(home, "state/scvd.sock") })
        assert.match((yield* run(["daemon", "stop"])).stdout, new RegExp(`^stopped: process ${status.pid}\\n$`))
        assert.isFalse(fs.existsSync(path.join(home, "state/scvd.sock")))
      }),
    hanging
  )

  it.scopedLive(
    "gives an address of the page, and to the desktop's opener where there is one",
    () =>
      Effect.gen(function* () {
        const { home, run, workspace } = yield* started
        const noDesktop = { DISPLAY: "", WAYLAND_DISPLAY: "" }
        const plain = yield* run(["daemon", "open"], noDesktop)
        assert.strictEqual(plain.code, 0)
        assert.match(plain.stdout, /^http:\/\/127\.0\.0\.1:\d+\/\?ticket=[\w-]{43}\n$/)
        assert.match(plain.stderr, /^scv: the address is good once, until \S+\n$/)

        const opened = path.join(workspace, "opened")
        const opener = path.join(workspace, "xdg-open")
        const desktop = { DISPLAY: ":0", PATH: `${workspace}:${process.env.PATH}` }
        for (const [code, isShown] of [
          [0, true],
          [3, false]
        ] as const) {
          fs.writeFileSync(opener, `#!/bin/sh\nprintf '%s\\n' "$@" > '${opened}'\nexit ${code}\n`, { mode: 0o755 })
          const { stdout } = yield* run(["daemon", "open", "--json"], desktop)
          const answer = JSON.parse(stdout)
          assert.strictEqual(fs.readFileSync(opened, "utf8"), `${answer.url}\n`)
          assert.strictEqual(answer.opened, isShown)
        }
        fs.rmSync(opener)
        const secrets = [plain.stdout, fs.readFileSync(opened, "utf8")].map(
          (url) => url.trim().split("ticket=")[1] ?? ""
        )
        const log = fs.readFileSync(path.join(home, "state/scvd.log"), "utf8")
        for (const secret of secrets) assert.notInclude(log, secret)

        const inCall = yield* run(["daemon", "open"], { ...noDesktop, SCV_CALL_0123456789abcdef: "1" })
        assert.strictEqual(inCall.code, 2)
        assert.strictEqual(inCall.stdout, "")
        assert.match(inCall.stderr, /inside a tool call/)
      }),
    hanging
  )

  it.scopedLive("prints a unit that names the daemon's program whole", () =>
    Effect.gen(function* () {
      const home = path.join(yield* makeWorkspace, 'odd "%h" $x')
      fs.mkdirSync(home)
      const { code, stdout } = yield* scv(["daemon", "unit", "--listen", "127.0.0.1:0"], home, "", inHome(home))
      assert.strictEqual(code, 0)
      assert.match(stdout, /^ExecStart="\/.*" "\/.*scvd\.js" "--listen" "127\.0\.0\.1:0"$/m)
      assert.include(stdout, 'odd \\"%%h\\" $x"')
    })
  )
})

describe("a call in the daemon", () => {
  it.scopedLive(
    "is answered with its envelope, after an answer from elsewhere, and leaves no session",
    () =>
      Effect.gen(function* () {
        const { home, run, workspace } = yield* started
        const read = yield* run(["call", "read", '{"path":"a"}', "--daemon"])
        assert.strictEqual(read.code, 0)
        assert.deepInclude(envelopeOf(read), { tool: "read", status: "completed" })
        assert.strictEqual(read.stderr, "")
        const input = '{"path":"made","content":"x","mode":"create"}'
        const asking = yield* startScv(["call", "write", input, "--daemon"], workspace, inHome(home))
        yield* asking.until("it waits for: scv approve")
        const id = yield* firstApproval(run)
        const inside = yield* run(["approve", id], { SCV_CALL_0123456789abcdef: "1" })
        assert.strictEqual(inside.code, 2)
        assert.match(inside.stderr, /inside a tool call/)
        assert.strictEqual((yield* run(["approve", id])).stdout, `approved ${id}\n`)
        const ended = yield* asking.ended
        assert.strictEqual(ended.code, 0)
        assert.isTrue(fs.existsSync(path.join(workspace, "made")))
        const late = yield* run(["deny", id])
        assert.strictEqual(late.code, 1)
        assert.match(late.stderr, /takes no answer: it was approved already \(by scv-approve/)
        assert.strictEqual((yield* run(["sessions"])).stdout, "no session is open\n")
      }),
    hanging
  )

  it.scopedLive(
    "is cancelled by Ctrl-C, by its id, and denied with a reason",
    () =>
      Effect.gen(function* () {
        const { home, run, workspace } = yield* started
        const input = '{"path":"made","content":"x","mode":"create"}'
        const start = Effect.tap(startScv(["call", "write", input, "--daemon"], workspace, inHome(home)), (asking) =>
          asking.until("it waits for: scv approve")
        )
        const first = yield* start
        first.kill("SIGINT")
        assert.deepInclude(envelopeOf(yield* first.ended), { status: "cancelled" })
        const second = yield* start
        const id = yield* firstApproval(run)
        assert.strictEqual((yield* run(["cancel", id.replace(/-\d+$/, "")])).code, 0)
        assert.strictEqual((yield* second.ended).code, 130)
        const third = yield* start
        yield* run(["deny", yield* firstApproval(run), "--reason", "not \u001b[2J today"])
        const denied = yield* third.ended
        assert.strictEqual(denied.code, 3)
        assert.strictEqual(envelopeOf(denied).error?.message, "write was denied: not \\x1b[2J today")
        assert.isFalse(fs.existsSync(path.join(workspace, "made")))
      }),
    hanging
  )

  it.scopedLive(
    "answers its own question with --yes, and says when its workspace is no good",
    () =>
      Effect.gen(function* () {
        const { run, workspace } = yield* started
        const input = '{"path":"made","content":"x","mode":"create"}'
        assert.strictEqual((yield* run(["call", "write", input, "--daemon", "--yes"])).code, 0)
        assert.isTrue(fs.existsSync(path.join(workspace, "made")))
        const nowhere = yield* run(["call", "read", '{"path":"a"}', "--daemon", "--workspace", "nowhere"])
        assert.strictEqual(envelopeOf(nowhere).error?.kind, "invalid_input")
        const other = '{"path":"other","content":"x","mode":"create"}'
        const never = yield* run(["call", "write", other, "--daemon", "--yes", "--policy", "never"])
        assert.strictEqual(never.code, 3)
      }),
    hanging
  )
})

describe("scv watch", () => {
  it.scopedLive(
    "shows a pending question first, takes y for yes, and follows what happens",
    () =>
      Effect.gen(function* () {
        const { home, run, workspace } = yield* started
        const input = '{"path":"made","content":"x","mode":"create"}'
        const asking = yield* startScv(["call", "write", input, "--daemon"], workspace, inHome(home))
        yield* asking.until("it waits for: scv approve")
        const line = `'${process.execPath}' '${command}' watch; echo "code $?"`
        const watching = yield* startProgram(["script", "-qec", line, "/dev/null"], workspace, inHome(home))
        // Typed before the question is there, so it answers nothing.
        watching.write("n")
        yield* watching.until("[y] approve")
        // A key counts only once a person can have read the question.
        yield* Effect.sleep("400 millis")
        watching.write("y")
        yield* watching.until("approved by scv-watch")
        yield* watching.until("completed")
        assert.strictEqual((yield* asking.ended).code, 0)
        assert.isTrue(fs.existsSync(path.join(workspace, "made")))
        watching.write("q")
        yield* watching.until("code 0")
        assert.strictEqual((yield* run(["approvals"])).stdout, "nothing waits for an answer\n")
      }),
    hanging
  )

  it.scopedLive(
    "prints events as JSON, and ends with the daemon",
    () =>
      Effect.gen(function* () {
        const { home, run, workspace } = yield* started
        const watching = yield* startScv(["watch", "--json"], workspace, inHome(home))
        yield* watching.until('"connected"')
        yield* run(["call", "read", '{"path":"a"}', "--daemon"])
        yield* watching.until('"session_closed"')
        yield* run(["daemon", "stop"])
        const { code, stdout } = yield* watching.ended
        assert.strictEqual(code, 0)
        const events = stdout
          .trimEnd()
          .split("\n")
          .map((text) => JSON.parse(text))
        assert.deepStrictEqual(events.at(-1), { event: "end", reason: "draining" })
        assert.includeMembers(
          events.map(({ event }) => event),
          ["session_opened", "proposed", "started", "completed", "session_closed"]
        )
      }),
    hanging
  )
})
