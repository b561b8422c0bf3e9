/**
 * The agents that SCV can delegate to, one entry each. Source: spec, "Native agent adapters"; the texts and files are
 * those of Claude Code 2.1, Codex 0.171 and pi 0.73 to 1.6.
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { type Agent, effortPlaceholder, modelPlaceholder, type SignInState } from "./Agent.ts"
import { stateOf } from "./codexConfig.ts"
import { codexImporter } from "./codexImporter.ts"

const json = Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown }))

const objectOf = (text: string): Readonly<Record<string, unknown>> =>
  Either.getOrElse(Schema.decodeUnknownEither(json)(text), () => ({}))

/** Words of a report that say how an agent is signed in, never who. */
const ways: Readonly<Record<string, string>> = {
  "claude.ai": "a claude.ai account",
  oauth_token: "a token",
  api_key: "an API key",
  api_key_helper: "a helper that prints a key"
}

const claude: Agent = {
  name: "claude",
  title: "Claude Code",
  command: "claude",
  args: ["-p"],
  aliases: ["--print"],
  modelArgs: ["--model", modelPlaceholder],
  effortArgs: ["--effort", effortPlaceholder],
  directories: {},
  misreads: () => undefined,
  obeys: [".claude/settings.json", ".claude/settings.local.json", ".mcp.json"],
  signIn: {
    login: { args: ["auth", "login"] },
    logout: { args: ["auth", "logout"] },
    status: {
      args: ["auth", "status"],
      how: (output) => {
        const { authMethod } = objectOf(output)
        return typeof authMethod === "string" && Object.hasOwn(ways, authMethod) ? ways[authMethod] : undefined
      }
    },
    missing: [/Not logged in/, /Invalid API key/, /Please run \/login/]
  },
  remedies: []
}

// `codex exec` has subcommands of its own: a prompt that is one of these words alone would run it.
const codexCommands = ["help", "resume", "fork", "review"]

const codex: Agent = {
  name: "codex",
  title: "Codex",
  command: "codex",
  args: ["exec"],
  aliases: ["e"],
  modelArgs: ["-m", modelPlaceholder],
  effortArgs: ["-c", `model_reasoning_effort="${effortPlaceholder}"`],
  directories: { CODEX_HOME: "." },
  misreads: (prompt) =>
    codexCommands.includes(prompt)
      ? `codex takes the single word ${JSON.stringify(prompt)} for a command; say it in a sentence`
      : undefined,
  obeys: [".codex/config.toml"],
  signIn: {
    login: { args: ["login"] },
    logout: { args: ["logout"] },
    status: {
      args: ["login", "status"],
      how: (output) => {
        if (/^Logged in using ChatGPT/m.test(output)) return "a ChatGPT account"
        return /^(?:API key configured|Logged in using an API key)/m.test(output) ? "an API key" : undefined
      },
      broken: /^Error /m
    },
    setup: { file: "config.toml", read: stateOf },
    missing: [
      /401 Unauthorized/,
      /Not logged in/,
      /Please (?:log out and )?sign in again/,
      /Missing environment variable:/,
      /API key auth is missing a key/
    ]
  },
  remedies: [
    {
      pattern: /Not inside a trusted directory/,
      hint:
        'Codex runs only in a git repository; to allow other directories: args = ["exec", "--skip-git-repo-check"] ' +
        "below [agents.codex] in the user's configuration"
    }
  ],
  importer: codexImporter
}

/** pi keeps what it is signed in to in one object, by provider. */
const piState = (content: string): SignInState => {
  const providers = Object.keys(objectOf(content)).length
  return providers === 0
    ? { isSignedIn: false }
    : { isSignedIn: true, how: `${providers} ${providers === 1 ? "provider" : "providers"}` }
}

/** A provider that a user defines brings its key with it. */
const piSetup = (content: string): SignInState => {
  const { providers } = objectOf(content)
  const hasKey = Schema.is(Schema.Struct({ apiKey: Schema.NonEmptyString }))
  return typeof providers === "object" && providers !== null && Object.values(providers).some(hasKey)
    ? { isSignedIn: true, how: "a key in models.json" }
    : { isSignedIn: false }
}

const pi: Agent = {
  name: "pi",
  title: "pi",
  command: "pi",
  args: ["-p"],
  aliases: ["--print"],
  modelArgs: [],
  effortArgs: [],
  directories: { PI_CODING_AGENT_DIR: ".pi/agent" },
  misreads: (prompt) =>
    prompt.startsWith("@")
      ? "cannot begin with `@`, which pi takes for a file to read; put a word before it"
      : undefined,
  obeys: [".pi/extensions", ".pi/settings.json"],
  signIn: {
    login: { args: [], advice: "type /login, and leave with /quit when it is done" },
    logout: { args: [], advice: "type /logout, and leave with /quit when it is done" },
    status: { file: ".pi/agent/auth.json", read: piState },
    setup: { file: ".pi/agent/models.json", read: piSetup },
    missing: [/No API key found/, /No models available/, /Use \/login/, /^401:? /m]
  },
  remedies: []
}

/** All agents, in the order in which they are shown. */
export const agents: ReadonlyArray<Agent> = [claude, codex, pi]
