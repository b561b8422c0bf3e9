/** Output cut to a limit: its head and its tail stay, with one line between them that says how much is left out. */
import * as Utf8 from "./Utf8.ts"

/** The line that stands for `omitted` bytes. */
export const marker = (omitted: number): string => `\n[... ${omitted} bytes left out ...]\n`

/** What is kept of an output, and what is known of the rest. */
export interface Kept {
  /** The text: head, one line that counts what is left out, tail; or all of it. */
  readonly output: string
  /** All bytes that there were. */
  readonly output_bytes: number
  readonly truncated: boolean
  readonly omitted_bytes: number
}

/** Bytes of UTF-8 that a part takes up as text: what is broken becomes U+FFFD, which is three. */
const textLength = ({ isValid, length }: ReturnType<typeof Utf8.unitAt>): number => (isValid ? length : 3)

/** The longest beginning whose text has at most `budget` bytes; with `isOpen`, a character cut at the end is not in it. */
const headOf = (bytes: Uint8Array, budget: number, isOpen: boolean): number => {
  let used = 0
  let position = 0
  while (position < bytes.length) {
    const unit = Utf8.unitAt(bytes, position)
    used += textLength(unit)
    if (used > budget || (isOpen && unit.isCut)) break
    position += unit.length
  }
  return position
}

/** Where the longest end begins whose text has at most `budget` bytes; with `isOpen`, a cut character is not in it. */
const tailOf = (bytes: Uint8Array, budget: number, isOpen: boolean): number => {
  let begin = 0
  if (isOpen) while (begin < 3 && Utf8.isContinuation(bytes[begin])) begin++
  const ends: Array<readonly [position: number, length: number]> = []
  let used = 0
  for (let position = begin; position < bytes.length; ) {
    const unit = Utf8.unitAt(bytes, position)
    ends.push([position, textLength(unit)])
    used += textLength(unit)
    position += unit.length
  }
  for (const [position, length] of ends) {
    if (used <= budget) return position
    used -= length
  }
  return bytes.length
}

/**
 * Collects an output of any length in bounded memory: its first and its last half of `limit` bytes. The limit holds for
 * the bytes of the text too, after what is no UTF-8 was replaced.
 */
export const collector = (limit: number) => {
  const headLimit = Math.ceil(limit / 2)
  const tailLimit = limit - headLimit
  let head = new Uint8Array(Math.min(headLimit, 4096))
  let headSize = 0
  // A ring: the newest bytes, the oldest of them at `next` once it is full.
  let ring = new Uint8Array(0)
  let next = 0
  let total = 0

  const pushHead = (bytes: Uint8Array): void => {
    if (headSize + bytes.length > head.length) {
      const larger = new Uint8Array(Math.min(headLimit, Math.max(2 * head.length, headSize + bytes.length)))
      larger.set(head.subarray(0, headSize))
      head = larger
    }
    head.set(bytes, headSize)
    headSize += bytes.length
  }

  const pushTail = (bytes: Uint8Array): void => {
    if (ring.length === 0) ring = new Uint8Array(tailLimit)
    const newest = bytes.length > tailLimit ? bytes.subarray(bytes.length - tailLimit) : bytes
    const first = Math.min(newest.length, tailLimit - next)
    ring.set(newest.subarray(0, first), next)
    ring.set(newest.subarray(first), 0)
    next = (next + newest.length) % Math.max(1, tailLimit)
  }

  const tail = (): Uint8Array => {
    const size = Math.min(total - headSize, tailLimit)
    if (size < tailLimit) return ring.subarray(0, size)
    const ordered = new Uint8Array(tailLimit)
    ordered.set(ring.subarray(next))
    ordered.set(ring.subarray(0, next), tailLimit - next)
    return ordered
  }

  return {
    /** Takes the next bytes; they are copied, as far as they are kept. */
    push: (bytes: Uint8Array): void => {
      const toHead = Math.min(bytes.length, headLimit - headSize)
      if (toHead > 0) pushHead(bytes.subarray(0, toHead))
      if (toHead < bytes.length && tailLimit > 0) pushTail(bytes.subarray(toHead))
      total += bytes.length
    },
    /** All bytes so far. */
    total: (): number => total,
    /** What is kept so far. */
    kept: (): Kept => {
      const first = head.subarray(0, headSize)
      const last = tail()
      if (total <= limit) {
        const all = new Uint8Array(total)
        all.set(first)
        all.set(last, headSize)
        const text = Utf8.decode(all)
        if (text.length * 3 <= limit || Utf8.byteLength(text) <= limit) {
          return { output: text, output_bytes: total, truncated: false, omitted_bytes: 0 }
        }
        const end = headOf(all, headLimit, false)
        const rest = all.subarray(end)
        const begin = tailOf(rest, tailLimit, false)
        return joined(all.subarray(0, end), rest.subarray(begin), total)
      }
      const end = headOf(first, headLimit, true)
      return joined(first.subarray(0, end), last.subarray(tailOf(last, tailLimit, true)), total)
    }
  }
}

const joined = (head: Uint8Array, tail: Uint8Array, total: number): Kept => {
  const omitted = total - head.length - tail.length
  return {
    output: Utf8.decode(head) + marker(omitted) + Utf8.decode(tail),
    output_bytes: total,
    truncated: true,
    omitted_bytes: omitted
  }
}

export type Collector = ReturnType<typeof collector>
