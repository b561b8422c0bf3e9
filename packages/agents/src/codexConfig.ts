/** What Codex's `config.toml` says of a credential. */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as SmolToml from "smol-toml"
import type { SignInState } from "./Agent.ts"

const decodeConfig = Schema.decodeUnknownOption(
  Schema.Struct({
    model_provider: Schema.String,
    model_providers: Schema.Record({ key: Schema.String, value: Schema.Unknown })
  })
)

const hasToken = Schema.is(Schema.Struct({ experimental_bearer_token: Schema.NonEmptyString }))

const hasCommand = Schema.is(Schema.Struct({ auth: Schema.Struct({ command: Schema.NonEmptyString }) }))

const parse = Option.liftThrowable((text: string): unknown => SmolToml.parse(text, { integersAsBigInt: true }))

/** Whether the provider that is in use brings a credential of its own, of which `codex login status` knows nothing. */
export const stateOf = (text: string): SignInState => {
  const config = Option.flatMap(parse(text.replace(/^\uFEFF/, "")), decodeConfig)
  if (Option.isNone(config)) return { isSignedIn: false }
  const { model_provider: name, model_providers: providers } = config.value
  const provider = Object.hasOwn(providers, name) ? providers[name] : undefined
  if (hasToken(provider)) return { isSignedIn: true, how: "a token in config.toml" }
  return hasCommand(provider) ? { isSignedIn: true, how: "a command in config.toml" } : { isSignedIn: false }
}
