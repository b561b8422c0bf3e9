/** The configuration in force. */
import type { Limits } from "@scv/core"
import { identity } from "effect/Function"
import type * as Key from "./Key.ts"
import type { Table, Values } from "./keys.ts"
import type { LayerName, Origin, Setting } from "./Layer.ts"
import { type Leaf, nest } from "./nest.ts"

/** A project's value that does not count. */
export interface Ignored extends Origin {
  readonly why: string
}

/** A key and what became of it. */
export interface Entry {
  readonly key: string
  /** Undefined where nothing sets it and it has no default. */
  readonly value: unknown
  readonly origin: Origin
  readonly ignored: ReadonlyArray<Ignored>
  /** Why the value is another one than its origin gives. */
  readonly note?: string
}

/** A file that was looked for. */
export interface Source {
  readonly layer: LayerName
  /** Its absolute path. */
  readonly file: string
  readonly exists: boolean
  /** For a project's file that is also the file of another layer: it counts as that one. */
  readonly countsAs?: LayerName
}

export interface Config {
  readonly values: Values
  /** Every key, in the order of the table. */
  readonly entries: ReadonlyArray<Entry>
  readonly sources: ReadonlyArray<Source>
}

/** What a key comes to when the settings of it are laid over its default, in order. */
const entryOf = (name: string, key: Key.Key, settings: ReadonlyArray<Setting>): Entry => {
  const ignored: Array<Ignored> = []
  let value = key.default
  let origin: Origin = { layer: "default" }
  for (const setting of settings) {
    const trust = setting.origin.layer === "project" ? key.project : undefined
    if (trust === undefined || (trust !== "never" && trust.isTighter(setting.value, value))) {
      value = setting.value
      origin = setting.origin
    } else if (trust !== "never" && setting.value !== value) {
      ignored.push({ ...setting.origin, why: `a project's value counts only where it is ${trust.says}` })
    }
  }
  return { key: name, value, origin, ignored }
}

const ceiling = "tools.max_timeout_seconds"

/** The timeouts of calls that name none, which cannot be above the ceiling of those that do. */
const lowered = ["tools.command_timeout_seconds", "tools.agent_timeout_seconds"]

const lower = (entries: ReadonlyArray<Entry>): ReadonlyArray<Entry> => {
  const max = Number(entries.find(({ key }) => key === ceiling)?.value)
  return entries.map((entry) =>
    lowered.includes(entry.key) && Number(entry.value) > max
      ? { ...entry, value: max, note: `${entry.value} is above ${ceiling} and lowered to it` }
      : entry
  )
}

const valuesOf = (entries: ReadonlyArray<Entry>): Values => {
  const leaves = entries.map(({ key, value }): Leaf<unknown> => [key, value])
  const values = { agents: {}, ...nest<unknown, unknown>(leaves, identity, identity) }
  return values as unknown as Values
}

/** Lays the settings of all layers, the weakest first, over the defaults. */
export const merge = (keys: Table, settings: ReadonlyArray<Setting>, sources: ReadonlyArray<Source>): Config => {
  const entries = lower(
    [...keys].map(([name, key]) =>
      entryOf(
        name,
        key,
        settings.filter((setting) => setting.key === name)
      )
    )
  )
  return { values: valuesOf(entries), entries, sources }
}

/** The limits that calls are held to. */
export const limitsOf = ({ values: { tools } }: Config): Limits.LimitValues => ({
  commandTimeoutSeconds: tools.command_timeout_seconds,
  agentTimeoutSeconds: tools.agent_timeout_seconds,
  maxTimeoutSeconds: tools.max_timeout_seconds,
  outputLimitBytes: tools.output_limit_bytes,
  maxReadBytes: tools.max_read_bytes,
  maxWriteBytes: tools.max_write_bytes
})
