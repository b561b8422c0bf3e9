import * as SmolToml from "smol-toml"

/** A value as it would be written behind the `=` of a TOML file. */
export const literal = (value: unknown): string => SmolToml.stringify({ v: value }).slice("v = ".length).trimEnd()
