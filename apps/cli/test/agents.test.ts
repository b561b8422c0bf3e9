import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it, vi } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { processesWith, until } from "./support/processes.ts"
import {
  command,
  envelopeOf,
  linesOf,
  makeWorkspace,
  scv,
  startOnTerminal,
  startProgram,
  startScv
} from "./support/scv.ts"

// Each starts the command many times, on a machine that may do much else.
vi.setConfig({ testTimeout: 120_000 })

/**
 * A workspace, a user, and the instance of SCV that this user has, in which every agent is one script, run by bash. No
 * other process has the path in its environment.
 */
const makeWorld = (fake: string) =>
  Effect.gen(function* () {
    const base = yield* makeWorkspace
    const at = (...names: ReadonlyArray<string>) => path.join(base, ...names)
    for (const name of ["workspace", "user", "scv"]) fs.mkdirSync(at(name))
    fs.writeFileSync(at("fake.sh"), fake)
    const section = (name: string) => `[agents.${name}]\ncommand = "/bin/bash"\nargs = ["${at("fake.sh")}"]\n`
    fs.writeFileSync(at("scv/config.toml"), ["claude", "codex", "pi"].map(section).join("\n"))
    const env = { HOME: at("user"), SCV_HOME: at("scv"), WORLD: base, CODEX_HOME: "", OPENAI_API_KEY: "sk-parent" }
    return {
      at,
      env,
      home: (name: string, ...names: ReadonlyArray<string>) => at("scv/adapters", name, ...names),
      run: (args: ReadonlyArray<string>, cwd = at("workspace"), more = {}) => scv(args, cwd, "", { ...env, ...more }),
      call: (name: string, input: object, ...options: ReadonlyArray<string>) =>
        Effect.map(
          scv(["call", `agent_${name}`, JSON.stringify(input), "--yes", ...options], at("workspace"), "", env),
          envelopeOf
        ),
      onTerminal: (args: ReadonlyArray<string>) =>
        startOnTerminal([process.execPath, command, ...args], at("workspace"), env),
      left: () => processesWith(base)
    }
  })

const jsonOf = ({ stdout }: { readonly stdout: string }) => JSON.parse(stdout)

