import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it, vi } from "@effect/vitest"
import { agents } from "@scv/agents"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import { leftOf, makeWorld, type World } from "./support/world.ts"

// Each starts many programs, on a machine that may do much else.
vi.setConfig({ testTimeout: 120_000 })

/** Prints the arguments so that none can be taken for two, and no line for another. */
const printsArguments = `printf '%s\\0' "$@" > "$WORLD/arguments"; echo >> "$WORLD/runs"`

const argumentsOf = ({ at }: World): ReadonlyArray<string> =>
  fs.readFileSync(at("arguments"), "utf8").split("\0").slice(0, -1)

const runsOf = ({ at }: World): number => (fs.existsSync(at("runs")) ? fs.readFileSync(at("runs"), "utf8").length : 0)

const answer = (world: World, decision: "approve" | "deny") =>
  Effect.flatMap(world.question, ({ approval_id }) => world.session.answer(approval_id, { decision, by: "test" }))

describe("the arguments", () => {
  it.scopedLive("end with the prompt, one argument and unchanged, whatever is in it", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ fake: printsArguments })
      const awkward = [
        "a b",
        " leading and trailing ",
        "\ttab\n\nlines\n",
        `it's "quoted" \`id\` $(id) \${HOME} $HOME \\ \\n`,
        "* ? [a-z] {a,b} ~ ~root # ! !! | & && ; < > >> << EOF",
        "{model} {effort} {prompt} %s %d $& $1",
        "--",
        "é 漢字 🙂 \u202e \u200b \ufeff",
        "\u0001\u001b[2J\u007f\u0085",
        "=x",
        "a=b",
        "/help",
        "@file",
        "'",
        '"',
        "\\"
      ].filter((prompt) => !prompt.startsWith("-"))
      const drawn = FastCheck.sample(
        FastCheck.string({ unit: "binary", minLength: 1, maxLength: 60 })
          .map((text) => text.toWellFormed().replaceAll("\0", ""))
          .filter((text) => text.trim() !== "" && !text.startsWith("-")),
        12
      )
      for (const prompt of [...awkward, ...drawn]) {
        assert.deepInclude(yield* world.call("claude", { prompt, model: "m[1m]", effort: "max" }), { exit_code: 0 })
        assert.deepStrictEqual(argumentsOf(world), ["-p", "--model", "m[1m]", "--effort", "max", prompt])
      }
    })
  )

  it.scopedLive("are each agent's own, and those of the configuration where it has any", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ fake: printsArguments })
      yield* world.call("claude", { prompt: "go" })
      assert.deepStrictEqual(argumentsOf(world), ["-p", "go"])
      yield* world.call("codex", { prompt: "go", model: "gpt-5", effort: "high" })
      assert.deepStrictEqual(argumentsOf(world), ["exec", "-m", "gpt-5", "-c", 'model_reasoning_effort="high"', "go"])
      yield* world.call("pi", { prompt: "go" })
      assert.deepStrictEqual(argumentsOf(world), ["-p", "go"])

      const configured = yield* makeWorld({
        fake: printsArguments,
        settings: {
          claude: { model_args: [], effort_args: ["{effort}={effort}", "{model}"] },
          pi: { model_args: ["--model", "x/{model}:{effort}"] }
        }
      })
      yield* configured.call("claude", { prompt: "go", effort: "low" })
      assert.deepStrictEqual(argumentsOf(configured), ["-p", "low=low", "{model}", "go"])
      yield* configured.call("pi", { prompt: "go", model: "a/b" })
      assert.deepStrictEqual(argumentsOf(configured), ["-p", "--model", "x/a/b:{effort}", "go"])
      for (const [agent, field] of [
        ["claude", "model"],
        ["pi", "effort"]
      ] as const) {
        const refused = yield* configured.call(agent, { prompt: "go", [field]: "low" })
        assert.deepInclude(refused, { status: "invalid", kind: "invalid_input" }, agent)
        assert.include(String(refused.message), `unknown field \`${field}\``)
      }
    })
  )

  it.scopedLive("take every model and effort of the rule, and no other", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ fake: printsArguments, assumeYes: false })
      // By the words of the spec, written another way than the code has it.
      const allowed = new Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:/@[]-")
      const isModel = (text: string): boolean =>
        text.length >= 1 && text.length <= 128 && !"-@".includes(text[0]!) && [...text].every((one) => allowed.has(one))
      const isEffort = (text: string): boolean => "low medium high xhigh max".split(" ").includes(text)
      const good = FastCheck.array(FastCheck.constantFrom(...allowed), { minLength: 1, maxLength: 130 })
      const text = FastCheck.oneof(
        good.map((all) => all.join("")),
        FastCheck.tuple(
          good.map((all) => all.join("")),
          FastCheck.constantFrom("\n", " ", "é", "$", "\u2028", "K")
        ).map(([one, other]) => one.slice(0, 100) + other),
        FastCheck.string({ unit: "binary", maxLength: 5 }).map((drawn) => drawn.toWellFormed()),
        FastCheck.constantFrom("", "-", "@", "-x", "@x", "x-", "x@", "m".repeat(128), "m".repeat(129), "sonnet\n"),
        FastCheck.constantFrom("low", "LOW", "low ", "xhigh", "max", "minimal", "none")
      )
      for (const drawn of FastCheck.sample(text, 150)) {
        for (const [field, isGood] of [
          ["model", isModel(drawn)],
          ["effort", isEffort(drawn)]
        ] as const) {
          // A good one gets as far as the question, which nobody answers here but with no.
          const call = yield* Effect.fork(world.call("claude", { prompt: "go", [field]: drawn }))
          if (isGood) yield* answer(world, "deny")
          const { kind, message } = yield* Fiber.join(call)
          assert.strictEqual(kind, isGood ? "denied" : "invalid_input", `${field} ${JSON.stringify(drawn)}`)
          if (!isGood) assert.include(String(message), field)
        }
      }
      assert.strictEqual(runsOf(world), 0)
    })
  )
})

