import { assert, describe, it } from "@effect/vitest"
import { Display } from "@scv/core"
import * as FastCheck from "effect/FastCheck"

const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/u

const anyText = FastCheck.string({ unit: "binary", maxLength: 60 })

describe("Display", () => {
  it("shows what cannot be seen", () => {
    const shown = {
      "a\nb\tc\r": "a\\nb\\tc\\r",
      "\u001b[31mred\u0007": "\\x1b[31mred\\x07",
      "\u202ereversed\u2069": "\\u{202e}reversed\\u{2069}",
      "zero\u200bwidth\ufeff": "zero\\u{200b}width\\u{feff}",
      "line\u2028par\u2029nel\u0085": "line\\u{2028}par\\u{2029}nel\\x85",
      "tag\u{e0041}": "tag\\u{e0041}",
      "\ud800": "\\u{d800}",
      "hangul\u3164 soft\u00ad": "hangul\\u{3164} soft\\u{ad}".replace("\\u{ad}", "\\xad"),
      "plain äöü 你好 😀 → ok": "plain äöü 你好 😀 → ok"
    }
    for (const [text, expected] of Object.entries(shown)) assert.strictEqual(Display.inline(text), expected)
  })

  it.prop("leaves nothing invisible, whatever it is given, and changes nothing twice", [anyText], ([text]) => {
    const shown = Display.inline(text)
    assert.notMatch(shown, invisible)
    assert.strictEqual(Display.inline(shown), shown)
    assert.notMatch(Display.lines(text).replaceAll("\n", ""), invisible)
  })

  it("says how much it leaves out", () => {
    assert.strictEqual(Display.bounded("😀".repeat(10), 10), "😀".repeat(10))
    assert.strictEqual(Display.bounded("😀".repeat(12), 10), `${"😀".repeat(10)}… (2 more characters)`)
  })

  it.prop("sets every line of a value in, so that none can pose as ours", [anyText, anyText], ([label, value]) => {
    const [title, ...rows] = Display.summary("call", [["label", `${label}\n${value}`]]).split("\n")
    assert.strictEqual(title, "call")
    for (const [index, row] of rows.entries()) assert.isTrue(row.startsWith(index === 0 ? "  label:" : "    | "))
  })
})
