/** Results of tools held to a limit, whatever their shape. */
import { marker } from "./BoundedOutput.ts"
import type { Json } from "./Json.ts"
import * as Utf8 from "./Utf8.ts"

/**
 * The first and the last halves of a text, together at most `limit` bytes of UTF-8 (the line between them not counted),
 * cut on character boundaries. A text within the limit comes back as it is.
 */
export const clip = (text: string, limit: number): string => {
  if (text.length * 3 <= limit) return text
  const bytes = Utf8.encode(text)
  if (bytes.length <= limit) return text
  let head = Math.ceil(limit / 2)
  while (head > 0 && Utf8.isContinuation(bytes[head])) head--
  let tail = bytes.length - Math.floor(limit / 2)
  while (Utf8.isContinuation(bytes[tail])) tail++
  return Utf8.decode(bytes.subarray(0, head)) + marker(tail - head) + Utf8.decode(bytes.subarray(tail))
}

/** What a value weighs that is no text, in bytes: its own few characters and its separators. */
const valueWeight = 8

const texts = (json: Json, found: Array<number>): number => {
  if (typeof json === "string") {
    found.push(json.length * 3 > 1024 ? Utf8.byteLength(json) : json.length * 3)
    return valueWeight
  }
  if (typeof json !== "object" || json === null) return valueWeight
  let weight = valueWeight
  for (const [key, value] of Object.entries(json))
    weight += (Array.isArray(json) ? 0 : key.length) + texts(value, found)
  return weight
}

/** The length to which texts must be cut so that together they hold at most `budget` bytes; the short ones stay whole. */
const fairShare = (lengths: ReadonlyArray<number>, budget: number): number => {
  let left = budget
  const ascending = [...lengths].sort((a, b) => a - b)
  for (const [index, length] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - index))
    if (length > share) return share
    left -= length
  }
  return Number.POSITIVE_INFINITY
}

const clipTexts = (json: Json, limit: number): Json => {
  if (typeof json === "string") return clip(json, limit)
  if (Array.isArray(json)) return json.map((item) => clipTexts(item, limit))
  if (typeof json !== "object" || json === null) return json
  return Object.fromEntries(Object.entries(json).map(([key, value]) => [key, clipTexts(value, limit)]))
}

/**
 * A result held to `limit` bytes: where its texts are longer than that together, the longest of them are clipped.
 * Undefined where even then it is too large, because of the number of its values.
 */
export const bound = (json: Json, limit: number): Json | undefined => {
  if (limit === Number.POSITIVE_INFINITY) return json
  const lengths: Array<number> = []
  const structure = texts(json, lengths)
  if (structure + lengths.reduce((sum, length) => sum + length, 0) <= limit) return json
  const share = fairShare(lengths, limit - structure)
  return share < valueWeight || structure > limit ? undefined : clipTexts(json, share)
}