describe("a prompt", () => {
  it.scopedLive("is refused where a command line would take it for something else", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ fake: printsArguments })
      const refused = [
        ...agents.flatMap(({ name }) =>
          ["", " ", "\n\t\u3000", "-", "-h", "--", "--yes", "a\0b"].map((prompt) => [name, prompt] as const)
        ),
        ...["help", "resume", "fork", "review"].map((word) => ["codex", word] as const),
        ...["@", "@file", "@/etc/passwd"].map((word) => ["pi", word] as const)
      ]
      for (const [name, prompt] of refused) {
        const result = yield* world.call(name, { prompt })
        assert.deepInclude(result, { status: "invalid", kind: "invalid_input" }, `${name} ${JSON.stringify(prompt)}`)
        assert.include(String(result.message), "prompt")
      }
      assert.strictEqual(runsOf(world), 0)
      const taken = [
        ["claude", "help"],
        ["claude", "@file"],
        ["pi", "review"],
        ["pi", " @file"],
        ["codex", "@file"],
        ["codex", "Help"],
        ["codex", "help me"],
        ["codex", "review "],
        ["codex", " -x"]
      ] as const
      for (const [name, prompt] of taken) {
        assert.deepInclude(yield* world.call(name, { prompt }), { status: "completed" }, `${name} ${prompt}`)
        assert.strictEqual(argumentsOf(world).at(-1), prompt)
      }
    })
  )

  it.scopedLive("is as long as one argument can be, in bytes", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ fake: printsArguments })
      for (const longest of ["x".repeat(131_071), `${"é".repeat(65_535)}x`]) {
        assert.deepInclude(yield* world.call("claude", { prompt: longest }), { status: "completed" })
        assert.isTrue(argumentsOf(world).at(-1) === longest, "arrived unchanged")
        const refused = yield* world.call("claude", { prompt: `${longest}x` })
        assert.deepInclude(refused, { status: "invalid", kind: "limit" })
        assert.match(String(refused.message), /^`prompt`: 131072 bytes/)
      }
      assert.strictEqual(runsOf(world), 2)
    })
  )
})

