import { assert, describe, it } from "@effect/vitest"
import { Lines, Utf8 } from "@scv/core"
import * as FastCheck from "effect/FastCheck"

const shown = (line: Lines.Line) => ("tooLong" in line ? line.tooLong : Utf8.decode(line.bytes))

describe("the framer", () => {
  it.prop(
    "finds the same lines however the bytes are cut, and counts those that are too long",
    {
      lines: FastCheck.array(FastCheck.string({ maxLength: 12 })),
      cuts: FastCheck.array(FastCheck.nat(9)),
      max: FastCheck.nat(9)
    },
    ({ cuts, lines, max }) => {
      const clean = lines.map((line) => line.replaceAll("\n", "").toWellFormed())
      const bytes = Utf8.encode(clean.join("\n"))
      const { end, push } = Lines.framer(max)
      const found: Array<Lines.Line> = []
      let at = 0
      for (const cut of [...cuts, bytes.length]) {
        found.push(...push(bytes.subarray(at, at + cut)))
        at += cut
      }
      found.push(...end())
      const expected = clean
        .filter((line, index) => index < clean.length - 1 || line !== "")
        .map((line) => (Utf8.encode(line).length > max ? Utf8.encode(line).length : line))
      assert.deepStrictEqual(found.map(shown), expected)
    }
  )
})
