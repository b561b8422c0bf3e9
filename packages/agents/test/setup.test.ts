import { assert, describe, it } from "@effect/vitest"
import { agents } from "../src/agents.ts"

const stateOf = (name: string, content: string) => {
  const setup = agents.find((agent) => agent.name === name)?.signIn.setup
  assert.isDefined(setup)
  return setup.read(content)
}

const signedOut = { isSignedIn: false }

describe("a credential that a user sets up", () => {
  const relay = (credential: string) =>
    `model_provider = "relay"\n[model_providers.relay]\nbase_url = "http://127.0.0.1/v1"\n${credential}\n`

  it("is the token of Codex's provider in use", () => {
    const how = "a token in config.toml"
    assert.deepEqual(stateOf("codex", relay('experimental_bearer_token = "t"')), { isSignedIn: true, how })
    assert.deepEqual(stateOf("codex", `\uFEFF${relay('experimental_bearer_token = "t"')}`), { isSignedIn: true, how })
  })

  it("is the command of Codex's provider in use", () => {
    const how = "a command in config.toml"
    assert.deepEqual(stateOf("codex", relay('auth = { command = "print-token" }')), { isSignedIn: true, how })
  })

  it.each([
    ["nothing", ""],
    ["no TOML", "model_provider = "],
    ["no provider", 'model_provider = "relay"\n'],
    ["a provider that takes the sign-in's", relay("requires_openai_auth = true")],
    ["an empty token", relay('experimental_bearer_token = ""')],
    ["a token that is no text", relay("experimental_bearer_token = 1")],
    ["another provider's token", `${relay("")}[model_providers.other]\nexperimental_bearer_token = "t"\n`],
    ["a provider by the name of what all objects have", 'model_provider = "constructor"\n[model_providers.other]\n']
  ])("is not there for Codex in %s", (_, content) => {
    assert.deepEqual(stateOf("codex", content), signedOut)
  })

  it("is the key of one of pi's providers", () => {
    const content = JSON.stringify({ providers: { local: { baseUrl: "http://127.0.0.1" }, relay: { apiKey: "k" } } })
    assert.deepEqual(stateOf("pi", content), { isSignedIn: true, how: "a key in models.json" })
  })

  it.each([
    "",
    "{",
    "[]",
    "{}",
    '{"providers":null}',
    '{"providers":{"relay":null}}',
    '{"providers":{"relay":{"apiKey":""}}}'
  ])("is not there for pi in %s", (content) => {
    assert.deepEqual(stateOf("pi", content), signedOut)
  })
})
