import { assert, describe, it } from "@effect/vitest"
import { BoundedOutput, Utf8 } from "@scv/core"
import * as FastCheck from "effect/FastCheck"

/** What belongs together, over bytes as Latin-1: whole characters first, then the longest broken parts. */
const wholes = [
  "[\\x00-\\x7f]",
  "[\\xc2-\\xdf][\\x80-\\xbf]",
  "\\xe0[\\xa0-\\xbf][\\x80-\\xbf]",
  "[\\xe1-\\xec\\xee\\xef][\\x80-\\xbf]{2}",
  "\\xed[\\x80-\\x9f][\\x80-\\xbf]",
  "\\xf0[\\x90-\\xbf][\\x80-\\xbf]{2}",
  "[\\xf1-\\xf3][\\x80-\\xbf]{3}",
  "\\xf4[\\x80-\\x8f][\\x80-\\xbf]{2}"
].join("|")
const broken = [
  "\\xe0[\\xa0-\\xbf]",
  "[\\xe1-\\xec\\xee\\xef][\\x80-\\xbf]",
  "\\xed[\\x80-\\x9f]",
  "\\xf0[\\x90-\\xbf][\\x80-\\xbf]?",
  "[\\xf1-\\xf3][\\x80-\\xbf]{1,2}",
  "\\xf4[\\x80-\\x8f][\\x80-\\xbf]?",
  "[^]"
].join("|")
const unit = new RegExp(`(${wholes})|${broken}`, "g")

const unitsOf = (bytes: Uint8Array) =>
  [...Buffer.from(bytes).toString("latin1").matchAll(unit)].map(({ 0: text, 1: whole, index }) => ({
    position: index,
    length: text.length,
    isValid: whole !== undefined
  }))

const decode = (bytes: Uint8Array): string => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes)

const valid = FastCheck.string({ unit: "binary", maxLength: 200 }).map((text) => Buffer.from(text.toWellFormed()))
const edges = [0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xed, 0xee]
const byte = FastCheck.oneof(
  FastCheck.constantFrom(...edges, 0xef, 0xf0, 0xf1, 0xf4, 0xf5, 0xff),
  FastCheck.integer({ min: 0x80, max: 0xbf }),
  FastCheck.nat(255)
)
const invalid = FastCheck.array(byte, { maxLength: 300 }).map((bytes) => Buffer.from(bytes))
const mixed = FastCheck.array(FastCheck.oneof(valid, invalid), { maxLength: 4 }).map((parts) => Buffer.concat(parts))
const anyBytes = FastCheck.oneof(valid, invalid, mixed)
const long = FastCheck.tuple(anyBytes, FastCheck.integer({ min: 1, max: 100 })).map(([bytes, times]) =>
  Buffer.concat(Array.from({ length: times }, () => bytes))
)
const smallLimit = FastCheck.nat(200)
const largeLimit = FastCheck.integer({ min: 200, max: 20_000 })
const cuts = FastCheck.array(FastCheck.nat(40), { maxLength: 30 })

const collected = (bytes: Uint8Array, limit: number, sizes: ReadonlyArray<number> = []): BoundedOutput.Kept => {
  const collector = BoundedOutput.collector(limit)
  let from = 0
  for (const size of sizes) {
    // The bytes are only good during the call.
    const chunk = Uint8Array.from(bytes.subarray(from, from + size))
    collector.push(chunk)
    chunk.fill(63)
    from += size
    if (size % 7 === 0) collector.kept()
  }
  collector.push(bytes.subarray(from))
  assert.strictEqual(collector.total(), bytes.length)
  return collector.kept()
}

/** The two texts around the line that says how much is left out. */
const partsOf = ({ omitted_bytes, output }: BoundedOutput.Kept) => {
  const marker = `\n[... ${omitted_bytes} bytes left out ...]\n`
  const at = output.indexOf(marker)
  assert.isTrue(at >= 0, "no marker")
  return { head: output.slice(0, at), tail: output.slice(at + marker.length) }
}

/** Short messages only. */
const same = (a: string, b: string, what: string): void => assert.isTrue(a === b, what)

const holds = (bytes: Uint8Array, limit: number): void => {
  const kept = collected(bytes, limit)
  const text = decode(bytes)
  assert.strictEqual(kept.output_bytes, bytes.length)
  const fits = Buffer.byteLength(text) <= limit
  assert.strictEqual(kept.truncated, !fits)
  if (fits) {
    same(kept.output, text, "not the text")
    assert.strictEqual(kept.omitted_bytes, 0)
    return
  }
  const { head, tail } = partsOf(kept)
  const [headBytes, tailBytes] = [Buffer.byteLength(head), Buffer.byteLength(tail)]
  assert.isAtMost(headBytes, Math.ceil(limit / 2))
  assert.isAtMost(tailBytes, Math.floor(limit / 2))
  // The raw bytes that were kept: some beginning and some end, around as many as were counted.
  const units = unitsOf(bytes)
  const within = (position: number): boolean =>
    units.some((unit) => unit.isValid && unit.position < position && position < unit.position + unit.length)
  let isFound = false
  for (let from = 0; from <= headBytes && !isFound; from++) {
    const to = from + kept.omitted_bytes
    isFound =
      to <= bytes.length &&
      decode(bytes.subarray(0, from)) === head &&
      decode(bytes.subarray(to)) === tail &&
      !within(from) &&
      !within(to)
  }
  assert.isTrue(isFound, "wrong number of omitted bytes, or a character was cut")
}