describe("the timeout", () => {
  it.scopedLive("is the agents' default, the call's own up to the ceiling, and nothing above it", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ assumeYes: false, limits: { agentTimeoutSeconds: 77, maxTimeoutSeconds: 99 } })
      for (const [given, planned] of [
        [{}, 77],
        [{ timeout_seconds: 1 }, 1],
        [{ timeout_seconds: 99 }, 99]
      ] as const) {
        const call = yield* Effect.fork(world.call("claude", { prompt: "go", ...given }))
        const { plan, summary } = yield* world.question
        assert.deepInclude(plan as object, { timeout_seconds: planned })
        assert.include(summary, `\n  timeout: ${planned} s\n`)
        yield* answer(world, "deny")
        yield* Fiber.join(call)
      }
      const above = yield* world.call("claude", { prompt: "go", timeout_seconds: 100 })
      assert.deepInclude(above, { status: "invalid", kind: "limit" })
      assert.include(String(above.message), "99")
      for (const bad of [0, -1, 1.5, "7"]) {
        const refused = yield* world.call("claude", { prompt: "go", timeout_seconds: bad })
        assert.deepInclude(refused, { status: "invalid", kind: "invalid_input" }, String(bad))
      }
      for (const tool of world.session.tools) {
        const { properties } = tool.inputSchema as { properties: Record<string, { maximum?: number }> }
        assert.strictEqual(properties.timeout_seconds?.maximum, 99)
      }
    })
  )
})

describe("what is offered", () => {
  it.scopedLive("has a model and an effort only where there are arguments for them", () =>
    Effect.gen(function* () {
      const { session } = yield* makeWorld()
      const fields = session.tools.map(({ inputSchema, name }) => [
        name,
        Object.keys((inputSchema as { properties: object }).properties).join(" ")
      ])
      assert.deepStrictEqual(fields, [
        ["agent_claude", "prompt cwd timeout_seconds model effort"],
        ["agent_codex", "prompt cwd timeout_seconds model effort"],
        ["agent_pi", "prompt cwd timeout_seconds"]
      ])
      for (const { risk } of session.tools) assert.strictEqual(risk, "delegate")
    })
  )

  it.scopedLive("is unavailable without its program, which nobody is asked about", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ assumeYes: false, settings: { claude: { command: "no-such-agent" } } })
      const refused = yield* world.call("claude", { prompt: "go" })
      assert.deepInclude(refused, { status: "invalid", kind: "unavailable" })
      assert.include(String(refused.message), "no-such-agent")
    })
  )
})

describe("the question", () => {
  it.scopedLive("says everything of what would run, and no line of the prompt poses as ours", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ assumeYes: false })
      fs.mkdirSync(world.at("workspace/real"))
      fs.symlinkSync("real", world.at("workspace/link"))
      const prompt = `first\n  program: /bin/innocent\n\u001b[2J\u202e${"x".repeat(3000)}last`
      const call = yield* Effect.fork(
        world.call("claude", { prompt, cwd: "link", model: "m", effort: "low", timeout_seconds: 5 })
      )
      const { plan, risk, summary, workspace } = yield* world.question
      yield* answer(world, "deny")
      yield* Fiber.join(call)
      assert.strictEqual(risk, "delegate")
      assert.strictEqual(workspace, world.at("workspace"))
      const lines = summary.split("\n")
      assert.strictEqual(lines[0], "delegate to Claude Code")
      assert.deepStrictEqual(
        lines.filter((line) => /^ {2}\S/.test(line)).map((line) => line.split(":")[0]?.trim()),
        ["program", "arguments", "prompt", "directory", "timeout", "risk"]
      )
      const whole = [
        "  program: /bin/bash",
        ...[world.at("fake.sh"), "-p", "--model", "m", "--effort", "low"].map((arg) => `    | ${JSON.stringify(arg)}`),
        "    | first",
        `  directory: ${world.at("workspace/real")}, asked for as link`,
        "  timeout: 5 s"
      ]
      for (const line of whole) assert.include(lines, line)
      assert.match(summary, /\n {2}prompt: 3\d{3} bytes, sha256 [0-9a-f]{64}\n/)
      assert.include(summary, "characters left out")
      assert.include(summary, "xlast\n")
      assert.notMatch(summary, /[\u001b\u202e]/)
      assert.isBelow(summary.length, 4000)
      const { args, directory, program } = plan as {
        args: ReadonlyArray<string>
        directory: object
        program: string
      }
      assert.strictEqual(program, "/bin/bash")
      assert.deepStrictEqual(args, [world.at("fake.sh"), "-p", "--model", "m", "--effort", "low", prompt])
      assert.deepInclude(directory, { path: world.at("workspace/real") })
    })
  )

  it.scopedLive("names the settings of the repository that the agent would obey, on the way to its directory", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ assumeYes: false })
      const write = (name: string) => {
        fs.mkdirSync(path.dirname(world.at("workspace", name)), { recursive: true })
        fs.writeFileSync(world.at("workspace", name), "{}")
      }
      write(".mcp.json")
      write("a/.claude/settings.local.json")
      write("a/b/.codex/config.toml")
      write("a/b/.pi/extensions/x.ts")
      // What leads outside is none the less what the agent would read.
      fs.mkdirSync(world.at("workspace/a/b/.claude"))
      fs.symlinkSync("/etc/hostname", world.at("workspace/a/b/.claude/settings.json"))
      write("beside/.claude/settings.json")
      const obeyed = (name: string, cwd: string) =>
        Effect.gen(function* () {
          const call = yield* Effect.fork(world.call(name, { prompt: "go", cwd }))
          const { summary } = yield* world.question
          yield* answer(world, "deny")
          yield* Fiber.join(call)
          return summary.split("\n").find((line) => line.startsWith("  obeys: "))
        })
      assert.strictEqual(
        yield* obeyed("claude", "a/b"),
        "  obeys: .mcp.json, a/.claude/settings.local.json, a/b/.claude/settings.json: settings of this repository"
      )
      assert.strictEqual(yield* obeyed("claude", "."), "  obeys: .mcp.json: settings of this repository")
      assert.include(yield* obeyed("codex", "a/b"), "a/b/.codex/config.toml")
      assert.include(yield* obeyed("pi", "a/b"), "a/b/.pi/extensions")
      assert.isUndefined(yield* obeyed("pi", "a"))
    })
  )
})

