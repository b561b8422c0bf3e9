/**
 * Copies a Codex setup: `config.toml` whole, and `auth.json` where it holds an API key. Source: spec, "Signing in
 * delegated agents".
 */
import { Directory, Display, PrivateDirectories, Utf8 } from "@scv/core"
import * as Effect from "effect/Effect"
import * as SmolToml from "smol-toml"
import { ImportError, type Importer, type ImportReport } from "./Importer.ts"

/** The most bytes of either file. */
const maxBytes = 1_048_576

/** The deepest nesting of tables and arrays. */
const maxDepth = 64

const fail = (file: string, reason: string): ImportError => new ImportError({ message: `${file}: ${reason}` })

/** A word of the configuration. What is no text is not told: it may hold anything. */
const shown = (value: unknown): string => (typeof value === "string" ? Display.bounded(value, 80) : "(as configured)")

/** The name of a variable, told only where it looks like one: a key may have been put in its place. */
const variableOf = (name: string): string => (/^[A-Z][A-Z0-9_]{0,79}$/.test(name) ? name : "its key")

/** The text of a file, or undefined where there is none. The user's own file may be a link to anywhere. */
const textOf = (root: Directory.Directory, file: string) =>
  root.read(file.replace(/^\/+/, ""), { offset: 0, length: maxBytes + 1 }).pipe(
    Effect.matchEffect({
      onFailure: (error) =>
        error.kind === "not_found" ? Effect.succeed(undefined) : Effect.fail(fail(file, error.detail)),
      onSuccess: ({ bytes }) => {
        if (bytes.length > maxBytes) return Effect.fail(fail(file, `is larger than ${maxBytes} bytes`))
        const text = Utf8.decodeStrict(bytes)
        return text === undefined ? Effect.fail(fail(file, "is not UTF-8 text")) : Effect.succeed(text)
      }
    })
  )

type Table = Readonly<Record<string, unknown>>

const tableOf = (value: unknown): Table =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Table) : {}

/** A parser's own message may quote the text, in which there may be a secret: the line alone is told. */
const parseToml = (file: string, text: string): Effect.Effect<Table, ImportError> =>
  Effect.try({
    try: (): Table => SmolToml.parse(text.replace(/^\uFEFF/, ""), { integersAsBigInt: true, maxDepth }),
    catch: (error) =>
      fail(file, error instanceof SmolToml.TomlError ? `line ${error.line} is not valid TOML` : "is not valid TOML")
  })

