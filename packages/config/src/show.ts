/** What `scv config show` prints. What looks like a secret is hidden, and all text is made safe to show. */
import { Display, type Json, type JsonObject } from "@scv/core"
import type { Config, Entry } from "./Config.ts"
import type { Origin } from "./Layer.ts"
import { literal } from "./literal.ts"
import { hide } from "./Secret.ts"

/** Values longer than this do not push the column behind them out. */
const widest = 24

const place = ({ file, line }: Origin): string => (line === undefined ? `${file}` : `${file}:${line}`)

const originText = (origin: Origin): string => {
  if (origin.file !== undefined) return `${origin.layer}: ${place(origin)}`
  return origin.layer === "flag" ? "command line" : origin.layer
}

const valueText = ({ value }: Entry): string => (value === undefined ? "(not set)" : literal(hide(value)))

/** Every key, its value in TOML and its origin, one a line; what was ignored, and why, on the lines below. */
export const text = ({ entries }: Config): string => {
  const nameWidth = Math.max(...entries.map(({ key }) => key.length))
  const valueWidth = Math.min(widest, Math.max(...entries.map((entry) => valueText(entry).length)))
  const rows = entries.flatMap((entry) => [
    `${entry.key.padEnd(nameWidth)}  ${valueText(entry).padEnd(valueWidth)}  ${originText(entry.origin)}`,
    ...(entry.note === undefined ? [] : [`    note: ${entry.note}`]),
    ...entry.ignored.map((ignored) => `    ignored: ${place(ignored)}: ${ignored.why}`)
  ])
  return `${rows.map(Display.inline).join("\n")}\n`
}

const safe = (value: unknown): Json => {
  if (typeof value === "string") return Display.inline(value)
  if (typeof value === "number" || typeof value === "boolean") return value
  if (Array.isArray(value)) return value.map(safe)
  if (typeof value !== "object" || value === null) return null
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, safe(item)]))
}

/** The same, with the files that were looked for. A key that is not set is null. */
export const json = ({ entries, sources }: Config): JsonObject => ({
  sources: safe(sources),
  keys: Object.fromEntries(
    entries.map(({ key, value, ...rest }) => [key, { value: safe(hide(value)), ...(safe(rest) as JsonObject) }])
  )
})