const containments = ["descriptors", "portable"] as const

for (const containment of process.platform === "linux" ? containments : (["portable"] as const)) {
  describe(`the directory (${containment})`, () => {
    it.scopedLive("is inside the workspace, as the system resolves it, or nothing is started", () =>
      Effect.gen(function* () {
        const world = yield* makeWorld({ containment, fake: 'echo >> "$WORLD/runs"; pwd -P; echo "$PWD"' })
        const workspace = world.at("workspace")
        for (const name of ["workspace/sub/deep", "outside/sub"]) fs.mkdirSync(world.at(name), { recursive: true })
        fs.writeFileSync(world.at("workspace/file"), "")
        fs.symlinkSync("sub/deep", world.at("workspace/in"))
        fs.symlinkSync("../outside", world.at("workspace/out"))
        fs.symlinkSync("loop", world.at("workspace/loop"))
        fs.symlinkSync(workspace, world.at("alias"))
        const good = [
          [".", ""],
          ["sub", "/sub"],
          ["sub/", "/sub"],
          ["./sub//deep/..", "/sub"],
          ["in", "/sub/deep"],
          ["in/..", "/sub"],
          [workspace, ""],
          [`${workspace}/sub/`, "/sub"],
          [`${workspace}/in/..`, "/sub"],
          [`/${workspace}/./sub`, "/sub"],
          [`${workspace}/../workspace/sub`, "/sub"],
          [world.at("alias/sub"), "/sub"]
        ] as const
        for (const [cwd, found] of good) {
          const { output } = yield* world.call("claude", { prompt: "go", cwd })
          assert.strictEqual(output, `${workspace}${found}\n`.repeat(2), cwd)
        }
        const runs = runsOf(world)
        const bad = [
          ["out", "outside_workspace"],
          ["out/sub", "outside_workspace"],
          ["..", "outside_workspace"],
          ["../workspace", "outside_workspace"],
          ["/", "outside_workspace"],
          [world.at("outside"), "outside_workspace"],
          [world.at("outside/none"), "outside_workspace"],
          [`${workspace}-other`, "outside_workspace"],
          [`${workspace}/out`, "outside_workspace"],
          ["none", "not_found"],
          [`${workspace}/none`, "not_found"],
          ["file", "not_a_directory"],
          ["file/", "not_a_directory"],
          ["file/sub", "not_a_directory"],
          ["loop", "io"],
          ["", "invalid_input"],
          ["a\0b", "invalid_input"],
          ["n".repeat(300), "limit"]
        ] as const
        for (const [cwd, kind] of bad) {
          assert.deepInclude(yield* world.call("claude", { prompt: "go", cwd }), { kind }, cwd.slice(0, 60))
        }
        assert.strictEqual(runsOf(world), runs)
      })
    )

    it.scopedLive("is refused if it is another one than was approved", () =>
      Effect.gen(function* () {
        const world = yield* makeWorld({ assumeYes: false, containment, fake: 'echo >> "$WORLD/runs"' })
        const at = (name: string) => world.at("workspace", name)
        const swaps: ReadonlyArray<readonly [cwd: string, kind: string, swap: () => void]> = [
          ["sub", "changed", () => fs.renameSync(at("sub"), at("aside")) ?? fs.mkdirSync(at("sub"))],
          ["link", "changed", () => fs.rmSync(at("link")) ?? fs.symlinkSync("other", at("link"))],
          ["link", "outside_workspace", () => fs.rmSync(at("link")) ?? fs.symlinkSync("/", at("link"))],
          ["other", "not_found", () => fs.rmdirSync(at("other"))],
          ["sub", "not_a_directory", () => fs.rmdirSync(at("sub")) ?? fs.writeFileSync(at("sub"), "")]
        ]
        for (const [cwd, kind, swap] of swaps) {
          for (const name of fs.readdirSync(at("."))) fs.rmSync(at(name), { recursive: true })
          for (const name of ["sub", "other"]) fs.mkdirSync(at(name))
          fs.symlinkSync("sub", at("link"))
          const call = yield* Effect.fork(world.call("claude", { prompt: "go", cwd }))
          yield* world.question
          swap()
          yield* answer(world, "approve")
          assert.deepInclude(yield* Fiber.join(call), { kind }, `${cwd}: ${kind}`)
        }
        assert.strictEqual(runsOf(world), 0)
      })
    )
  })
}

