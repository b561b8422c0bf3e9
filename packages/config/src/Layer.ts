/** One layer of the configuration: what a file or the command line sets, and what is wrong with it. */
import { suggestion } from "@scv/core"
import * as Either from "effect/Either"
import { ConfigError } from "./ConfigError.ts"
import type { Flags, Table } from "./keys.ts"
import { type Document, isTable, type TomlTable } from "./Toml.ts"
import { asToml, typeOf } from "./Value.ts"

/** Where values come from, the weakest first. */
export type LayerName = "default" | "user" | "project" | "explicit" | "flag"

export interface Origin {
  readonly layer: LayerName
  /** The absolute path of the file, for a layer that is one. */
  readonly file?: string
  /** Counted from 1. */
  readonly line?: number
}

export interface Setting {
  readonly key: string
  readonly value: unknown
  readonly origin: Origin
}

export interface Layer {
  readonly settings: ReadonlyArray<Setting>
  readonly errors: ReadonlyArray<ConfigError>
}

/** A name as a file must spell it, so that a name with a dot is not taken for two. */
const spelled = (name: string): string => (/^[A-Za-z0-9_-]+$/.test(name) ? name : JSON.stringify(name))

/** The names of all keys and of all tables that hold them. */
const namesOf = (keys: Table): ReadonlySet<string> =>
  new Set(
    [...keys.keys()].flatMap((key) => {
      const parts = key.split(".")
      return parts.map((_, index) => parts.slice(0, index + 1).join("."))
    })
  )

/** What an unknown name most likely means: one that is near it in the same table, or the same one in another. */
const meant = (names: ReadonlySet<string>, above: string, name: string): string => {
  const siblings = [...names].filter((known) => known.startsWith(above) && !known.slice(above.length).includes("."))
  const near = suggestion(
    name,
    siblings.map((known) => known.slice(above.length))
  )
  const elsewhere = [...names].find((known) => known.endsWith(`.${name}`))
  return near === "" && elsewhere !== undefined ? `; did you mean \`${elsewhere}\`?` : near
}

/** The layer that a file makes. */
export const ofDocument = (
  { lineOf, table }: Document,
  keys: Table,
  { file, layer }: { readonly file: string; readonly layer: LayerName }
): Layer => {
  const names = namesOf(keys)
  const settings: Array<Setting> = []
  const errors: Array<ConfigError> = []

  const visit = (table: TomlTable, path: ReadonlyArray<string>) => {
    const above = path.map((name) => `${name}.`).join("")
    for (const [name, value] of Object.entries(table)) {
      const key = above + spelled(name)
      const line = lineOf([...path, name])
      const at = line === undefined ? { file } : { file, line }
      const fail = (reason: string) => errors.push(new ConfigError({ ...at, key, reason }))
      const meaning = keys.get(key)
      if (meaning === undefined) {
        if (!names.has(key)) fail(`unknown ${isTable(value) ? "table" : "key"}${meant(names, above, name)}`)
        else if (isTable(value)) visit(value, [...path, name])
        else fail(`expected a table, got ${typeOf(value)}`)
      } else if (layer === "project" && meaning.project === "never") {
        fail("a project may not set this key")
      } else {
        Either.match(meaning.decode(value), {
          onLeft: fail,
          onRight: (value) => settings.push({ key, value, origin: { layer, ...at } })
        })
      }
    }
  }

  visit(table, [])
  return { settings, errors }
}

/** The layer that the command line makes. */
export const ofFlags = (flags: Flags, keys: Table): Layer => {
  const settings: Array<Setting> = []
  const errors: Array<ConfigError> = []
  for (const [key, given] of Object.entries(flags)) {
    const meaning = given === undefined ? undefined : keys.get(key)
    if (meaning === undefined) continue
    Either.match(meaning.decode(asToml(given)), {
      onLeft: (reason) => errors.push(new ConfigError({ file: "command line", key, reason })),
      onRight: (value) => settings.push({ key, value, origin: { layer: "flag" } })
    })
  }
  return { settings, errors }
}
