import * as fs from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Reference, template } from "@scv/config"
import { Ajv2020 } from "ajv/dist/2020.js"
import * as Effect from "effect/Effect"
import * as SmolToml from "smol-toml"
import * as World from "./support/world.ts"

const { agents, user } = World

const doc = (name: string) => fs.readFileSync(new URL(`../../../docs/${name}`, import.meta.url), "utf8")

/** The example with every key switched on. */
const switchedOn = (text: string) => text.replace(/^#(?! )/gm, "")

describe("the example", () => {
  it.scopedLive("is a file that changes nothing, and in which each key can be switched on", () =>
    Effect.gen(function* () {
      const world = yield* World.make
      const text = template({ home: world.at("home"), agents })
      world.write(user, text)
      const untouched = yield* world.load()
      assert.isTrue(untouched.entries.every(({ origin }) => origin.layer === "default"))
      world.write(user, switchedOn(text))
      const { entries } = yield* world.load()
      for (const [index, { key, origin, value }] of entries.entries()) {
        assert.strictEqual(origin.layer, "user", key)
        const before = untouched.entries[index]?.value
        if (before !== undefined) assert.deepStrictEqual(value, before)
      }
      assert.include(text, "\n# The most bytes that one read returns.\n#max_read_bytes = 262144\n")
      assert.include(text, "\n[agents.pi]\n# The agent's executable: ")
      assert.match(text, /\n# Names [^\n]+ Not set by default\.\n#home_links = \[ "\.gitconfig" \]\n$/)
    })
  )
})

describe("the reference", () => {
  // `npm run -w packages/config reference` writes both anew.
  it("in docs/ is what the table of keys says", () => {
    assert.strictEqual(doc("configuration.md"), Reference.page(agents))
    assert.deepStrictEqual(
      JSON.parse(doc("config.schema.json")),
      JSON.parse(JSON.stringify(Reference.jsonSchema(agents)))
    )
  })

  it("as JSON Schema takes what is taken, and refuses what is refused", () => {
    const isTaken = new Ajv2020({ allErrors: true }).compile(JSON.parse(doc("config.schema.json")))
    const refused = [
      "max_read_bytes = 5",
      "tools = 3",
      "[tools]\nmax_read_bytes = 3",
      "[tools]\nmax_read_bytes = 4.5",
      '[tools]\napproval_policy = "sometimes"',
      '[skills]\nuser_dir = "skills"',
      '[skills]\nproject_dir = "a/../b"',
      '[agents.pi]\nhome_links = ["/etc"]',
      '[agents.pi]\ncommand = ""',
      "[agents.gemini]"
    ]
    assert.isTrue(isTaken(SmolToml.parse(switchedOn(template({ home: "/h", agents })))), JSON.stringify(isTaken.errors))
    for (const text of refused) assert.isFalse(isTaken(SmolToml.parse(text)), text)
    assert.notInclude(doc("config.schema.json"), "$ref")
  })
})