describe("the private world", () => {
  it.scopedLive("is that of the design, variable by variable", () =>
    Effect.gen(function* () {
      const kept = {
        LANG: "de_DE.UTF-8",
        HTTPS_PROXY: "http://proxy",
        SSL_CERT_FILE: "/c",
        GH_TOKEN: "gh",
        SSH_AUTH_SOCK: "/s",
        SCV_CALL_0123456789abcdef: "outer",
        API_KEY_FILE: "kept, for it ends otherwise",
        CODEXHOME: "kept"
      }
      const removed = [
        "OPENAI_API_KEY GEMINI_API_KEY X_API_KEY ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN ANTHROPIC_BASE_URL",
        "ANTHROPIC_MODEL CLAUDE CLAUDECODE CLAUDE_CODE_OAUTH_TOKEN CLAUDE_CONFIG_DIR OPENAI_BASE_URL OPENAI_PROJECT",
        "CODEX_ACCESS_TOKEN CODEX_SANDBOX PI_PROVIDER PI_PACKAGE_DIR AI_AGENT SCV_CONFIG SCV_TOKEN SCV_CALLER"
      ]
        .join(" ")
        .split(" ")
      const replaced = [
        "HOME SCV_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME TMPDIR CODEX_HOME",
        "PI_CODING_AGENT_DIR PWD SCV_DELEGATION_DEPTH"
      ]
        .join(" ")
        .split(" ")
      const outer = Object.fromEntries([...removed, ...replaced].map((name) => [name, "of the server"]))
      const world = yield* makeWorld({
        environment: { ...outer, ...kept, SCV_DELEGATION_DEPTH: "0" },
        fake:
          'cat /proc/$$/environ > "$WORLD/environment"; for d in $HOME $XDG_CONFIG_HOME $XDG_DATA_HOME ' +
          "$XDG_STATE_HOME $XDG_CACHE_HOME $TMPDIR $CODEX_HOME $PI_CODING_AGENT_DIR; do stat -c '%a %F' $d; done"
      })
      for (const { name } of agents) {
        const { exit_code, output } = yield* world.call(name, { prompt: "go" })
        const home = world.home(name)
        assert.strictEqual(exit_code, 0)
        assert.match(String(output), /^(700 directory\n){6,7}$/)
        const all = Object.fromEntries(
          fs
            .readFileSync(world.at("environment"), "utf8")
            .split("\0")
            .slice(0, -1)
            .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)])
        )
        const tags = Object.keys(all).filter((one) => /^SCV_CALL_[0-9a-f]{16}$/.test(one) && !(one in kept))
        assert.lengthOf(tags, 1)
        delete all[tags[0]!]
        assert.deepStrictEqual(all, {
          PATH: "/usr/bin:/bin",
          WORLD: world.base,
          ...kept,
          HOME: home,
          SCV_HOME: home,
          XDG_CONFIG_HOME: `${home}/.config`,
          XDG_DATA_HOME: `${home}/.local/share`,
          XDG_STATE_HOME: `${home}/.local/state`,
          XDG_CACHE_HOME: `${home}/.cache`,
          TMPDIR: `${home}/tmp`,
          ...(name === "codex" ? { CODEX_HOME: home } : {}),
          ...(name === "pi" ? { PI_CODING_AGENT_DIR: `${home}/.pi/agent` } : {}),
          SCV_DELEGATION_DEPTH: "1",
          SCV_DELEGATION_CEILING: "2",
          PWD: world.at("workspace")
        })
      }
    })
  )

  it.scopedLive("is closed again, and holds the links that the user wants, as they are now", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({
        fake: 'cat "$HOME/.gitconfig" "$HOME/.config/gh/hosts"; ls -a "$HOME"',
        settings: { claude: { home_links: [".gitconfig", ".config/gh", ".absent", "tmp"] } }
      })
      fs.writeFileSync(world.at("user/.gitconfig"), "[user]\n")
      fs.mkdirSync(world.at("user/.config/gh"), { recursive: true })
      fs.mkdirSync(world.at("user/tmp"))
      fs.writeFileSync(world.at("user/.config/gh/hosts"), "hosts\n")
      fs.mkdirSync(world.home("claude"), { recursive: true })
      fs.chmodSync(world.home("claude"), 0o755)
      fs.symlinkSync("/etc/hostname", `${world.home("claude")}/.gitconfig`)
      for (const _ of [1, 2]) {
        const { output } = yield* world.call("claude", { prompt: "go" })
        assert.match(String(output), /^\[user\]\nhosts\n/)
        assert.notInclude(String(output), ".absent")
        assert.strictEqual(fs.statSync(world.home("claude")).mode & 0o7777, 0o700)
        // The name is taken by what is the agent's own.
        assert.isTrue(fs.lstatSync(`${world.home("claude")}/tmp`).isDirectory())
      }
    })
  )

  it.scopedLive("is not made outside by what the agent put in its place", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ fake: 'echo >> "$WORLD/runs"' })
      fs.mkdirSync(world.at("outside"))
      fs.mkdirSync(world.home("claude"), { recursive: true })
      const own = (name: string) => `${world.home("claude")}/${name}`
      for (const [name, place] of [
        [".local", () => fs.symlinkSync(world.at("outside"), own(".local"))],
        ["tmp", () => fs.symlinkSync(world.at("outside"), own("tmp"))],
        ["tmp", () => fs.symlinkSync(world.at("outside/new"), own("tmp"))],
        ["tmp", () => fs.writeFileSync(own("tmp"), "")]
      ] as const) {
        place()
        const refused = yield* world.call("claude", { prompt: "go" })
        assert.deepInclude(refused, { status: "failed", kind: "not_a_directory" }, name)
        assert.include(String(refused.message), own(name))
        fs.rmSync(own(name))
      }
      assert.deepStrictEqual(fs.readdirSync(world.at("outside")), [])
      assert.strictEqual(runsOf(world), 0)
      // A link that stays inside does no harm.
      fs.rmSync(own("tmp"), { recursive: true, force: true })
      fs.symlinkSync("elsewhere/tmp", own("tmp"))
      assert.deepInclude(yield* world.call("claude", { prompt: "go" }), { status: "completed" })
      assert.isTrue(fs.statSync(own("elsewhere/tmp")).isDirectory())
    })
  )
})

