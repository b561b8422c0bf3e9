/**
 * The front matter of a `SKILL.md`: YAML between two lines of `---` at its start. It may come from anybody's repository,
 * so it is bounded in size and depth, and nothing of it but two texts is looked at. Source: the Agent
 * Skills specification, "`SKILL.md` format".
 */
import { Display, Utf8 } from "@scv/core"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { descriptionFault, nameFault } from "./rules.ts"

/** What a skill says of itself. */
export interface FrontMatter {
  readonly name: string
  /** One line: where it was written on several, a space stands for each break. */
  readonly description: string
}

/** The most bytes of a file that hold its front matter. */
export const maxBytes = 8192

/** Lists and maps in the front matter may nest this deep. */
const maxDepth = 16

/** Reads the front matter of a skill from the first bytes of its file, or says in one line why it is none. */
export type Reader = (folder: string, start: Uint8Array, isWhole: boolean) => Either.Either<FrontMatter, string>

type Yaml = typeof import("js-yaml")

const opening = /^\ufeff?---[ \t]*\r?\n/

// Not by the flag `m`, for which U+2028 ends a line too.
const closing = /(?:^|\n)---[ \t]*(?:\r?\n|$)/

/** The YAML of a file that begins with the given bytes. */
const extract = (start: Uint8Array, isWhole: boolean): Either.Either<string, string> => {
  const end = Utf8.boundaryBefore(start, Math.min(start.length, maxBytes))
  const text = Utf8.decodeStrict(start.subarray(0, end))
  if (text === undefined) return Either.left("SKILL.md is not UTF-8 text")
  const opened = opening.exec(text)
  if (opened === null) {
    return Either.left("SKILL.md has no front matter: expected a first line of ---, then name and description")
  }
  // Half a line can be taken for another one.
  const isCut = !isWhole || end < start.length
  const rest = text.slice(opened[0].length, isCut ? text.lastIndexOf("\n") + 1 : undefined)
  const closed = closing.exec(rest)
  if (closed !== null) return Either.right(rest.slice(0, closed.index))
  return Either.left(
    isCut
      ? `the front matter of SKILL.md is longer than ${maxBytes} bytes`
      : "the front matter of SKILL.md is not closed: expected a line of --- after it"
  )
}

// A key at the start of a line with a plain value, and the indented lines that go on with it.
const plainEntry = /(?<=^|\n)([A-Za-z_][\w-]*:)[ \t]+(?![\s"'[\]{}|>&*!%@`#,?-])([^\n]*(?:\n[ \t]+\S[^\n]*)*)/g

const quoted = (value: string): string => {
  const line = value
    .split("\n")
    .map((part) => part.trim())
    .join(" ")
  return `'${line.replaceAll("'", "''")}'`
}

/**
 * Quotes plain values that hold `: `, which YAML takes for a map within the value and whoever wrote it did not. A value
 * that holds ` #` as well, which YAML takes for a comment, is only quoted where nothing else can be made of it.
 */
const quoteColons = (yaml: string, withHashes: boolean): string =>
  yaml.replace(plainEntry, (entry, key: string, value: string) =>
    /:(?:\s|$)/.test(value) && (withHashes || !/\s#/.test(value)) ? `${key} ${quoted(value)}` : entry
  )

/** The values of `name` and `description`, and which keys there are twice. */
interface Fields {
  readonly values: ReadonlyMap<string, unknown>
  readonly repeated: ReadonlySet<string>
}

/**
 * The keys of a document with their values: a text as it was written, whatever type YAML would give it, else `[]` for a
 * list, `{}` for a map and null for an alias. Nothing is built of what is in lists and maps. Throws YAMLException.
 */
const fieldsOf = (yaml: string, { EVENT_ID, getScalarValue, parseEvents }: Yaml): Fields | undefined => {
  const [document, root, ...events] = parseEvents(yaml, { maxDepth })
  if (document === undefined || root?.type !== EVENT_ID.MAPPING) return undefined
  const values = new Map<string, unknown>()
  const repeated = new Set<string>()
  let depth = 1
  let isKey = true
  let key: string | undefined
  for (const event of events) {
    if (event.type === EVENT_ID.DOCUMENT) return undefined
    if (event.type === EVENT_ID.POP) {
      depth--
      continue
    }
    if (depth === 1) {
      const value =
        event.type === EVENT_ID.SCALAR
          ? getScalarValue(yaml, event)
          : event.type === EVENT_ID.SEQUENCE
            ? []
            : event.type === EVENT_ID.MAPPING
              ? {}
              : null
      if (isKey) key = typeof value === "string" ? value : undefined
      else if (key !== undefined && values.has(key)) repeated.add(key)
      else if (key !== undefined) values.set(key, value)
      isKey = !isKey
    }
    if (event.type === EVENT_ID.SEQUENCE || event.type === EVENT_ID.MAPPING) depth++
  }
  return { values, repeated }
}

const whyNot = (error: unknown, { YAMLException }: Yaml): string => {
  if (!(error instanceof YAMLException)) return "the front matter of SKILL.md cannot be read as YAML"
  // The front matter begins on the second line of the file.
  const line = error.mark === undefined || error.mark === null ? "" : ` at line ${error.mark.line + 2}`
  return Display.bounded(`the front matter of SKILL.md is not YAML${line}: ${error.reason}`, 300)
}

const parse = (yaml: string, library: Yaml): Either.Either<Fields | undefined, string> => {
  const read = (text: string) => Either.try({ try: () => fieldsOf(text, library), catch: (error) => error })
  // No YAML means anything else once it is quoted like this, and to fail first takes long.
  const quoted = quoteColons(yaml, false)
  if (quoted !== yaml) {
    const found = read(quoted)
    if (Either.isRight(found)) return Either.right(found.right)
  }
  return Either.orElse(read(yaml), (error) =>
    Either.mapLeft(read(quoteColons(yaml, true)), () => whyNot(error, library))
  )
}

const metadataOf = (fields: Fields | undefined, folder: string): Either.Either<FrontMatter, string> => {
  if (fields === undefined) {
    return Either.left("the front matter of SKILL.md has no keys: expected name and description")
  }
  const twice = ["name", "description"].find((key) => fields.repeated.has(key))
  if (twice !== undefined) return Either.left(`the front matter of SKILL.md has \`${twice}\` twice`)
  const name = fields.values.get("name")
  const description = fields.values.get("description")
  const fault = nameFault(name, folder) ?? descriptionFault(description)
  return fault === undefined
    ? Either.right({
        name: String(name),
        description: String(description)
          .trim()
          .replace(/\s*[\r\n]+\s*/g, " ")
      })
    : Either.left(fault)
}

/** Loads the YAML library, which costs nothing where no skill is looked at. */
export const reader: Effect.Effect<Reader> = Effect.map(
  Effect.promise(() => import("js-yaml")),
  (library) => (folder, start, isWhole) =>
    extract(start, isWhole).pipe(
      Either.flatMap((yaml) => parse(yaml, library)),
      Either.flatMap((fields) => metadataOf(fields, folder))
    )
)
