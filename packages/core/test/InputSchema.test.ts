import { assert, describe, it } from "@effect/vitest"
import { InputSchema, ToolError } from "@scv/core"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"

const { decoder, integer, nonEmpty, oneOf, optional, required, struct, systemText, text } = InputSchema

const Input = struct({
  path: required(systemText, "a path"),
  limit: optional(integer(1, 500), "a limit"),
  mode: optional(oneOf("create", "replace"), "a mode"),
  title: optional(nonEmpty, "a title"),
  edits: optional(Schema.Array(struct({ old: required(text, ""), new: required(text, "") })), "edits")
})

const decode = decoder(Input)

const messageOf = (input: unknown): string => {
  const decoded = Effect.runSync(Effect.either(decode(input)))
  if (Either.isRight(decoded)) return "ok"
  assert.strictEqual(decoded.left.kind, "invalid_input")
  return decoded.left.message
}

describe("decoder", () => {
  it("answers bad input with one line that names the field, what was expected and what was found", () => {
    const deep = JSON.parse(`${"[".repeat(1000)}${"]".repeat(1000)}`)
    const cyclic: Record<string, unknown> = { path: "a" }
    cyclic.self = cyclic
    const messages: ReadonlyArray<readonly [unknown, string]> = [
      [{ path: "a" }, "ok"],
      [{ path: "a", limit: 2, mode: "create", title: "t", edits: [{ old: "", new: "" }] }, "ok"],
      [{}, "`path` is missing"],
      [{ path: "" }, '`path`: expected a non-empty string, got ""'],
      [{ path: "a\0b" }, "`path`: expected text without NUL, got a NUL character"],
      [{ path: 7 }, "`path`: expected a non-empty string, got 7"],
      [{ path: "a", limit: "5" }, '`limit`: expected an integer between 1 and 500, got "5"'],
      [{ path: "a", limit: 1.5 }, "`limit`: expected an integer between 1 and 500, got 1.5"],
      [{ path: "a", limit: 501 }, "`limit`: expected an integer between 1 and 500, got 501"],
      [{ path: "a", limit: Number.POSITIVE_INFINITY }, "`limit`: expected an integer between 1 and 500, got Infinity"],
      [{ path: "a", limit: null }, "`limit`: expected an integer between 1 and 500, got null"],
      [{ path: "a", mode: "append" }, '`mode`: expected "create" or "replace", got "append"'],
      [{ path: "a", lmit: 5 }, "unknown field `lmit`; did you mean `limit`?; known: path, limit, mode, title, edits"],
      [{ path: "a", edits: [{ old: "", new: "", z: 1 }] }, "unknown field `edits.0.z`"],
      [JSON.parse('{"path":"a","__proto__":1}'), "unknown field `__proto__`; known: path, limit, mode, title, edits"],
      [{ path: "a", title: "\ud800" }, "`title`: expected Unicode text, got an unpaired surrogate"],
      [{ path: "a", "\ud800": 1 }, "input: expected Unicode names, got an unpaired surrogate in one"],
      [{ path: "a", edits: deep }, `\`edits${".0".repeat(37)}.… (51 more characters)\`: nested deeper than 64 levels`],
      [cyclic, `\`self.${"self.".repeat(14)}self.… (239 more characters)\`: nested deeper than 64 levels`],
      [null, "input: expected a JSON object, got null"],
      [[1], "input: expected a JSON object, got an array"],
      ["x\n\u001b", 'input: expected a JSON object, got "x\\n\\u001b"'],
      [undefined, "input: expected a JSON object, got nothing"]
    ]
    for (const [input, message] of messages) assert.strictEqual(messageOf(input), message)
  })

  it("takes an object without properties where none are declared", () => {
    const decodeNone = decoder(struct({}))
    const isTaken = (input: unknown) => Either.isRight(Effect.runSync(Effect.either(decodeNone(input))))
    assert.isTrue(isTaken({}))
    for (const input of [{ a: 1 }, [], 3, "", null]) assert.isFalse(isTaken(input))
  })

  it("names a few of many faults", () => {
    const message = messageOf({ path: "a", a: 1, b: 2, c: 3, d: 4, e: 5, f: 6 })
    assert.match(message, /; and 2 more$/)
  })

  it("names the first fault alone of a very large input", () => {
    const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`k${index}`, 0]))
    assert.strictEqual(messageOf({ path: "a", ...many }), "unknown field `k0`; known: path, limit, mode, title, edits")
  })

  it("stops at an input that is too large to look at", () => {
    const wide = { path: "a", edits: new Array(InputSchema.maxValues + 1).fill(0) }
    assert.strictEqual(messageOf(wide), `input: expected at most ${InputSchema.maxValues} values`)
  })

  it.prop("never breaks, whatever JSON it is given", [FastCheck.jsonValue({ maxDepth: 6 })], ([json]) => {
    const decoded = Effect.runSync(Effect.either(decode(json)))
    if (Either.isLeft(decoded)) {
      assert.instanceOf(decoded.left, ToolError)
      assert.notMatch(decoded.left.message, /\n/)
    }
  })
})