describe("the end of an agent", () => {
  const escapes = (word: string) => `
    setsid bash -c 'exec sleep 300' &
    (setsid setsid bash -c 'trap "" TERM; while :; do sleep 300; done' &)
    bash -c 'trap "" TERM; while :; do sleep 300; done' &
    echo ${word}`

  it.scopedLive("is that of everything it started, in sessions of their own too, when it is cancelled", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ fake: `${escapes("up")}; sleep 300` })
      const up = yield* world.says("up")
      const call = yield* Effect.fork(world.call("codex", { prompt: "go" }))
      yield* Fiber.join(up)
      const [id] = yield* world.session.live
      yield* world.session.cancel(id!)
      const ended = yield* Fiber.join(call)
      assert.deepInclude(ended, { status: "cancelled", kind: "cancelled" })
      assert.notProperty(ended, "hint")
      assert.deepStrictEqual(leftOf(world), [])
    })
  )

  it.scopedLive("is a cancel's, whatever it exits with and says", () =>
    Effect.gen(function* () {
      for (const code of [0, 1, 143]) {
        const world = yield* makeWorld({
          fake: `trap 'echo Not logged in, please run /login; exit ${code}' TERM; echo up; while :; do sleep 0.01; done`
        })
        const up = yield* world.says("up")
        const call = yield* Effect.fork(world.call("claude", { prompt: "go" }))
        yield* Fiber.join(up)
        const [id] = yield* world.session.live
        yield* world.session.cancel(id!)
        const ended = yield* Fiber.join(call)
        assert.deepInclude(ended, { status: "cancelled", exit_code: code })
        assert.include(String(ended.output), "Not logged in")
        assert.notProperty(ended, "hint")
      }
    })
  )

  it.scopedLive("comes at once at the deadline, with the output so far and no hint", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ fake: `${escapes("Not logged in")}; trap "" TERM; while :; do sleep 300; done` })
      const ended = yield* world.call("claude", { prompt: "go", timeout_seconds: 1 })
      assert.deepInclude(ended, { status: "timed_out", output: "Not logged in\n", signal: "SIGKILL" })
      assert.notProperty(ended, "hint")
      assert.deepStrictEqual(leftOf(world), [])
    })
  )

  it.scopedLive("takes with it what it left behind, and says so", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ fake: escapes("done") })
      const ended = yield* world.call("claude", { prompt: "go" })
      assert.deepInclude(ended, { status: "completed", output: "done\n" })
      assert.match(String(ended.hint), /background processes were ended/)
      assert.notProperty(ended, "left_running")
      assert.deepStrictEqual(leftOf(world), [])
    })
  )

  it.scopedLive("is told with what it printed on both streams, and it reads nothing", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({ fake: "read -r line || echo nothing to read; echo err >&2; echo out; exit 3" })
      assert.deepInclude(yield* world.call("claude", { prompt: "go" }), {
        status: "failed",
        exit_code: 3,
        output: "nothing to read\nerr\nout\n"
      })
    })
  )
})

