import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it, vi } from "@effect/vitest"
import { agents, type ImportReport, SignIn } from "@scv/agents"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import { makeWorld, type Options } from "./support/world.ts"

// Each starts many programs, on a machine that may do much else.
vi.setConfig({ testTimeout: 120_000 })

const codex = agents.find(({ name }) => name === "codex")!

const importer = codex.importer!

/** A setup to copy from, and the private home that it is copied to. */
const makeSetup = (options?: Options) =>
  Effect.gen(function* () {
    const { at, context, home } = yield* makeWorld(options)
    const source = at("setup")
    fs.mkdirSync(source)
    const target = (name = "") => path.join(home("codex"), name)
    return {
      at,
      source,
      target,
      /** Puts a file there; undefined removes it. */
      give: (name: string, content: string | Uint8Array | undefined) => {
        fs.rmSync(path.join(source, name), { recursive: true, force: true })
        if (content !== undefined) fs.writeFileSync(path.join(source, name), content)
      },
      copied: (name: string) => (fs.existsSync(target(name)) ? fs.readFileSync(target(name), "utf8") : undefined),
      copy: (from = source) => Effect.either(SignIn.importInto(codex, importer, from).pipe(Effect.provide(context)))
    }
  })

const textOf = (result: Either.Either<ImportReport, { readonly message: string }>): string =>
  Either.match(result, {
    onLeft: ({ message }) => message,
    onRight: ({ copied, notes }) => [...copied.flatMap(({ file, what }) => [file, what]), ...notes].join("\n")
  })

/** What of a directory a copy could have changed. */
const stateOf = (directory: string) =>
  fs
    .readdirSync(directory)
    .sort()
    .map((name) => {
      const stat = fs.lstatSync(path.join(directory, name))
      const content = stat.isFile() ? fs.readFileSync(path.join(directory, name), "latin1") : ""
      return [name, stat.mode, stat.mtimeMs, stat.ctimeMs, content]
    })

const relay = `# stays
model = "relay-model"
model_provider = "relay"
model_reasoning_effort = "high"
sandbox_mode = "workspace-write"
approval_policy = "never"

[model_providers.relay]
base_url = "http://user:SECRET@127.0.0.1:9/v1"
experimental_bearer_token = "SECRET"
http_headers = { X = "SECRET" }

[mcp_servers.x.env]
KEY = "SECRET"

[projects."/home/SECRET"]
trust_level = "trusted"
`