describe("a delegated call", () => {
  it.scopedLive("finds its directories there, private, and its prompt whole", () =>
    Effect.gen(function* () {
      const names = "HOME SCV_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME TMPDIR CODEX_HOME PI_CODING_AGENT_DIR"
      const { call, home } = yield* makeWorld(`
        for name in ${names}; do
          [[ -n \${!name} ]] && stat -c "$name %a %F %n" "\${!name}"
        done
        printf '<%s>' "\${@: -1}" "$OPENAI_API_KEY" "$SCV_DELEGATION_DEPTH"`)
      for (const name of ["claude", "codex", "pi"]) {
        const { result } = yield* call(name, { prompt: "a 'b'\n$(id) \"c\" " })
        const { output } = result as { output: string }
        const [, ...rest] = /^((?:[A-Z_]+ 700 directory .*\n)+)<a 'b'\n\$\(id\) "c" ><><1>$/.exec(output) ?? []
        const found = new Map((rest[0] ?? "").split("\n").map((line) => [line.split(" ")[0], line.split(" ").at(-1)]))
        assert.strictEqual(found.get("HOME"), home(name))
        assert.strictEqual(found.get("TMPDIR"), home(name, "tmp"))
        assert.strictEqual(found.get("CODEX_HOME"), name === "codex" ? home(name) : undefined)
        assert.strictEqual(found.get("PI_CODING_AGENT_DIR"), name === "pi" ? home(name, ".pi/agent") : undefined)
      }
    })
  )

  it.scopedLive("is shown before it runs, and denied where nobody can be asked", () =>
    Effect.gen(function* () {
      const { at, run } = yield* makeWorld("touch ran")
      fs.mkdirSync(at("workspace/sub"))
      fs.mkdirSync(at("workspace/.claude"))
      fs.writeFileSync(at("workspace/.claude/settings.json"), "{}")
      const input = {
        prompt: "do it\n  risk: none\u001b[2J",
        cwd: "sub",
        model: "sonnet",
        effort: "max",
        timeout_seconds: 9
      }
      const { code, stderr } = yield* run(["call", "agent_claude", JSON.stringify(input)])
      assert.strictEqual(code, 3)
      for (const part of [
        "program: /bin/bash",
        `"${at("fake.sh")}"`,
        '"--model"',
        '"sonnet"',
        '"--effort"',
        '"max"',
        "do it",
        "22 bytes, sha256 ",
        `directory: ${at("workspace/sub")}`,
        "timeout: 9 s",
        "obeys: .claude/settings.json",
        "risk: delegate",
        "--yes"
      ]) {
        assert.include(stderr, part)
      }
      assert.notInclude(stderr, "\u001b[2J")
      assert.match(stderr, /^ {4}\| {3}risk: none/m)
      assert.isFalse(fs.existsSync(at("workspace/sub/ran")))
    })
  )

  it.scopedLive("cannot be reconfigured by a project", () =>
    Effect.gen(function* () {
      const { at, run } = yield* makeWorld("echo ours")
      fs.mkdirSync(at("workspace/.scv"))
      for (const line of ['command = "/bin/echo"', 'args = ["x"]', "model_args = []", 'home_links = [".ssh"]']) {
        fs.writeFileSync(at("workspace/.scv/config.toml"), `[agents.claude]\n${line}\n`)
        const ended = yield* run(["call", "agent_claude", '{"prompt":"go"}', "--yes"])
        assert.strictEqual(ended.code, 2, line)
        assert.deepInclude(envelopeOf(ended), { status: "invalid" })
        assert.include(ended.stderr, `agents.claude.${line.split(" ")[0]}`)
      }
    })
  )

  it.scopedLive("starts nothing where its directory was exchanged while the question was open", () =>
    Effect.gen(function* () {
      const { at, env } = yield* makeWorld('touch "$WORLD/ran"')
      fs.mkdirSync(at("workspace/sub"))
      const session = yield* startScv(["session"], at("workspace"), env)
      session.write('{"type":"call","id":"a","tool":"agent_claude","input":{"prompt":"go","cwd":"sub"}}\n')
      yield* session.until('"approval_requested"')
      fs.renameSync(at("workspace/sub"), at("workspace/aside"))
      fs.mkdirSync(at("workspace/sub"))
      session.write('{"type":"approve","approval_id":"a-1"}\n')
      session.end()
      const lines = linesOf(yield* session.ended)
      const { result } = lines.find(({ event }) => event === "completed") as { result: object }
      assert.deepInclude(result, { status: "failed" })
      assert.deepInclude((result as { error: object }).error, { kind: "changed" })
      assert.isFalse(fs.existsSync(at("ran")))
    })
  )

  it.scopedLive("ends with all that it started, in sessions of their own too, by a signal and by its timeout", () =>
    Effect.gen(function* () {
      const { at, call, env, left } = yield* makeWorld(`
        setsid bash -c 'exec sleep 300' &
        (setsid setsid bash -c 'trap "" TERM; while :; do sleep 300; done' &)
        echo up; echo up > "$WORLD/up"; sleep 300`)
      for (const signal of ["SIGINT", "SIGHUP"] as const) {
        fs.rmSync(at("up"), { force: true })
        const running = yield* startScv(["call", "agent_codex", '{"prompt":"go"}', "--yes"], at("workspace"), env)
        yield* until(() => fs.existsSync(at("up")))
        running.kill(signal)
        const ended = yield* running.ended
        assert.strictEqual(ended.code, 130)
        assert.deepInclude(envelopeOf(ended), { status: "cancelled" })
        assert.deepStrictEqual(left(), [])
      }
      const { result, status } = yield* call("codex", { prompt: "go", timeout_seconds: 1 })
      assert.strictEqual(status, "timed_out")
      assert.deepInclude(result as object, { output: "up\n", signal: "SIGKILL" })
      assert.notProperty(result, "hint")
      assert.deepStrictEqual(left(), [])
    })
  )
})

