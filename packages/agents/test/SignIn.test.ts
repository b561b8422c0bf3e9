import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it, vi } from "@effect/vitest"
import { agents, SignIn } from "@scv/agents"
import { TerminalProcess } from "@scv/core"
import * as Effect from "effect/Effect"
import { leftOf, makeWorld, type Options } from "./support/world.ts"

// Each starts many programs, on a machine that may do much else.
vi.setConfig({ testTimeout: 120_000 })

const agent = (name: string) => agents.find((one) => one.name === name)!

const [claude, codex, pi] = [agent("claude"), agent("codex"), agent("pi")]

const statusOf = (one: typeof claude, options: Options) =>
  Effect.gen(function* () {
    const world = yield* makeWorld(options)
    const status = yield* SignIn.status(one).pipe(Effect.provide(world.context))
    assert.deepStrictEqual(leftOf(world), [])
    return status
  })

/** What a sign-in would be run with. */
const requestOf = (one: typeof claude, what: "login" | "logout", extra: ReadonlyArray<string>, options: Options = {}) =>
  Effect.gen(function* () {
    const world = yield* makeWorld(options)
    type Request = Parameters<(typeof TerminalProcess.TerminalProcess.Service)["run"]>[0]
    const requests: Array<Request> = []
    yield* SignIn.attended(one, what, extra).pipe(
      Effect.provideService(TerminalProcess.TerminalProcess, {
        run: (request) =>
          Effect.sync(() => {
            requests.push(request)
            return { code: 0, signal: null }
          })
      }),
      Effect.provide(world.context)
    )
    return { world, request: requests[0]! }
  })

describe("a status", () => {
  const prints = (output: string, code: number) => `cat <<'E' >&2\n${output}\nE\nexit ${code}`
  const signedIn = (method: string) =>
    JSON.stringify({ loggedIn: true, authMethod: method, email: "me@example.org", apiKeySource: "ANTHROPIC_API_KEY" })

  it.scopedLive("is what the agent's own command says, without the account and the key", () =>
    Effect.gen(function* () {
      const rows = [
        [claude, signedIn("claude.ai"), 0, { isSignedIn: true, how: "a claude.ai account" }],
        [claude, signedIn("api_key"), 0, { isSignedIn: true, how: "an API key" }],
        [claude, signedIn("me@example.org"), 0, { isSignedIn: true }],
        [claude, signedIn("constructor"), 0, { isSignedIn: true }],
        [claude, "Logged in as me@example.org", 0, { isSignedIn: true }],
        [claude, '{"loggedIn":false}', 1, { isSignedIn: false }],
        [codex, "Logged in using ChatGPT", 0, { isSignedIn: true, how: "a ChatGPT account" }],
        [codex, "API key configured - sk-fake-***56789\nmore", 0, { isSignedIn: true, how: "an API key" }],
        [codex, "Logged in as me@example.org with sk-1", 0, { isSignedIn: true }],
        [codex, "Not logged in", 1, { isSignedIn: false }]
      ] as const
      for (const [one, output, code, expected] of rows) {
        const status = yield* statusOf(one, { fake: prints(output, code) })
        assert.deepStrictEqual(status, { is: "known", ...expected }, output)
      }
    })
  )

  it.scopedLive("says why where the command cannot tell", () =>
    Effect.gen(function* () {
      const rows: ReadonlyArray<readonly [typeof claude, Options, "missing" | "unknown", string]> = [
        [codex, { fake: prints("Error checking login status: failed for me@x: sk-1", 1) }, "unknown", "exit code 1"],
        [claude, { fake: "kill -KILL $$" }, "unknown", "SIGKILL"],
        [claude, { fake: "exit 2" }, "unknown", "exit code 2"],
        [claude, { settings: { claude: { args: ["/no/such/script"] } } }, "unknown", "exit code 127"],
        [claude, { settings: { claude: { command: "/no/such" } } }, "missing", "/no/such"],
        [pi, { settings: { pi: { command: "no-such-pi" } } }, "missing", "no-such-pi"]
      ]
      for (const [one, options, is, why] of rows) {
        const status = yield* statusOf(one, options)
        assert.strictEqual(status.is, is)
        if (status.is === "known") return assert.fail(why)
        assert.include(status.why, why)
        assert.notMatch(status.why, /sk-1|me@x|\n/)
      }
    })
  )

  it.scopedLive("is asked for in the private world, away from any project", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld({
        fake: 'echo "$@|$PWD|$(pwd -P)|$HOME|$SCV_DELEGATION_DEPTH|$OPENAI_API_KEY" > "$WORLD/seen"',
        environment: { OPENAI_API_KEY: "sk-1", SCV_DELEGATION_DEPTH: "1" }
      })
      yield* SignIn.status(codex).pipe(Effect.provide(world.context))
      assert.strictEqual(fs.readFileSync(world.at("seen"), "utf8"), `login status|/|/|${world.home("codex")}|2|\n`)
    })
  )

  it.scopedLive("of pi is what its file says, which names providers and shows no key", () =>
    Effect.gen(function* () {
      const world = yield* makeWorld()
      const status = SignIn.status(pi).pipe(Effect.provide(world.context))
      const file = path.join(world.home("pi"), ".pi/agent/auth.json")
      const signedOut = { is: "known", isSignedIn: false } as const
      assert.deepStrictEqual(yield* status, signedOut)
      for (const [content, expected] of [
        ["{}", signedOut],
        ["[]", signedOut],
        ["broken {", signedOut],
        ['{"a":{"key":"sk-1"}}', { is: "known", isSignedIn: true, how: "1 provider" }],
        ['{"a":{"key":"sk-1"},"b":{}}', { is: "known", isSignedIn: true, how: "2 providers" }]
      ] as const) {
        fs.writeFileSync(file, content)
        assert.deepStrictEqual(yield* status, expected, content)
      }
      // What pi put in the file's place is not followed outside, and does not hold anything up.
      fs.rmSync(file)
      fs.writeFileSync(world.at("auth.json"), '{"a":1}')
      fs.symlinkSync(world.at("auth.json"), file)
      assert.strictEqual((yield* status).is, "unknown")
      fs.rmSync(file)
      fs.mkdirSync(file)
      assert.strictEqual((yield* status).is, "unknown")
    })
  )
})