describe("the depth", () => {
  it.scopedLive("has a ceiling, which a nested one can lower and not raise", () =>
    Effect.gen(function* () {
      const rows = [
        [{}, 2, "1 2"],
        [{ SCV_DELEGATION_DEPTH: "1" }, 2, "2 2"],
        [{ SCV_DELEGATION_DEPTH: "2" }, 2, undefined],
        [{ SCV_DELEGATION_DEPTH: "1", SCV_DELEGATION_CEILING: "1" }, 9, undefined],
        [{ SCV_DELEGATION_DEPTH: "1", SCV_DELEGATION_CEILING: "9" }, 2, "2 2"],
        [{ SCV_DELEGATION_DEPTH: "1", SCV_DELEGATION_CEILING: "" }, 9, undefined],
        [{ SCV_DELEGATION_DEPTH: "-1" }, 9, undefined],
        [{ SCV_DELEGATION_DEPTH: "" }, 9, undefined],
        [{ SCV_DELEGATION_DEPTH: "1e1" }, 9, undefined],
        [{}, 0, undefined]
      ] as const
      for (const [environment, maxDelegationDepth, seen] of rows) {
        const world = yield* makeWorld({
          environment,
          maxDelegationDepth,
          fake: 'echo "$SCV_DELEGATION_DEPTH $SCV_DELEGATION_CEILING"'
        })
        const result = yield* world.call("claude", { prompt: "go" })
        const label = `${JSON.stringify(environment)} ${maxDelegationDepth}`
        if (seen === undefined) {
          assert.deepInclude(result, { status: "invalid", kind: "limit" }, label)
          assert.include(String(result.message), "agent.max_delegation_depth")
        } else assert.deepInclude(result, { output: `${seen}\n` }, label)
      }
    })
  )
})
