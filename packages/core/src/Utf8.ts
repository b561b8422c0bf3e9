/** UTF-8 by the Encoding standard, which every JavaScript platform has. */

declare const TextEncoder: new () => {
  readonly encode: (text: string) => Uint8Array
  readonly encodeInto: (text: string, into: Uint8Array) => { readonly read: number; readonly written: number }
}
declare const TextDecoder: new (
  label: "utf-8",
  options: { readonly fatal?: boolean; readonly ignoreBOM: true }
) => { readonly decode: (bytes: Uint8Array) => string }

const encoder = new TextEncoder()
const lossy = new TextDecoder("utf-8", { ignoreBOM: true })
const strict = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true })

export const encode = (text: string): Uint8Array => encoder.encode(text)

let scratch: Uint8Array | undefined

/** How many bytes {@link encode} would give, without making them. */
export const byteLength = (text: string): number => {
  scratch ??= new Uint8Array(65_536)
  let length = 0
  for (let rest = text; rest !== ""; ) {
    const { read, written } = encoder.encodeInto(rest, scratch)
    length += written
    rest = rest.slice(read)
  }
  return length
}

/** Decodes; what is no UTF-8 becomes U+FFFD. A byte order mark is kept. */
export const decode = (bytes: Uint8Array): string => lossy.decode(bytes)

/** Decodes, or undefined where a byte is no UTF-8. A byte order mark is kept. */
export const decodeStrict = (bytes: Uint8Array): string | undefined => {
  try {
    return strict.decode(bytes)
  } catch {
    return undefined
  }
}

/** Whether a byte is inside a character: not its first. */
export const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

/** The longest character, in bytes. */
export const longest = 4

const characterLength = (first: number): number => (first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4)

/** The whole character around a cut, as positions in `bytes`, or undefined where there is none. */
export const characterAround = (bytes: Uint8Array, cut: number): readonly [start: number, end: number] | undefined => {
  let start = cut
  while (start > 0 && cut - start < longest && isContinuation(bytes[start])) start--
  const first = bytes[start]
  if (first === undefined || start === cut) return undefined
  const end = start + characterLength(first)
  return end > cut && end <= bytes.length && decodeStrict(bytes.subarray(start, end)) !== undefined
    ? [start, end]
    : undefined
}

/** A cut that splits no character: the given one, or the one before the character around it. */
export const boundaryBefore = (bytes: Uint8Array, cut: number): number => characterAround(bytes, cut)?.[0] ?? cut

/**
 * How many bytes at a position belong together: a whole character, or the longest part of one that is broken off, which
 * decodes to one U+FFFD. `isCut` where the bytes end before it can be told. Source: the Encoding standard; Unicode,
 * table 3-7.
 */
export const unitAt = (
  bytes: Uint8Array,
  position: number
): { readonly length: number; readonly isValid: boolean; readonly isCut: boolean } => {
  const first = bytes[position]!
  if (first < 0x80) return { length: 1, isValid: true, isCut: false }
  const size = first >= 0xc2 && first <= 0xdf ? 2 : (first & 0xf0) === 0xe0 ? 3 : first >= 0xf0 && first <= 0xf4 ? 4 : 1
  if (size === 1) return { length: 1, isValid: false, isCut: false }
  const low = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80
  const high = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf
  for (let length = 1; length < size; length++) {
    const next = bytes[position + length]
    if (next === undefined) return { length, isValid: false, isCut: true }
    const isGood = length === 1 ? next >= low && next <= high : isContinuation(next)
    if (!isGood) return { length, isValid: false, isCut: false }
  }
  return { length: size, isValid: true, isCut: false }
}
