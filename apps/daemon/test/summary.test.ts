import { assert, describe, it } from "@effect/vitest"
import { Display } from "@scv/core"
import * as FastCheck from "effect/FastCheck"
import { parse } from "../page/summary.ts"
import { spanOf } from "../page/text.ts"

const label = FastCheck.constantFrom("mode", "leads to", "change", "command", "risk")

/** Values of several lines, some of which look like rows or like what sets rows in. */
const value = FastCheck.array(
  FastCheck.oneof(FastCheck.string(), FastCheck.constantFrom("  risk: read_only", "    | +x", "", "\u202e<b>", "a: b")),
  { minLength: 1, maxLength: 5 }
).map((lines) => lines.join("\n"))

const shown = (text: string): string => Display.lines(text)

describe("the rows of a summary", () => {
  it("are told apart again, and nothing in a value becomes one", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.string(), FastCheck.array(FastCheck.tuple(label, value)), (title, rows) => {
        const { rows: found, title: foundTitle } = parse(Display.summary(title, rows))
        assert.strictEqual(foundTitle, Display.inline(title))
        assert.deepStrictEqual(
          found.map(({ label }) => label),
          rows.map(([label]) => label)
        )
        for (const [index, [, value]] of rows.entries()) {
          // A first line that is empty begins the value on a line of its own.
          const expected = shown(value.startsWith("\n") ? value.slice(1) : value)
          assert.strictEqual(found[index]?.value, expected)
        }
      })
    )
  })

  it("of another form are shown as they are", () => {
    assert.deepStrictEqual(parse("title\nfree text\n  a: b"), {
      title: "title",
      rows: [
        { label: "", value: "free text" },
        { label: "a", value: "b" }
      ]
    })
  })
})

describe("a span of time", () => {
  it("is as exact as a person wants it", () => {
    const spans = [0, 999, 1500, 9_960, 10_400, 59_499, 65_000, 600_000, 7_209_000].map(spanOf)
    assert.deepStrictEqual(spans, ["0 ms", "999 ms", "1.5 s", "10.0 s", "10 s", "59 s", "1:05", "10:00", "2:00:09"])
  })
})
