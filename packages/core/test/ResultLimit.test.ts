import { assert, describe, it } from "@effect/vitest"
import { type Json, ResultLimit } from "@scv/core"
import * as FastCheck from "effect/FastCheck"

const text = FastCheck.string({ unit: "grapheme", maxLength: 200 })

const marked = /^(.*)\n\[\.\.\. (\d+) bytes left out \.\.\.\]\n(.*)$/s

describe("clip", () => {
  it("keeps head and tail and counts what is between", () => {
    assert.strictEqual(ResultLimit.clip("0123456789", 10), "0123456789")
    assert.strictEqual(ResultLimit.clip("0123456789", 4), "01\n[... 6 bytes left out ...]\n89")
    assert.strictEqual(ResultLimit.clip("€€€€", 7), "€\n[... 6 bytes left out ...]\n€")
  })

  it.prop(
    "cuts no character, keeps to the limit and accounts for every byte",
    [text, FastCheck.nat(60)],
    ([all, limit]) => {
      const size = Buffer.byteLength(all)
      const clipped = ResultLimit.clip(all, limit)
      if (size <= limit) {
        assert.strictEqual(clipped, all)
        return
      }
      const [, head = "", omitted = "", tail = ""] = marked.exec(clipped) ?? []
      assert.isTrue(all.startsWith(head) && all.endsWith(tail))
      assert.isAtMost(Buffer.byteLength(head + tail), limit)
      assert.strictEqual(Buffer.byteLength(head + tail) + Number(omitted), size)
    }
  )
})

describe("bound", () => {
  it("clips the longest texts and leaves the short ones", () => {
    const bounded = ResultLimit.bound({ id: "short", log: "x".repeat(5000), more: ["y".repeat(5000)] }, 2000)
    const { id, log, more } = bounded as { id: string; log: string; more: ReadonlyArray<string> }
    assert.strictEqual(id, "short")
    assert.match(log, marked)
    assert.match(more[0] ?? "", marked)
  })

  it("gives up on what no clipping makes small enough", () => {
    assert.isUndefined(
      ResultLimit.bound(
        Array.from({ length: 1000 }, () => 1),
        2000
      )
    )
  })

  const json = FastCheck.jsonValue({ maxDepth: 3 }) as FastCheck.Arbitrary<Json>

  it.prop("keeps what fits as it is", [json], ([value]) => {
    assert.deepStrictEqual(ResultLimit.bound(value, 1_000_000), value)
  })
})
