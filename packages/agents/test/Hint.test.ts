import { assert, describe, it, vi } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { makeWorld } from "./support/world.ts"

// Each starts many programs, on a machine that may do much else.
vi.setConfig({ testTimeout: 120_000 })

/** What the command lines print, and on which stream. Measured, but for those of an expired sign-in. */
const missing = [
  ["claude", 1, "Not logged in \u00b7 Please run /login"],
  ["claude", 1, "Invalid API key \u00b7 Fix external API key"],
  [
    "claude",
    1,
    '{"is_error":true,"subtype":"success","result":"Not logged in \u00b7 Please run /login","type":"result"}'
  ],
  [
    "codex",
    2,
    "ERROR: Reconnecting... 5/5\nERROR: unexpected status 401 Unauthorized: Missing bearer or basic authentication in " +
      "header, url: http://127.0.0.1:18080/v1/responses"
  ],
  ["codex", 2, "ERROR: Missing environment variable: `RELAY_KEY`."],
  [
    "codex",
    2,
    "ERROR: Your access token could not be refreshed because your refresh token has expired. Please log out and sign in " +
      "again."
  ],
  ["codex", 2, "ERROR: Your access token could not be refreshed. Please log out and sign in again."],
  ["codex", 2, "Error checking login status: API key auth is missing a key."],
  ["codex", 2, "Not logged in"],
  [
    "pi",
    2,
    "No API key found for the selected model.\n\nUse /login to log into a provider via OAuth or API key. See:\n  docs/x.md"
  ],
  ["pi", 2, "Warning: No models available. Use /login to log into a provider via OAuth or API key. See:"],
  ["pi", 2, "401 Missing bearer or basic authentication in header"],
  ["pi", 2, '401: {"message":"Missing bearer"}']
] as const

/** What else goes wrong. */
const other = [
  ["claude", "API Error: 500 Internal server error. Try again later."],
  ["claude", "API Error: Request rejected (429) \u00b7 quota"],
  ["claude", "API Error: Connection refused \u2014 check (ECONNREFUSED)"],
  ["claude", "There's an issue with the selected model (x). It may not exist or you may not have access to it."],
  ["codex", "ERROR: Reconnecting... waiting for network"],
  ["codex", "ERROR: exceeded retry limit, last status: 429 Too Many Requests"],
  ["codex", "ERROR: The requested model 'x' does not exist."],
  ["codex", "Error loading config.toml: reasoning_effort must not be empty"],
  ["pi", "429 Rate limit reached"],
  ["pi", "500 oh"],
  ["pi", 'Error: Model "nope/none" not found. Use --list-models to see available models.'],
  ["pi", "Connection error."],
  ["pi", "4010 things"]
] as const

const untrusted = "Not inside a trusted directory and --skip-git-repo-check was not specified."

/** A fake whose prompt says what it does: exit code, stream and text. */
const speaks = `
  prompt=\${!#}; code=\${prompt%% *}; rest=\${prompt#* }; stream=\${rest%% *}; text=\${rest#* }
  printf '%b' "$text" >&$stream
  [[ $code == kill ]] && kill -TERM $$
  exit "$code"`

const world = makeWorld({ fake: speaks })

const escaped = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")

describe("a hint", () => {
  it.scopedLive("says how to sign in where a failed run says that it could not, on either stream", () =>
    Effect.gen(function* () {
      const { call } = yield* world
      for (const [name, stream, text] of missing) {
        for (const on of new Set([stream, 1, 2])) {
          const { exit_code, hint, output } = yield* call(name, { prompt: `1 ${on} ${escaped(`${text}\n`)}` })
          assert.strictEqual(exit_code, 1)
          assert.strictEqual(output, `${text}\n`)
          assert.include(String(hint), `scv agents login ${name}`, text)
        }
      }
    })
  )

  it.scopedLive("is not given to a run that did well, or was killed, whatever it says", () =>
    Effect.gen(function* () {
      const { call } = yield* world
      for (const [name, stream, text] of [...missing, ["codex", 2, untrusted] as const]) {
        for (const [code, status] of [
          ["0", "completed"],
          ["kill", "failed"]
        ] as const) {
          const result = yield* call(name, { prompt: `${code} ${stream} ${escaped(text)}` })
          assert.deepInclude(result, { status, output: text }, text)
          assert.notProperty(result, "hint", text)
        }
      }
    })
  )

  it.scopedLive("is not given for other failures", () =>
    Effect.gen(function* () {
      const { call } = yield* world
      for (const [name, text] of other) {
        const result = yield* call(name, { prompt: `1 2 ${escaped(text)}` })
        assert.deepInclude(result, { status: "failed", output: text }, text)
        assert.notProperty(result, "hint", text)
      }
    })
  )

  it.scopedLive("sees through colours and links, and after a long banner", () =>
    Effect.gen(function* () {
      const { call } = yield* world
      const texts = [
        ["claude", "\\e[31mNot \\e[1;38;5;9mlogged\\e[0m in\\e[K"],
        ["claude", "Please run \\e]8;;http://x\\e\\\\/login\\e]8;;\\a"],
        ["codex", "\\e[31mERROR\\e[0m: unexpected status 401 \\e[4mUnauthorized\\e[0m: x"],
        ["pi", "\\e[31m401 \\e[0mMissing"],
        ["codex", `${"transcript\\n".repeat(2000)}Not logged in`]
      ] as const
      for (const [name, text] of texts) {
        const { hint } = yield* call(name, { prompt: `1 2 ${text}` })
        assert.include(String(hint), `scv agents login ${name}`, text.slice(0, 80))
      }
    })
  )

  it.scopedLive("names the argument by which Codex runs outside a repository, and does not send to a sign-in", () =>
    Effect.gen(function* () {
      const { call } = yield* world
      const { hint } = yield* call("codex", { prompt: `1 2 ${untrusted}` })
      assert.include(String(hint), 'args = ["exec", "--skip-git-repo-check"]')
      assert.include(String(hint), "[agents.codex]")
      assert.notInclude(String(hint), "login")
      assert.notProperty(yield* call("claude", { prompt: `1 2 ${untrusted}` }), "hint")
    })
  )

  it.scopedLive("stands beside one of the lifecycle", () =>
    Effect.gen(function* () {
      const { call } = yield* makeWorld({ fake: "sleep 300 & echo Not logged in; exit 1" })
      const { hint } = yield* call("claude", { prompt: "go" })
      assert.match(String(hint), /scv agents login claude; background processes were ended/)
    })
  )
})