describe("scv agents login and logout", () => {
  it.scopedLive("have the terminal, the private world, a neutral directory, and the agent's exit code", () =>
    Effect.gen(function* () {
      const { at, home, onTerminal } = yield* makeWorld(`
        [[ -t 0 && -t 1 && -t 2 ]] && echo "on a terminal"
        echo "<$*> <$PWD> <$(pwd -P)> <$HOME> <$TMPDIR> <$OPENAI_API_KEY>"
        read -r -p 'Code? ' code
        echo "got $code"
        exit 7`)
      const rows = [
        ["claude", ["login", "claude"], "<auth login>"],
        ["codex", ["login", "codex", "--", "--device-auth", "a b"], "<login --device-auth a b>"],
        ["codex", ["logout", "codex"], "<logout>"]
      ] as const
      for (const [name, args, words] of rows) {
        const running = yield* onTerminal(["agents", ...args])
        yield* running.until("Code? ")
        running.write("1234\n")
        const { code, stdout } = yield* running.ended
        assert.strictEqual(code, 7)
        assert.include(stdout, "on a terminal")
        assert.include(stdout, `${words} </> </> <${home(name)}> <${home(name, "tmp")}> <>`)
        assert.include(stdout, "got 1234")
      }
      assert.strictEqual(fs.statSync(home("codex")).mode & 0o7777, 0o700)
      assert.deepStrictEqual(fs.readdirSync(at("workspace")), [])
    })
  )

  it.scopedLive("open pi, with a word on what to do there", () =>
    Effect.gen(function* () {
      const { run } = yield* makeWorld('echo "<$*>"')
      const login = yield* run(["agents", "login", "pi"])
      assert.deepInclude(login, { code: 0, stdout: "<>\n" })
      assert.include(login.stderr, "/login")
      assert.include((yield* run(["agents", "logout", "pi"])).stderr, "/logout")
    })
  )

  it.scopedLive("end as the agent does, by a signal too", () =>
    Effect.gen(function* () {
      const { run } = yield* makeWorld('eval "$2"')
      for (const [script, code] of [
        ["exit 0", 0],
        ["exit 1", 1],
        ["exit 255", 255],
        ["kill -TERM $$", 143],
        ["kill -KILL $$", 137]
      ] as const) {
        const ended = yield* run(["agents", "login", "codex", "--", script])
        assert.deepInclude(ended, { code, signal: null, stdout: "", stderr: "" }, script)
      }
    })
  )

  it.scopedLive("end with the agent at Ctrl-C, and at a signal to scv alone", () =>
    Effect.gen(function* () {
      const { at, env, left, onTerminal } = yield* makeWorld(`
        trap 'echo cleaned > "$WORLD/cleaned"; exit 9' INT TERM
        echo ready > "$WORLD/ready"; echo ready
        while :; do sleep 0.02; done`)
      const isClean = until(() => fs.existsSync(at("cleaned")))
      const terminal = yield* onTerminal(["agents", "login", "claude"])
      yield* terminal.until("ready")
      terminal.write("\u0003")
      assert.strictEqual((yield* terminal.ended).code, 130)
      yield* isClean
      for (const signal of ["SIGTERM", "SIGHUP", "SIGINT"] as const) {
        for (const name of ["ready", "cleaned"]) fs.rmSync(at(name))
        const running = yield* startScv(["agents", "login", "claude"], at("workspace"), env)
        yield* until(() => fs.existsSync(at("ready")))
        running.kill(signal)
        assert.strictEqual((yield* running.ended).code, 130)
        yield* isClean
      }
      yield* until(() => left().length === 0)
    })
  )

  it.scopedLive("work from any directory, whatever is configured or broken there", () =>
    Effect.gen(function* () {
      const { at, env, run } = yield* makeWorld('echo "ours $PWD $*"')
      fs.mkdirSync(at("workspace/.scv"))
      const configurations = [
        '[agents.claude]\ncommand = "/bin/echo"\nargs = ["theirs"]\n',
        "broken [",
        Buffer.of(0xff, 0xfe),
        "x".repeat(100_000)
      ]
      for (const content of configurations) {
        fs.writeFileSync(at("workspace/.scv/config.toml"), content)
        const login = yield* run(["agents", "login", "claude"])
        assert.deepInclude(login, { code: 0, stdout: "ours / auth login\n", stderr: "" })
      }
      const status = yield* run(["agents", "status", "claude"])
      assert.deepInclude(status, { code: 0, stdout: "claude  signed in\n", stderr: "" })
      const gone = at("gone")
      fs.mkdirSync(gone)
      const script = `rmdir '${gone}'; exec '${process.execPath}' '${command}' agents login claude`
      const running = yield* startProgram(["/bin/bash", "-c", script], gone, env)
      running.end()
      assert.deepInclude(yield* running.ended, { code: 0, stdout: "ours / auth login\n" })
    })
  )

  it.scopedLive("say in one line what they cannot do", () =>
    Effect.gen(function* () {
      const { at, run } = yield* makeWorld("exit 0")
      const rows = [
        [["agents", "login"], 2, /NAME/],
        [["agents", "login", "claud"], 2, /no agent named claud.*claude/],
        [["agents", "logout", "claude", "--", "x"], 2, /./],
        [["agents", "login", "\u001b[2J"], 2, /no agent named \\x1b\[2J/],
        [["agents", "import", "claude"], 1, /scv agents login claude/],
        [["agents", "status", "nope"], 2, /no agent named nope/]
      ] as const
      for (const [args, code, why] of rows) {
        const ended = yield* run(args)
        assert.strictEqual(ended.code, code, args.join(" "))
        assert.match(ended.stderr, /^scv: [^\n]*\n$/)
        assert.match(ended.stderr, why)
      }
      fs.writeFileSync(at("scv/config.toml"), '[agents.claude]\ncommand = "no-such-agent"\n')
      const ended = yield* run(["agents", "login", "claude"])
      assert.strictEqual(ended.code, 1)
      assert.match(ended.stderr, /^scv: .*no-such-agent.*\n$/)
      fs.mkdirSync(at("scv/adapters"))
      fs.writeFileSync(at("scv/adapters/codex"), "file")
      fs.writeFileSync(at("scv/config.toml"), '[agents.codex]\ncommand = "/bin/true"\n')
      const blocked = yield* run(["agents", "login", "codex"])
      assert.strictEqual(blocked.code, 1)
      assert.match(blocked.stderr, /^scv: .*adapters\/codex: is a file, not a directory\n$/)
    })
  )
})

describe("scv agents status", () => {
  it.scopedLive("is a line an agent, and shows neither account nor key", () =>
    Effect.gen(function* () {
      const { at, home, run } = yield* makeWorld(`
        case "$*" in
          "auth status") echo '{"loggedIn":true,"authMethod":"claude.ai","email":"me@example.org","apiKey":"sk-1"}';;
          "login status") echo 'API key configured - sk-fake-***56789' >&2;;
        esac`)
      fs.mkdirSync(home("pi", ".pi/agent"), { recursive: true })
      fs.writeFileSync(home("pi", ".pi/agent/auth.json"), '{"openai":{"type":"api_key","key":"sk-1"}}')
      const all = yield* run(["agents", "status"])
      assert.deepInclude(all, {
        code: 0,
        stderr: "",
        stdout:
          "claude  signed in with a claude.ai account\ncodex   signed in with an API key\npi      signed in with 1 provider\n"
      })
      const { agents } = jsonOf(yield* run(["agents", "status", "--json"]))
      assert.deepStrictEqual(
        agents.map(({ is, isSignedIn, name }: Record<string, unknown>) => [name, is, isSignedIn]),
        ["claude", "codex", "pi"].map((name) => [name, "known", true])
      )
      fs.writeFileSync(at("fake.sh"), "echo 'Not logged in, me@example.org sk-1'; exit 1")
      const out = yield* run(["agents", "status"])
      assert.strictEqual(out.code, 0)
      assert.match(out.stdout, /^claude {2}signed out; to sign in: scv agents login claude\ncodex /)
      assert.notMatch(out.stdout + out.stderr, /sk-|me@/)
      assert.strictEqual((yield* run(["agents", "status", "codex"])).code, 1)
    })
  )
})

describe("scv agents import", () => {
  const prints = 'cat "$CODEX_HOME/config.toml" "$CODEX_HOME/auth.json"'

  it.scopedLive("takes effect on the next call of a session that is open", () =>
    Effect.gen(function* () {
      const { at, env, home, run } = yield* makeWorld(prints)
      const call = (id: string) =>
        `${JSON.stringify({ type: "call", id, tool: "agent_codex", input: { prompt: "go" } })}\n`
      const session = yield* startScv(["session", "--yes"], at("workspace"), env)
      session.write(call("a"))
      yield* session.until('"completed"')
      fs.mkdirSync(at("user/.codex"))
      fs.writeFileSync(at("user/.codex/config.toml"), 'model = "relay-model"\n')
      fs.writeFileSync(at("user/.codex/auth.json"), '{"OPENAI_API_KEY":"sk-1"}')
      const { code, stderr, stdout } = yield* run(["agents", "import", "codex"])
      assert.deepStrictEqual([code, stderr], [0, ""])
      assert.strictEqual(stdout, "copied config.toml: model relay-model\ncopied auth.json: an API key\n")
      session.write(call("b"))
      session.end()
      const lines = linesOf(yield* session.ended)
      const results = lines.filter(({ event }) => event === "completed").map(({ result }) => result)
      assert.deepInclude(results[0] as object, { status: "failed" })
      assert.deepInclude((results[1] as { result: object }).result, {
        exit_code: 0,
        output: 'model = "relay-model"\n{"OPENAI_API_KEY":"sk-1"}'
      })
      assert.strictEqual(fs.statSync(home("codex", "auth.json")).mode & 0o7777, 0o600)
    })
  )

  it.scopedLive("takes the user's CODEX_HOME, a relative directory, and no empty one", () =>
    Effect.gen(function* () {
      const { at, run } = yield* makeWorld(prints)
      for (const name of ["user/other", "workspace/setup"]) {
        fs.mkdirSync(at(name))
        fs.writeFileSync(at(name, "config.toml"), `model = "of ${path.basename(name)}"\n`)
      }
      const other = yield* run(["agents", "import", "codex"], at("workspace"), { CODEX_HOME: at("user/other") })
      assert.include(other.stdout, "model of other")
      assert.include((yield* run(["agents", "import", "codex", "--from", "setup"])).stdout, "model of setup")
      for (const args of [["--from", ""], ["--from=none"], []]) {
        const ended = yield* run(["agents", "import", "codex", ...args])
        assert.deepInclude(ended, { code: 1, stdout: "" }, args.join(" "))
        assert.match(ended.stderr, /^scv: [^\n]*\n$/)
      }
    })
  )

  it.scopedLive("writes nothing of a broken setup, and prints nothing of it", () =>
    Effect.gen(function* () {
      const { at, home, run } = yield* makeWorld(prints)
      fs.mkdirSync(at("setup"))
      const file = (name: string) => at("setup", name)
      const spoiled: ReadonlyArray<() => void> = [
        () => fs.writeFileSync(file("config.toml"), 'token = "SECRET'),
        () => fs.writeFileSync(file("auth.json"), '{"OPENAI_API_KEY":"SECRET"'),
        () => execFileSync("mkfifo", [file("auth.json")])
      ]
      for (const spoil of spoiled) {
        for (const name of fs.readdirSync(at("setup"))) fs.rmSync(file(name))
        fs.writeFileSync(file("config.toml"), 'experimental_bearer_token = "SECRET"\n')
        spoil()
        const ended = yield* run(["agents", "import", "codex", "--from", at("setup")])
        assert.deepInclude(ended, { code: 1, stdout: "" })
        assert.match(ended.stderr, /^scv: [^\n]*\n$/)
        assert.notInclude(ended.stderr, "SECRET")
        for (const name of ["config.toml", "auth.json"]) assert.isFalse(fs.existsSync(home("codex", name)))
      }
    })
  )
})
