/**
 * The front matter of a `SKILL.md`: YAML between two lines of `---` at its start. It may come from anybody's repository,
 * so it is bounded in size and depth, has no aliases, and nothing of it but two texts is looked at. Source: the Agent
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

/** Quotes plain values that hold `: `, which YAML takes for a map within the value and whoever wrote it did not. */
const quoteColons = (yaml: string): string =>
  yaml.replace(plainEntry, (entry, key: string, value: string) =>
    /:(?:\s|$)/.test(value) ? `${key} ${quoted(value)}` : entry
  )

const whyNot = (error: unknown, { YAMLException }: Yaml): string => {
  if (!(error instanceof YAMLException)) return "the front matter of SKILL.md cannot be read as YAML"
  // The front matter begins on the second line of the file.
  const line = error.mark === undefined || error.mark === null ? "" : ` at line ${error.mark.line + 2}`
  return Display.bounded(`the front matter of SKILL.md is not YAML${line}: ${error.reason}`, 300)
}

const parse = (yaml: string, library: Yaml): Either.Either<unknown, string> => {
  const load = (text: string) =>
    Either.try({
      // In this schema every scalar is a text, as it was written.
      try: () => library.load(text, { schema: library.FAILSAFE_SCHEMA, maxDepth, maxAliases: 0 }),
      catch: (error) => error
    })
  return load(yaml).pipe(
    Either.orElse((error) => Either.mapLeft(load(quoteColons(yaml)), () => whyNot(error, library)))
  )
}

const field = (value: object, name: string): unknown =>
  Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined

/** Loads the YAML library, which costs nothing where no skill is looked at. */
export const reader: Effect.Effect<Reader> = Effect.map(
  Effect.promise(() => import("js-yaml")),
  (library) => (folder, start, isWhole) =>
    Either.gen(function* () {
      const value = yield* parse(yield* extract(start, isWhole), library)
      if (typeof value !== "object" || value === null || Array.isArray(value)) {
        return yield* Either.left("the front matter of SKILL.md has no keys: expected name and description")
      }
      const name = field(value, "name")
      const description = field(value, "description")
      const fault = nameFault(name, folder) ?? descriptionFault(description)
      if (fault !== undefined) return yield* Either.left(fault)
      return { name: name as string, description: (description as string).trim().replace(/\s*[\r\n]+\s*/g, " ") }
    })
)
