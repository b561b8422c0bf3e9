import { assert, describe, it } from "@effect/vitest"
import { Utf8 } from "@scv/core"
import * as FastCheck from "effect/FastCheck"

describe("the bytes of a text", () => {
  it("are counted as they are encoded, unpaired surrogates and longest pieces included", () => {
    const units = FastCheck.string({
      unit: FastCheck.integer({ min: 0, max: 0xffff }).map((c) => String.fromCharCode(c))
    })
    FastCheck.assert(
      FastCheck.property(units, FastCheck.constantFrom(1, 30_000), (text, times) => {
        const long = text.slice(0, 8).repeat(times)
        assert.strictEqual(Utf8.byteLength(long), Utf8.encode(long).length)
      })
    )
    // A character that a piece has no room for.
    for (const rest of ["", "a", "aa", "aaa"]) {
      const long = rest + "𐍈€é".repeat(30_000)
      assert.strictEqual(Utf8.byteLength(long), Utf8.encode(long).length)
    }
  })
})