/** What of the configuration is worth telling. Source: spec, "SCV reports the model, provider, and policies it copied". */
const factsOf = (config: Table): string => {
  const profile = typeof config.profile === "string" ? tableOf(tableOf(config.profiles)[config.profile]) : {}
  const inForce = { ...config, ...profile }
  const facts = [
    ["profile", inForce.profile],
    ["model", inForce.model],
    ["provider", inForce.model_provider],
    ["reasoning effort", inForce.model_reasoning_effort],
    ["sandbox_mode", inForce.sandbox_mode],
    ["approval_policy", inForce.approval_policy]
  ].flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${shown(value)}`]))
  const trusted = Object.values(tableOf(config.projects)).filter((one) => tableOf(one).trust_level === "trusted").length
  const all = trusted === 0 ? facts : [...facts, `${trusted} trusted ${trusted === 1 ? "project" : "projects"}`]
  return all.length === 0 ? "names no model, provider or policy" : all.join(", ")
}

/** What of the configuration will not work in the private home as it does for the user. */
const warningsOf = (config: Table): ReadonlyArray<string> => {
  const providers = Object.entries(tableOf(config.model_providers))
  const ofProviders = providers.flatMap(([name, value]) => {
    const provider = tableOf(value)
    const variables = [provider.env_key, ...Object.values(tableOf(provider.env_http_headers))]
    return variables.flatMap((variable) =>
      typeof variable === "string"
        ? [
            `provider ${shown(name)} reads ${variableOf(variable)} from the environment: delegated agents do not get ` +
              "provider keys, and a service does not load the shell's profile; use auth.json or " +
              "experimental_bearer_token instead"
          ]
        : []
    )
  })
  const store = config.cli_auth_credentials_store
  const named = ["keyring", "auto", "ephemeral"].find((word) => word === store) ?? 'not "file"'
  return [
    ...ofProviders,
    ...(store === undefined || store === "file"
      ? []
      : [`cli_auth_credentials_store is ${named}: Codex may not read auth.json then; with "file" it does`]),
    ...(config.forced_login_method === "chatgpt"
      ? ["forced_login_method is chatgpt: Codex does not accept an API key then"]
      : [])
  ]
}

/** What an `auth.json` holds: an API key, as a text to write, or a sign-in that must stay where it is. */
type Credential = { readonly kind: "key"; readonly text: string } | { readonly kind: "sign-in" | "nothing" }

/** Why it was not copied. */
const notCopied = {
  "sign-in": "auth.json was not copied: its sign-in to ChatGPT must stay in one home; use: scv agents login codex",
  nothing: "auth.json was not copied: it holds no API key"
}

// What stands between the values of JSON, and strings, in which it stands for itself.
const blanks = /("(?:[^"\\]|\\.)*")|\s+/g

/** Whether a text says nothing but what was read of it: no name twice, of which the first would be lost on us. */
const isPlain = (text: string, value: unknown): boolean => text.replace(blanks, "$1") === JSON.stringify(value)

const parseAuth = (file: string, text: string): Effect.Effect<Credential, ImportError> =>
  Effect.gen(function* () {
    const auth = yield* Effect.try({
      try: (): unknown => JSON.parse(text),
      catch: () => fail(file, "is not valid JSON")
    })
    if (typeof auth !== "object" || auth === null || Array.isArray(auth)) {
      return yield* fail(file, "expected a JSON object")
    }
    const { OPENAI_API_KEY: key, auth_mode: mode, ...rest } = auth as Table
    if (key !== undefined && key !== null && typeof key !== "string") {
      return yield* fail(file, "OPENAI_API_KEY is not a string")
    }
    const isKey = (mode === undefined || mode === null || mode === "apikey") && typeof key === "string" && key !== ""
    if (!isKey) {
      return { kind: Object.keys(tableOf(rest.tokens)).length > 0 || mode === "chatgpt" ? "sign-in" : "nothing" }
    }
    // Whatever lies beside the key, such as the tokens of a sign-in, stays where it is.
    const isAlone = Object.values(rest).every((value) => value === null) && isPlain(text, auth)
    return {
      kind: "key",
      text: isAlone ? text : `${JSON.stringify({ auth_mode: "apikey", OPENAI_API_KEY: key }, null, 2)}\n`
    }
  })

const copy = (from: string, to: string) =>
  Effect.gen(function* () {
    const directories = yield* Directory.Directories
    const source = yield* Effect.mapError(directories.open(from), (error) => fail(from, error.detail))
    const target = yield* directories.open(to)
    if (Directory.isSame(source.identity, target.identity)) {
      return yield* fail(from, "is the agent's private home itself; give the directory to copy from by --from DIR")
    }
    const root = yield* directories.open("/")
    const files = { config: `${source.path}/config.toml`, auth: `${source.path}/auth.json` }
    const configText = yield* textOf(root, files.config)
    const authText = yield* textOf(root, files.auth)
    if (configText === undefined && authText === undefined) {
      return yield* fail(from, "holds no config.toml and no auth.json; give another directory by --from DIR")
    }
    const config = configText === undefined ? undefined : yield* parseToml(files.config, configText)
    const credential: Credential = authText === undefined ? { kind: "nothing" } : yield* parseAuth(files.auth, authText)

    const { put } = yield* PrivateDirectories.PrivateDirectories
    yield* put(to, {
      ...(configText === undefined ? {} : { "config.toml": Utf8.encode(configText) }),
      ...(credential.kind === "key" ? { "auth.json": Utf8.encode(credential.text) } : {})
    })
    const isKeyThere = credential.kind === "key"
    const isOldThere = !isKeyThere && (yield* Effect.isSuccess(target.file("auth.json")))
    return {
      copied: [
        ...(config === undefined ? [] : [{ file: "config.toml", what: factsOf(config) }]),
        ...(isKeyThere ? [{ file: "auth.json", what: "an API key" }] : [])
      ],
      notes: [
        ...(config === undefined ? ["there is no config.toml to copy"] : warningsOf(config)),
        ...(isKeyThere || authText === undefined ? [] : [notCopied[credential.kind]]),
        ...(isOldThere ? ["Codex keeps the auth.json that it has here; to remove it: scv agents logout codex"] : [])
      ]
    } satisfies ImportReport
  }).pipe(Effect.scoped)

/** Imports from `$CODEX_HOME`, by default `~/.codex`. */
export const codexImporter: Importer = {
  source: ({ CODEX_HOME }, userHome) =>
    CODEX_HOME === undefined || CODEX_HOME === "" ? `${userHome}/.codex` : CODEX_HOME,
  copy
}