describe("collector", () => {
  it.prop("keeps its rules for any bytes and small limits", [anyBytes, smallLimit], ([b, l]) => holds(b, l), {
    fastCheck: { numRuns: 1000 }
  })

  it.prop("keeps its rules for long output and larger limits", [long, largeLimit], ([b, l]) => holds(b, l), {
    fastCheck: { numRuns: 200 }
  })

  it.prop(
    "gives the same however the bytes come",
    [anyBytes, FastCheck.oneof(smallLimit, largeLimit), cuts],
    ([bytes, limit, sizes]) => {
      const [whole, chunked] = [collected(bytes, limit), collected(bytes, limit, sizes)]
      same(JSON.stringify(whole), JSON.stringify(chunked), "depends on the chunks")
      same(JSON.stringify(whole), JSON.stringify(collected(bytes, limit, [...bytes].fill(1))), "depends on the chunks")
    },
    { fastCheck: { numRuns: 500 } }
  )

  it.prop(
    "cuts valid text on its characters, and no shorter than it must",
    [valid, smallLimit],
    ([bytes, limit]) => {
      const text = decode(bytes)
      const kept = collected(bytes, limit)
      if (!kept.truncated) return
      const { head, tail } = partsOf(kept)
      assert.isTrue(text.startsWith(head), "head is no prefix")
      assert.isTrue(text.endsWith(tail), "tail is no suffix")
      assert.isTrue(text.includes("\ufffd") || !kept.output.includes("\ufffd"), "a cut character was replaced")
      const [headBytes, tailBytes] = [Buffer.byteLength(head), Buffer.byteLength(tail)]
      assert.strictEqual(headBytes + tailBytes + kept.omitted_bytes, bytes.length)
      assert.isAbove(headBytes, Math.ceil(limit / 2) - 4)
      assert.isAbove(tailBytes, Math.floor(limit / 2) - 4)
    },
    { fastCheck: { numRuns: 1000 } }
  )

  it("holds the limit where replacement triples the size", () => {
    for (const size of [50, 100, 101, 1000]) {
      const kept = collected(new Uint8Array(size).fill(0xff), 100)
      const { head, tail } = partsOf(kept)
      assert.strictEqual(head, "\ufffd".repeat(16))
      assert.strictEqual(tail, "\ufffd".repeat(16))
      assert.strictEqual(kept.omitted_bytes, size - 32)
    }
    assert.isFalse(collected(new Uint8Array(33).fill(0xff), 99).truncated)
  })

  it("keeps nothing but the count where the limit is 0", () => {
    assert.deepStrictEqual(collected(Buffer.from("abc"), 0), {
      output: "\n[... 3 bytes left out ...]\n",
      output_bytes: 3,
      truncated: true,
      omitted_bytes: 3
    })
    assert.deepInclude(collected(new Uint8Array(), 0), { output: "", truncated: false })
  })

  it("keeps 2048 bytes of each end of a long listing, with the error that ends it", () => {
    const numbers = Array.from({ length: 9000 }, (_, index) => `${1000 + index}\n`).join("")
    const all = `${numbers}ls: no such file\n`
    const kept = collected(Buffer.from(all), 4096, [1, 4095, 4096, 65])
    assert.deepInclude(kept, { output_bytes: 45_017, truncated: true, omitted_bytes: 40_921 })
    const { head, tail } = partsOf(kept)
    same(head, all.slice(0, 2048), "head")
    same(tail, all.slice(-2048), "tail")
  })
})

describe("Utf8", () => {
  it.prop(
    "tells apart what TextDecoder does",
    [anyBytes],
    ([bytes]) => {
      const units: ReturnType<typeof unitsOf> = []
      let text = ""
      for (let position = 0; position < bytes.length; ) {
        const { isCut, isValid, length } = Utf8.unitAt(bytes, position)
        units.push({ position, length, isValid })
        const part = decode(bytes.subarray(position, position + length))
        if (!isValid) same(part, "\ufffd", "a broken part is one replacement")
        // Only what ends with the bytes can be cut; more of them could make it whole.
        if (isCut) assert.strictEqual(position + length, bytes.length)
        text += part
        position += length
      }
      same(JSON.stringify(units), JSON.stringify(unitsOf(bytes)), "other units")
      same(text, decode(bytes), "another text")
      same(Utf8.decode(bytes), decode(bytes), "another decoding")
      assert.strictEqual(
        Utf8.decodeStrict(bytes) !== undefined,
        units.every(({ isValid }) => isValid)
      )
    },
    { fastCheck: { numRuns: 2000 } }
  )

  it.prop("says of every cut character that it is cut", [valid], ([bytes]) => {
    for (const { length, position } of unitsOf(bytes)) {
      for (let size = 1; size < length; size++) {
        const cut = Utf8.unitAt(bytes.subarray(0, position + size), position)
        assert.deepStrictEqual(cut, { length: size, isValid: false, isCut: true })
      }
    }
  })
})
