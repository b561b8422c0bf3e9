/** TOML (1.1) in which the line of every key is known. */
import * as Either from "effect/Either"
import * as SmolToml from "smol-toml"

export type TomlTable = SmolToml.TomlTable

export interface Document {
  readonly table: TomlTable
  /** The line, counted from 1, at which a key or a table of up to {@link maxPath} names first comes up. */
  readonly lineOf: (path: ReadonlyArray<string>) => number | undefined
}

/** Why a text is no TOML. Holds nothing of the text. */
export interface SyntaxFault {
  readonly line: number | undefined
  readonly reason: string
}

/** The most names in a path whose line is known. */
export const maxPath = 3

/** Arrays and tables in values may nest this deep; no key takes more than one level. */
const maxDepth = 16

// Throws SmolToml.TomlError.
const parseText = (text: string): TomlTable => SmolToml.parse(text, { integersAsBigInt: true, maxDepth })

// Strings of several lines and of one, comments, brackets, and the ends of lines.
const tokens = /"""(?:[^\\]|\\[\s\S])*?"{3,5}|'''[\s\S]*?'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#[^\n]*|[[\]{}\n]/g

interface Statement {
  readonly line: number
  readonly text: string
}

/** Table headers, and keys with their values, each with the ends of its lines. The text must be TOML. */
const statements = (text: string): ReadonlyArray<Statement> => {
  const found: Array<Statement> = []
  let start = 0
  let depth = 0
  let line = 1
  let begun = 1
  for (const { 0: token, index } of `${text}\n`.matchAll(tokens)) {
    if (token === "[" || token === "{") depth++
    else if (token === "]" || token === "}") depth--
    else line += token.split("\n").length - 1
    if (token !== "\n" || depth > 0) continue
    found.push({ line: begun, text: text.slice(start, index + 1) })
    start = index + 1
    begun = line
  }
  return found
}

/** Whether a TOML value is a table. */
export const isTable = (value: unknown): value is TomlTable =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date)

/** The path that a table header names. */
const headed = (header: TomlTable): ReadonlyArray<string> => {
  const path: Array<string> = []
  for (let at: unknown = header; isTable(at); ) {
    const [name] = Object.keys(at)
    if (name === undefined) break
    path.push(name)
    at = at[name]
  }
  return path
}

// The parser tells no positions. Each statement is TOML by itself, so parsing them one by one does.
const linesOf = (text: string): Document["lineOf"] => {
  const lines = new Map<string, number>()
  const note = (table: TomlTable, above: ReadonlyArray<string>, line: number) => {
    if (above.length >= maxPath) return
    for (const [name, value] of Object.entries(table)) {
      const path = [...above, name]
      const id = JSON.stringify(path)
      if (!lines.has(id)) lines.set(id, line)
      if (isTable(value)) note(value, path, line)
    }
  }
  let current: ReadonlyArray<string> = []
  for (const statement of statements(text)) {
    const parsed = parseText(statement.text)
    if (/^\s*\[/.test(statement.text)) {
      note(parsed, [], statement.line)
      current = headed(parsed)
    } else {
      note(parsed, current, statement.line)
    }
  }
  return (path) => lines.get(JSON.stringify(path))
}

const faultOf = (error: unknown): SyntaxFault => {
  if (!(error instanceof SmolToml.TomlError)) return { line: undefined, reason: "not TOML" }
  // The lines that follow the first one quote the text.
  const [first = ""] = error.message.split("\n", 1)
  return { line: error.line, reason: `not TOML: ${first.replace("Invalid TOML document: ", "")}` }
}

/** Parses TOML, which may begin with a byte order mark. Integers come as bigint, so that a float can be told from them. */
export const parse = (text: string): Either.Either<Document, SyntaxFault> =>
  Either.try({ try: () => ({ table: parseText(text), lineOf: linesOf(text) }), catch: faultOf })
