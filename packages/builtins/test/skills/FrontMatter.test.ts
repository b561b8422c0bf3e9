import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as FrontMatter from "../../src/skills/FrontMatter.ts"

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

const read = (folder: string, file: string | Uint8Array): Effect.Effect<FrontMatter.FrontMatter | string> =>
  Effect.map(FrontMatter.reader, (reader) => {
    const bytes = typeof file === "string" ? encode(file) : file
    const length = FrontMatter.maxBytes + 3
    return Either.merge(reader(folder, bytes.subarray(0, length), bytes.length <= length))
  })

const described = (yaml: string) => `---\nname: x\n${yaml}\n---\nbody\n`

describe("front matter", () => {
  it.effect.each<[string, string]>([
    ["plain", "description: does x"],
    ["with a comment", "description: does x # no more"],
    ["in quotes", 'description: "does x"'],
    ["in single quotes", "description: 'does x'"],
    ["folded", "description: >\n  does\n  x\n"],
    ["folded, without the last line break", "description: >-\n  does\n  x"],
    ["literal, of several lines", "description: |\n  does\n  x\n"],
    ["plain, of several lines", "description: does\n  x"],
    ["with a tag", "description: !!str does x"],
    ["under an anchor", "description: &a does x"],
    [
      "among other keys",
      "license: MIT\nmetadata:\n  author: a\n  tags: [b, {c: d}]\ndescription: does x\nallowed-tools:\n  - Read"
    ],
    ["beside keys that are odd", "__proto__: {name: evil}\nconstructor: z\n? [a, b]\n: c\n1: 2\ndescription: does x"]
  ])("a description %s", ([, yaml]) =>
    Effect.map(read("x", described(yaml)), (found) =>
      assert.deepStrictEqual(found, { name: "x", description: "does x" })
    )
  )

  it.effect.each<[string, string]>([
    ["description: Use when: a release is due", "Use when: a release is due"],
    ["description: Steps:", "Steps:"],
    ["description: Use when:\n  a release is due, it's said", "Use when: a release is due, it's said"],
    ["description: Use when\n  due: now\nlicense: MIT", "Use when due: now"],
    ["description: Fix: see #12", "Fix: see #12"],
    ["description: \\n is: no escape", "\\n is: no escape"],
    ['description: He said: "now"', 'He said: "now"'],
    ["description: 123", "123"],
    ["description: yes", "yes"],
    ["description: null", "null"],
    ["description: 2026-01-01", "2026-01-01"],
    ["description: https://example.org/a", "https://example.org/a"]
  ])("is read as it was written: %s", ([yaml, description]) =>
    Effect.map(read("x", described(yaml)), (found) => assert.deepStrictEqual(found, { name: "x", description }))
  )

  it.effect("is the same whatever ends its lines, with a byte order mark or without", () =>
    Effect.gen(function* () {
      const expected = { name: "x", description: "does x, and y" }
      const text = "---\nname: x\ndescription: >\n  does x,\n  and y\n---\nbody\n"
      for (const file of [text, text.replaceAll("\n", "\r\n"), `\ufeff${text}`, text.replaceAll("---", "---  ")]) {
        assert.deepStrictEqual(yield* read("x", file), expected)
      }
      assert.deepStrictEqual(yield* read("x", "---\nname: x\ndescription: d\n---"), { name: "x", description: "d" })
    })
  )

  const noFrontMatter = /^SKILL\.md has no front matter: expected a first line of ---/

  it.effect.each<[string, string | Uint8Array, RegExp]>([
    ["nothing", "", noFrontMatter],
    ["only text", "# Title\n", noFrontMatter],
    ["front matter further down", "\n---\nname: x\ndescription: d\n---\n", noFrontMatter],
    ["another line of dashes", "----\nname: x\ndescription: d\n----\n", noFrontMatter],
    ["no end", "---\nname: x\ndescription: d\n", /^the front matter of SKILL\.md is not closed/],
    ["dashes in a line of their own only to some", "---\nname: x\ndescription: d\u2028---\n", /is not closed/],
    ["no keys", "---\n---\n", /has no keys/],
    ["a list", "---\n- name\n---\n", /has no keys/],
    ["a text", "---\nname\n---\n", /has no keys/],
    ["two documents", "---\nname: x\n...\ndescription: d\n---\n", /YAML|has no keys/],
    ["a list that is not closed", "---\nlicense: MIT\nname: [broken\n: : :\n---\n", /is not YAML at line [345]: /],
    ["an alias of nothing", described("description: *a"), /`description`: expected text, got an alias/],
    ["an alias of something", described("a: &a d\ndescription: *a"), /`description`: expected text, got an alias/],
    ["a name twice", described("name: y\ndescription: d"), /has `name` twice/],
    ["a description twice", described("description: d\ndescription: e"), /has `description` twice/],
    ["no name", "---\ndescription: d\n---\n", /^`name` is missing/],
    ["a list as name", "---\nname: [x]\ndescription: d\n---\n", /^`name`: expected text, got a list$/],
    ["a map as name", "---\nname: {x: y}\ndescription: d\n---\n", /^`name`: expected text, got a map$/],
    ["an empty name", "---\nname:\ndescription: d\n---\n", /^`name` is empty$/],
    [
      "another name than its folder's",
      "---\nname: y\ndescription: d\n---\n",
      /^`name`: expected the name of its folder, "x", got "y"$/
    ],
    ["no description", described("license: MIT"), /^`description` is missing/],
    ["an empty description", described("description: ''"), /^`description` is empty$/],
    ["a blank description", described('description: " \\n "'), /^`description` is empty$/],
    ["a list as description", described("description:\n  - a"), /^`description`: expected text, got a list$/],
    [
      "bytes that are no text",
      Uint8Array.from([...encode("---\nname: x\ndescription: "), 0xff, 0xfe]),
      /^SKILL\.md is not UTF-8 text$/
    ],
    ["a NUL", described("description: a\0b"), /is not YAML at line 3: /]
  ])("of a file with %s is none", ([, file, reason]) =>
    Effect.map(read("x", file), (found) => {
      assert.isString(found)
      assert.match(String(found), reason)
      assert.notMatch(String(found), /[\r\n]/)
    })
  )

  it.effect.each<[string, RegExp]>([
    ["a".repeat(65), /at most 64 characters, got 65/],
    ["Upper", /expected lower-case letters, digits and hyphens, got "Upper"/],
    ["under_score", /expected lower-case/],
    ["a/b", /expected lower-case/],
    ["a\\n- b", /expected lower-case/],
    ["straße", /expected lower-case/],
    ["-a", /single hyphens/],
    ["a-", /single hyphens/],
    ["a--b", /single hyphens/]
  ])("takes no skill named %j", ([name, reason]) =>
    Effect.map(read(name, `---\nname: "${name}"\ndescription: d\n---\n`), (found) =>
      assert.match(String(found), reason)
    )
  )

  it.effect("takes names and descriptions up to their longest", () =>
    Effect.gen(function* () {
      const name = "a".repeat(64)
      const longest = "😀".repeat(1024)
      const of = (description: string) => read(name, `---\nname: ${name}\ndescription: ${description}\n---\n`)
      assert.deepStrictEqual(yield* of(longest), { name, description: longest })
      assert.strictEqual(yield* of(`${longest}a`), "`description`: expected at most 1024 characters, got 1025")
    })
  )

  it.effect("is no longer than its maximum, and what follows it does not count", () =>
    Effect.gen(function* () {
      const upTo = (bytes: number, body: string) => {
        const head = "---\nname: x\ndescription: d\npad: "
        const tail = "\n---\n"
        return `${head}${"p".repeat(bytes - head.length - tail.length)}${tail}${body}`
      }
      const good = { name: "x", description: "d" }
      const tooLong = `the front matter of SKILL.md is longer than ${FrontMatter.maxBytes} bytes`
      for (const body of ["", "é", "\n", "x".repeat(100_000)]) {
        for (const length of [FrontMatter.maxBytes - 1, FrontMatter.maxBytes]) {
          assert.deepStrictEqual(yield* read("x", upTo(length, body)), good, `${length}, then ${body.length}`)
        }
        assert.strictEqual(yield* read("x", upTo(FrontMatter.maxBytes + 20, body)), tooLong)
      }
      // The maximum cuts this one after its dashes.
      const cut = upTo(FrontMatter.maxBytes + 1, "").replace(/\n---\n$/, "\n----")
      assert.strictEqual(yield* read("x", cut), tooLong)
    })
  )

  it.effect("costs little, whatever is in it", () =>
    Effect.gen(function* () {
      const pieces = [
        "[",
        "{",
        "- ",
        "? ",
        "{a: ",
        "a: ",
        ": ",
        "&a ",
        "*a ",
        "! ",
        '"',
        "'",
        "|\n",
        " ",
        "\t",
        "\n",
        "#",
        "...\n",
        "%a\n"
      ]
      const bomb = ["a: &a [x,x,x,x,x,x,x,x,x]"]
      for (const [i, letter] of [..."bcdefgh"].entries()) {
        bomb.push(`${letter}: &${letter} [${`*${"abcdefg"[i]},`.repeat(9)}]`)
      }
      for (const yaml of [...pieces.map((piece) => piece.repeat(8000 / piece.length)), bomb.join("\n")]) {
        const found = yield* read("x", `---\n${yaml}\n---\n`)
        assert.isString(found, yaml.slice(0, 8))
      }
    })
  )

  const token = FastCheck.constantFrom(
    ..."-:?[]{}#&*!|>'\"%@` \t,aé\u2028\u0085\ufeff\u0007".split(""),
    "\n",
    "\r\n",
    "\r",
    "---",
    "...",
    "name: x",
    "description: d",
    "\n  "
  )
  const soup = FastCheck.array(token, { maxLength: 60 }).map((tokens) => tokens.join(""))

  it.effect.prop("of any text is found or refused in one line", [soup], ([text]) =>
    Effect.gen(function* () {
      for (const file of [text, `---\n${text}`, `---\n${text}\n---\n`, `---\nname: x\n${text}\n---\n`]) {
        const found = yield* read("x", file)
        if (typeof found !== "string") {
          assert.strictEqual(found.name, "x")
          assert.notMatch(found.description, /[\r\n]/)
        } else assert.notMatch(found, /[\p{Cc}\p{Zl}]/u)
      }
    })
  )

  it.effect.prop("of any bytes is found or refused", [FastCheck.uint8Array({ maxLength: 200 })], ([bytes]) =>
    Effect.gen(function* () {
      for (const file of [bytes, Uint8Array.from([...encode("---\nname: x\ndescription: "), ...bytes])])
        yield* read("x", file)
    })
  )

  it.effect.prop(
    "gives back every description that is quoted",
    [FastCheck.string({ unit: "grapheme", minLength: 1, maxLength: 200 })],
    ([text]) =>
      Effect.gen(function* () {
        const found = yield* read("x", described(`description: ${JSON.stringify(text)}`))
        const expected = text.trim().replace(/\s*[\r\n]+\s*/g, " ")
        assert.deepStrictEqual(found, expected === "" ? "`description` is empty" : { name: "x", description: expected })
      })
  )
})