describe("an import of Codex", () => {
  it.scopedLive("copies the configuration whole and a key, for nobody else to read, and tells what it is", () =>
    Effect.gen(function* () {
      const { copied, copy, give, source, target } = yield* makeSetup()
      give("config.toml", relay)
      give("auth.json", '{"OPENAI_API_KEY":"SECRET"}')
      give("history.jsonl", "SECRET")
      fs.mkdirSync(path.join(source, "skills"))
      const before = stateOf(source)
      const report = yield* copy()
      assert.deepStrictEqual(Either.getOrThrow(report), {
        copied: [
          {
            file: "config.toml",
            what:
              "model relay-model, provider relay, reasoning effort high, sandbox_mode workspace-write, " +
              "approval_policy never, 1 trusted project"
          },
          { file: "auth.json", what: "an API key" }
        ],
        notes: []
      })
      assert.strictEqual(copied("config.toml"), relay)
      assert.strictEqual(copied("auth.json"), '{"OPENAI_API_KEY":"SECRET"}')
      for (const name of ["config.toml", "auth.json"])
        assert.strictEqual(fs.statSync(target(name)).mode & 0o7777, 0o600)
      assert.strictEqual(fs.statSync(target()).mode & 0o7777, 0o700)
      const names = fs.readdirSync(target()).filter((name) => !fs.statSync(target(name)).isDirectory())
      assert.deepStrictEqual(names.sort(), ["auth.json", "config.toml"])
      assert.deepStrictEqual(stateOf(source), before)
    })
  )

  it.scopedLive("takes from auth.json a key alone, and never a sign-in", () =>
    Effect.gen(function* () {
      const { copied, copy, give, target } = yield* makeSetup()
      const fresh = '{\n  "auth_mode": "apikey",\n  "OPENAI_API_KEY": "sk-1"\n}\n'
      const tokens = { access_token: "SECRET", refresh_token: "SECRET", account_id: "SECRET" }
      const text = JSON.stringify
      const rows: ReadonlyArray<readonly [auth: string, expected: string | "sign-in" | "nothing"]> = [
        [text({ OPENAI_API_KEY: "sk-1" }), "same"],
        ['{\n  "auth_mode" : "apikey",\n\t"OPENAI_API_KEY": "sk-1"\n}', "same"],
        [text({ auth_mode: "apikey", OPENAI_API_KEY: "sk-1", tokens: null, last_refresh: null }), "same"],
        [text({ OPENAI_API_KEY: "sk-1", tokens }), fresh],
        [text({ auth_mode: "apikey", OPENAI_API_KEY: "sk-1", tokens, last_refresh: "2026" }), fresh],
        [text({ auth_mode: null, OPENAI_API_KEY: "sk-1", agent_identity: "SECRET" }), fresh],
        ['{"tokens":"SECRET","OPENAI_API_KEY":"sk-1","tokens":null}', fresh],
        ['{"OPENAI_API_KEY":"SECRET","OPENAI_API_KEY":"sk-1"}', fresh],
        ['{"OPENAI_API_KEY":"sk\\u002d1"}', fresh],
        [text({ OPENAI_API_KEY: '\\ " '.repeat(170_000) }), "same"],
        [text({ auth_mode: "chatgpt", OPENAI_API_KEY: "SECRET", tokens }), "sign-in"],
        [text({ auth_mode: "chatgpt", OPENAI_API_KEY: "SECRET" }), "sign-in"],
        [text({ auth_mode: "chatgptAuthTokens", OPENAI_API_KEY: "SECRET", tokens }), "sign-in"],
        [text({ OPENAI_API_KEY: null, tokens }), "sign-in"],
        [text({ tokens }), "sign-in"],
        [text({ auth_mode: "personalAccessToken", personal_access_token: "SECRET" }), "nothing"],
        [text({ auth_mode: "other", OPENAI_API_KEY: "SECRET" }), "nothing"],
        [text({ auth_mode: "apikey", OPENAI_API_KEY: null }), "nothing"],
        [text({ OPENAI_API_KEY: "" }), "nothing"],
        ["{}", "nothing"]
      ]
      for (const [auth, expected] of rows) {
        give("auth.json", auth)
        give("config.toml", "")
        fs.rmSync(target("auth.json"), { force: true })
        const result = yield* copy()
        assert.isTrue(Either.isRight(result), auth)
        assert.notInclude(textOf(result), "SECRET", auth)
        if (expected === "sign-in" || expected === "nothing") {
          assert.isUndefined(copied("auth.json"), auth)
          const words = expected === "sign-in" ? "scv agents login codex" : "it holds no API key"
          assert.include(textOf(result), words, auth)
        } else {
          assert.strictEqual(copied("auth.json"), expected === "same" ? auth : expected, auth)
        }
      }
    })
  )

  it.scopedLive("writes nothing where either file is no good, and tells nothing of what is in it", () =>
    Effect.gen(function* () {
      const { copied, copy, give, source } = yield* makeSetup()
      const good = { "config.toml": 'model = "new"\n', "auth.json": '{"OPENAI_API_KEY":"sk-2"}' }
      give("config.toml", 'model = "old"\n')
      give("auth.json", '{"OPENAI_API_KEY":"sk-1"}')
      yield* copy()
      const fifo = (name: string) => () => {
        give(name, undefined)
        execFileSync("mkfifo", [path.join(source, name)])
      }
      const link = (name: string, target: string) => () => {
        give(name, undefined)
        fs.symlinkSync(target, path.join(source, name))
      }
      const content = (name: string, bytes: string | Uint8Array) => () => give(name, bytes)
      const rows: ReadonlyArray<readonly [file: keyof typeof good, place: () => void, why: RegExp]> = [
        ["config.toml", content("config.toml", 'a = 1\nkey = "SECRET'), /line 2 is not valid TOML/],
        ["config.toml", content("config.toml", "SECRET"), /not valid TOML/],
        ["config.toml", content("config.toml", `a = ${"[".repeat(100_000)}`), /not valid TOML/],
        ["config.toml", content("config.toml", 'a = "SECRET"\na = 1'), /not valid TOML/],
        ["config.toml", content("config.toml", Buffer.of(0x61, 0xff)), /not UTF-8/],
        ["config.toml", content("config.toml", `# ${"x".repeat(1_048_575)}`), /larger than 1048576 bytes/],
        ["config.toml", fifo("config.toml"), /FIFO/],
        ["config.toml", link("config.toml", "/dev/zero"), /device/],
        ["config.toml", link("config.toml", "config.toml"), /links/],
        ["auth.json", content("auth.json", '{"OPENAI_API_KEY":"SECRET"'), /not valid JSON/],
        ["auth.json", content("auth.json", "SECRET"), /not valid JSON/],
        ["auth.json", content("auth.json", ""), /not valid JSON/],
        ["auth.json", content("auth.json", '"SECRET"'), /expected a JSON object/],
        ["auth.json", content("auth.json", '["SECRET"]'), /expected a JSON object/],
        ["auth.json", content("auth.json", "null"), /expected a JSON object/],
        ["auth.json", content("auth.json", '{"OPENAI_API_KEY":{"a":"SECRET"}}'), /OPENAI_API_KEY is not a string/],
        ["auth.json", content("auth.json", "[".repeat(1_000_000)), /not valid JSON/],
        ["auth.json", content("auth.json", `"${"x".repeat(1_048_576)}"`), /larger than/],
        ["auth.json", fifo("auth.json"), /FIFO/]
      ]
      for (const [file, place, why] of rows) {
        for (const [name, text] of Object.entries(good)) give(name, text)
        place()
        const result = yield* copy()
        const said = textOf(result).slice(0, 300)
        assert.isTrue(Either.isLeft(result), said)
        assert.match(said, why)
        assert.include(said, file)
        assert.notMatch(said, /SECRET|\n/)
        assert.strictEqual(copied("config.toml"), 'model = "old"\n', said)
        assert.strictEqual(copied("auth.json"), '{"OPENAI_API_KEY":"sk-1"}', said)
      }
    })
  )

  it.scopedLive("copies what there is, through links of the user's own, and says what is not there", () =>
    Effect.gen(function* () {
      const { at, copied, copy, give, source } = yield* makeSetup()
      for (const from of [source, at("none"), at("fake.sh"), "/dev/null"]) {
        const result = yield* copy(from)
        assert.isTrue(Either.isLeft(result), from)
        assert.include(textOf(result), from)
      }
      give("auth.json", '{"OPENAI_API_KEY":"sk-1"}')
      assert.include(textOf(yield* copy()), "there is no config.toml to copy")
      assert.isDefined(copied("auth.json"))
      fs.writeFileSync(at("dotfiles.toml"), "\ufeffmodel = 'x'\r\n")
      fs.symlinkSync(at("dotfiles.toml"), path.join(source, "config.toml"))
      fs.symlinkSync(source, at("link"))
      assert.include(textOf(yield* copy(at("link"))), "model x")
      assert.strictEqual(copied("config.toml"), "\ufeffmodel = 'x'\r\n")
    })
  )

  it.scopedLive("replaces what is in its place, follows no link of the agent's, and keeps both files or none", () =>
    Effect.gen(function* () {
      const { at, copied, copy, give, target } = yield* makeSetup()
      give("config.toml", 'model = "new"\n')
      give("auth.json", '{"OPENAI_API_KEY":"sk-1"}')
      fs.mkdirSync(target(), { recursive: true })
      fs.writeFileSync(at("victim"), "victim")
      const places: ReadonlyArray<(name: string) => void> = [
        (name) => fs.writeFileSync(target(name), "old", { mode: 0o644 }),
        (name) => fs.writeFileSync(target(name), "old", { mode: 0o400 }),
        (name) => fs.symlinkSync(at("victim"), target(name)),
        (name) => fs.symlinkSync(at("missing"), target(name)),
        (name) => fs.symlinkSync("missing", target(name)),
        (name) => fs.symlinkSync(name, target(name)),
        (name) => fs.linkSync(at("victim"), target(name)),
        (name) => execFileSync("mkfifo", [target(name)])
      ]
      for (const [index, place] of places.entries()) {
        for (const name of ["config.toml", "auth.json"]) {
          fs.rmSync(target(name), { force: true })
          place(name)
        }
        const result = yield* copy()
        assert.isTrue(Either.isRight(result), `${index}: ${textOf(result)}`)
        for (const name of ["config.toml", "auth.json"]) {
          const stat = fs.lstatSync(target(name))
          assert.deepStrictEqual([stat.isFile(), stat.mode & 0o7777, stat.nlink], [true, 0o600, 1], `${index} ${name}`)
        }
        assert.strictEqual(copied("config.toml"), 'model = "new"\n')
      }
      assert.strictEqual(fs.readFileSync(at("victim"), "utf8"), "victim")
      assert.isFalse(fs.existsSync(at("missing")))

      fs.rmSync(target("auth.json"))
      fs.mkdirSync(target("auth.json"))
      give("config.toml", 'model = "newer"\n')
      const refused = yield* copy()
      assert.isTrue(Either.isLeft(refused))
      assert.include(textOf(refused), "auth.json")
      assert.strictEqual(copied("config.toml"), 'model = "new"\n')
      assert.deepStrictEqual(
        fs.readdirSync(target()).filter((name) => name.startsWith(".scv")),
        []
      )
    })
  )

  it.scopedLive("is not from the private home to itself, by any name", () =>
    Effect.gen(function* () {
      const { at, copied, copy, give, target } = yield* makeSetup()
      give("config.toml", "model = 'x'\n")
      yield* copy()
      fs.symlinkSync(target(), at("link"))
      for (const from of [target(), at("link"), `${target()}/./`]) {
        const result = yield* copy(from)
        assert.isTrue(Either.isLeft(result), from)
        assert.include(textOf(result), "private home itself")
      }
      assert.strictEqual(copied("config.toml"), "model = 'x'\n")
    })
  )

  it.scopedLive("says what will not work in the private home", () =>
    Effect.gen(function* () {
      const { copy, give } = yield* makeSetup()
      const rows = [
        ['[model_providers.r]\nenv_key = "RELAY_KEY"', ["provider r", "RELAY_KEY"]],
        ['[model_providers.r.env_http_headers]\nX = "RELAY_HEADER"', ["provider r", "RELAY_HEADER"]],
        ['cli_auth_credentials_store = "keyring"', ["cli_auth_credentials_store is keyring"]],
        ['cli_auth_credentials_store = "ephemeral"', ["cli_auth_credentials_store is ephemeral"]],
        ['cli_auth_credentials_store = "other"', ['cli_auth_credentials_store is not "file"']],
        ['forced_login_method = "chatgpt"', ["forced_login_method"]],
        ['cli_auth_credentials_store = "file"\n[model_providers.r]\nrequires_openai_auth = true', []]
      ] as const
      for (const [config, words] of rows) {
        give("config.toml", config)
        const { notes } = Either.getOrThrow(yield* copy())
        assert.strictEqual(notes.length, words.length === 0 ? 0 : 1, config)
        for (const word of words) assert.include(notes[0] ?? "", word)
      }
    })
  )

  it.scopedLive("tells the model and the policies of the profile in force", () =>
    Effect.gen(function* () {
      const { copy, give } = yield* makeSetup()
      const profiles = '[profiles.fast]\nmodel = "small"\napproval_policy = { granular = { a = "SECRET" } }\n'
      give("config.toml", `profile = "fast"\nmodel = "large"\nsandbox_mode = "read-only"\n${profiles}`)
      const { copied } = Either.getOrThrow(yield* copy())
      assert.deepStrictEqual(copied, [
        {
          file: "config.toml",
          what: "profile fast, model small, sandbox_mode read-only, approval_policy (as configured)"
        }
      ])
      give("config.toml", "")
      assert.include(textOf(yield* copy()), "names no model, provider or policy")
    })
  )

  it.scopedLive("never tells a key, a token or a text of a file, and makes what it tells safe to show", () =>
    Effect.gen(function* () {
      const { copied, copy, give, source } = yield* makeSetup()
      const secret = FastCheck.string({ minLength: 8, maxLength: 20, unit: "grapheme-ascii" }).map(
        (text) => `sEcReT${text}`
      )
      const quoted = secret.map((text) => JSON.stringify(text))
      const keyed = FastCheck.tuple(
        FastCheck.constantFrom(
          "experimental_bearer_token",
          "env_key",
          "model_providers.r.env_key",
          "model_providers.r.experimental_bearer_token",
          "model_providers.r.http_headers.X",
          "model_providers.r.env_http_headers.X",
          "model_providers.r.base_url",
          "mcp_servers.m.env.KEY",
          "notify",
          "forced_login_method",
          "cli_auth_credentials_store",
          "model.x",
          "model_provider",
          "approval_policy.x"
        ),
        FastCheck.oneof(quoted, FastCheck.constantFrom("1", "true", "[1]"))
      )
      // A name of a provider is told; every other value here is none that should be.
      const line = FastCheck.oneof(
        {
          arbitrary: keyed.map(([key, value]) => `${key} = ${key === "model_provider" ? '"r\\u001b\\u202e"' : value}`),
          weight: 12
        },
        { arbitrary: secret, weight: 1 },
        { arbitrary: quoted.map((text) => `broken = ${text.slice(0, -1)}`), weight: 1 }
      )
      const auth = FastCheck.oneof(
        FastCheck.record(
          {
            OPENAI_API_KEY: FastCheck.oneof(secret, FastCheck.constant(null), FastCheck.array(secret)),
            auth_mode: FastCheck.constantFrom("apikey", "chatgpt", "other", null),
            tokens: FastCheck.oneof(FastCheck.constant(null), FastCheck.record({ refresh_token: secret }), secret)
          },
          { requiredKeys: [] }
        ).map((value) => JSON.stringify(value)),
        FastCheck.oneof(quoted, secret)
      )
      const sample = FastCheck.tuple(FastCheck.array(line, { maxLength: 3 }), auth)
      const ended = { copied: 0, refused: 0 }
      for (const [lines, json] of FastCheck.sample(sample, 300)) {
        give("config.toml", lines.join("\n"))
        give("auth.json", json)
        const had = [copied("config.toml"), copied("auth.json")]
        const before = stateOf(source)
        const result = yield* copy()
        const said = textOf(result)
        assert.notMatch(said, /sEcReT/i, JSON.stringify([lines, json]).slice(0, 300))
        assert.notMatch(said, /[\u001b\u202e]/)
        assert.deepStrictEqual(stateOf(source), before)
        if (Either.isLeft(result)) {
          ended.refused++
          assert.notInclude(said, "\n")
          assert.deepStrictEqual([copied("config.toml"), copied("auth.json")], had)
        } else {
          ended.copied++
          assert.strictEqual(copied("config.toml"), lines.join("\n"))
          assert.notMatch(copied("auth.json") ?? "", /refresh_token/)
        }
      }
      assert.isAbove(ended.copied, 20)
      assert.isAbove(ended.refused, 20)
    })
  )

  it.scopedLive("says so where a sign-in from before stays", () =>
    Effect.gen(function* () {
      const { copied, copy, give } = yield* makeSetup()
      const stays = /keeps the auth\.json that it has/
      give("config.toml", relay)
      assert.notMatch(textOf(yield* copy()), stays)
      give("auth.json", '{"OPENAI_API_KEY":"sk-1"}')
      assert.notMatch(textOf(yield* copy()), stays)
      for (const auth of ['{"tokens":{"a":"b"}}', "{}", undefined]) {
        give("auth.json", auth)
        assert.match(textOf(yield* copy()), stays)
        assert.strictEqual(copied("auth.json"), '{"OPENAI_API_KEY":"sk-1"}')
      }
    })
  )

  it.scopedLive("needs no umask", () =>
    Effect.gen(function* () {
      const { copied, copy, give, target } = yield* makeSetup()
      give("config.toml", relay)
      give("auth.json", '{"OPENAI_API_KEY":"sk-1"}')
      for (const umask of [0o000, 0o022, 0o077, 0o777]) {
        fs.rmSync(target(), { recursive: true, force: true })
        const before = process.umask(umask)
        const result = yield* Effect.ensuring(
          copy(),
          Effect.sync(() => process.umask(before))
        )
        assert.isTrue(Either.isRight(result))
        assert.strictEqual(copied("config.toml"), relay)
        for (const [name, mode] of [
          ["", 0o700],
          ["tmp", 0o700],
          [".local/share", 0o700],
          ["config.toml", 0o600],
          ["auth.json", 0o600]
        ] as const) {
          assert.strictEqual(fs.statSync(target(name)).mode & 0o7777, mode, `${umask.toString(8)} ${name}`)
        }
      }
    })
  )

  it.effect("is from where Codex looks", () =>
    Effect.sync(() => {
      assert.strictEqual(importer.source({}, "/home/u"), "/home/u/.codex")
      assert.strictEqual(importer.source({ CODEX_HOME: "" }, "/home/u"), "/home/u/.codex")
      assert.strictEqual(importer.source({ CODEX_HOME: "/x" }, "/home/u"), "/x")
    })
  )
})
