import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import { maxPath, parse } from "../src/Toml.ts"

const oneLine = [
  "1",
  "-17",
  "0xff",
  "1.5",
  "inf",
  "true",
  "1979-05-27T07:32:00Z",
  '""',
  "''",
  '"a # [ { \' \\" \\\\"',
  "'c:\\ \" # ]'",
  "[]",
  '["]", \'}\', [1, {a = "{"}]]',
  "{}",
  '{ x = 1, "y" = "}" }'
]

const severalLines = [
  '"""\n a " "" \\""" # [ \n"""',
  '"""a""""',
  '"""\na"""""',
  '""""""',
  '"""\\\n  x\\\\"""',
  "'''\n ' '' # { \\\n'''",
  "''''a'''''",
  '[\n 1, # ] "\n [2, "]"],\n]',
  "{ x = 1,\n y = [\n{}] } # ''' \"\"\"",
  "[\n'''\n[\n''',\n\"\"\"\n]\"\"\"\n]"
]

const between = ["", "\n", '# a comment with " \' [ { """\n', "\t \n\n"]

interface Pieces {
  readonly isCrlf: boolean
  readonly statements: ReadonlyArray<{
    readonly before: string
    readonly form: "bare" | "quoted" | "dotted" | "table" | "nested" | "array"
    readonly value: string
  }>
}

/** A document as the pieces that it is made of, each one a table header or a key with its value. */
const document: FastCheck.Arbitrary<Pieces> = FastCheck.record({
  isCrlf: FastCheck.boolean(),
  statements: FastCheck.array(
    FastCheck.record({
      before: FastCheck.constantFrom(...between),
      form: FastCheck.constantFrom("bare", "quoted", "dotted", "table", "nested", "array"),
      value: FastCheck.constantFrom(...oneLine, ...severalLines)
    }),
    { maxLength: 12 }
  )
})

/** The text, and the line of every path in it. */
const written = ({ isCrlf, statements }: Pieces) => {
  const lines: Array<readonly [path: ReadonlyArray<string>, line: number]> = []
  let text = ""
  let above: ReadonlyArray<string> = []
  for (const [index, { before, form, value }] of statements.entries()) {
    text += before
    const line = text.split("\n").length
    const name = `${form}${index}`
    const statement = {
      bare: { path: [...above, name], text: `${name} = ${value}` },
      quoted: { path: [...above, name], text: ` "${name}"\t=${value} # ]` },
      dotted: { path: [...above, name, "in"], text: `${name} . 'in' = ${value}` },
      table: { path: [name], text: `[${name}]` },
      nested: { path: [name, "in"], text: ` [ ${name}. "in" ] # "` },
      array: { path: [name], text: `[[${name}]]` }
    }[form]
    text += `${statement.text}\n`
    const { path } = statement
    if (form === "table" || form === "nested" || form === "array") above = path
    for (let length = 1; length <= path.length; length++) lines.push([path.slice(0, length), line])
  }
  return { text: isCrlf ? text.replaceAll("\n", "\r\n") : text, lines }
}

describe("lineOf", () => {
  it.prop("tells the line on which a key or a table begins first", [document], ([pieces]) => {
    const { lines, text } = written(pieces)
    const parsed = Either.getOrThrowWith(parse(text), ({ reason }) => new Error(`${reason}: ${JSON.stringify(text)}`))
    for (const [path] of lines.filter(([path]) => path.length <= maxPath)) {
      const first = lines.find(([other]) => JSON.stringify(other) === JSON.stringify(path))
      assert.strictEqual(parsed.lineOf(path), first?.[1], JSON.stringify({ path, text }))
    }
  })

  it("knows keys in values that are tables, at the line of the statement", () => {
    const { lineOf } = Either.getOrThrow(parse('\n[a]\nb = {\n  c = 1 }\n\nd.e = "x"\n'))
    assert.deepStrictEqual(
      [["a"], ["a", "b"], ["a", "b", "c"], ["a", "d"], ["a", "d", "e"]].map(lineOf),
      [2, 3, 3, 6, 6]
    )
    assert.isUndefined(lineOf(["a", "x"]))
  })
})

describe("parse", () => {
  const faultOf = (text: string) => Either.getOrThrow(Either.flip(parse(text)))

  it("names the line and the fault, and nothing of the text", () => {
    const faults: ReadonlyArray<readonly [text: string, line: number, reason: string]> = [
      ['a = 1\nb = "CANARY', 2, "not TOML: unfinished string"],
      ["\n\n[CANARY", 3, "not TOML: incomplete key-value: cannot find end of key"],
      ["a = CANARY", 1, "not TOML: invalid value"],
      ['a = "x"\na = "CANARY"', 2, "not TOML: trying to redefine an already defined table or value"],
      ["CANARY", 1, "not TOML: incomplete key-value: cannot find end of key"],
      ["a = 1 CANARY", 1, "not TOML: each key-value declaration must be followed by an end-of-line"],
      ["a = [1 #", 1, "not TOML: expected comma or end of structure"],
      ["a = {b = 1 #", 1, "not TOML: expected comma or end of structure"],
      [`a = ${"[".repeat(40_000)}`, 1, "not TOML: document contains excessively nested structures. aborting."]
    ]
    for (const [text, line, reason] of faults) assert.deepStrictEqual(faultOf(text), { line, reason })
  })

  it("takes a long text of any shape without taking long", { timeout: 10_000 }, () => {
    const size = 65_536
    const filled = (line: (index: number) => string) => {
      const lines: Array<string> = []
      for (let length = 0, index = 0; ; index++) {
        const next = line(index)
        length += next.length + 1
        if (length > size) return lines.join("\n")
        lines.push(next)
      }
    }
    const texts = [
      filled((index) => `k${index}=1`),
      filled((index) => `[t${index}]`),
      filled(() => "[[a]]"),
      filled((index) => `a.b.c.k${index}.d=''`),
      `${"a.".repeat(size / 2 - 2)}a=1`,
      `[${"a.".repeat(size / 2 - 4)}a]`,
      `a=[\n${filled(() => "1,")}\n]`,
      `a={${filled((index) => `k${index}=1,`)}}`,
      `a="""\n${filled(() => '\\"')}"""`,
      `a='''\n${filled(() => "''")}\n'''`,
      filled(() => "#\"'"),
      filled(() => "")
    ]
    for (const text of texts) assert.isTrue(Either.isRight(parse(text)), text.slice(0, 40))
  })
})