describe("a sign-in", () => {
  it.scopedLive("runs the agent's own command with what is added, from a neutral directory", () =>
    Effect.gen(function* () {
      const fake = (name: string) => path.basename(name) === "fake.sh"
      const rows = [
        [claude, "login", [], ["auth", "login"]],
        [claude, "logout", [], ["auth", "logout"]],
        [codex, "login", ["--device-auth"], ["login", "--device-auth"]],
        [codex, "login", ["--", "a b", ""], ["login", "--", "a b", ""]],
        [codex, "logout", [], ["logout"]],
        [pi, "login", [], []],
        [pi, "logout", [], []]
      ] as const
      for (const [one, what, extra, expected] of rows) {
        const { request, world } = yield* requestOf(one, what, extra)
        const [script = "", ...args] = request.args
        assert.isTrue(fake(script))
        assert.deepStrictEqual(args, [...expected])
        assert.strictEqual(request.program, "/bin/bash")
        assert.strictEqual(request.cwd, "/")
        assert.deepInclude(request.environment, {
          HOME: world.home(one.name),
          SCV_HOME: world.home(one.name),
          PWD: "/"
        })
        assert.isTrue(fs.statSync(request.environment.TMPDIR!).isDirectory())
      }
    })
  )

  it.scopedLive("keeps of configured arguments what leads to the program", () =>
    Effect.gen(function* () {
      const rows = [
        [claude, ["-p"], []],
        [claude, ["--print", "--verbose"], []],
        [claude, ["--settings", "x", "-p", "--verbose"], ["--settings", "x"]],
        [claude, ["cli.js"], ["cli.js"]],
        [claude, [], []],
        [claude, ["-y", "@x/claude", "-p"], ["-y", "@x/claude"]],
        [codex, ["exec", "--skip-git-repo-check"], []],
        [codex, ["codex.js", "e"], ["codex.js"]],
        [codex, ["exec", "-i", "box", "codex", "exec", "--json"], ["exec", "-i", "box", "codex"]],
        [pi, ["-p", "@x/pi", "pi", "-p", "--no-tools"], ["-p", "@x/pi", "pi"]]
      ] as const
      for (const [one, args, expected] of rows) {
        const { request } = yield* requestOf(one, "logout", [], { settings: { [one.name]: { args } } })
        const { signIn } = one
        assert.deepStrictEqual(request.args, [...expected, ...signIn.logout.args], args.join(" "))
      }
    })
  )

  it.scopedLive("is as deep as whoever asks for it", () =>
    Effect.gen(function* () {
      const { request } = yield* requestOf(pi, "login", ["-p", "go"], { environment: { SCV_DELEGATION_DEPTH: "2" } })
      assert.deepInclude(request.environment, { SCV_DELEGATION_DEPTH: "3", SCV_DELEGATION_CEILING: "2" })
    })
  )
})
