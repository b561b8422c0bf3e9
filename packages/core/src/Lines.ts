/** Bytes that come in pieces, as lines in bounded memory: framed by LF alone. */

/** A line without its end, or the number of bytes of one that is too long. */
export type Line = { readonly bytes: Uint8Array } | { readonly tooLong: number }

const joined = (parts: ReadonlyArray<Uint8Array>, length: number): Uint8Array => {
  if (parts.length === 1) return parts[0]!
  const all = new Uint8Array(length)
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.length
  }
  return all
}

/** Takes pieces and gives the lines that end in them; a line of more than `maxBytes` is counted and not kept. */
export const framer = (maxBytes: number) => {
  let parts: Array<Uint8Array> = []
  let size = 0

  const add = (piece: Uint8Array): void => {
    size += piece.length
    if (size <= maxBytes) parts.push(piece)
    else parts = []
  }

  const take = (): Line => {
    const line = size > maxBytes ? { tooLong: size } : { bytes: joined(parts, size) }
    parts = []
    size = 0
    return line
  }

  return {
    push: (bytes: Uint8Array): ReadonlyArray<Line> => {
      const lines: Array<Line> = []
      let from = 0
      for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, from)) {
        add(bytes.subarray(from, end))
        lines.push(take())
        from = end + 1
      }
      add(bytes.subarray(from))
      return lines
    },
    /** The line that has begun and not ended, if there is one. */
    end: (): ReadonlyArray<Line> => (size > 0 ? [take()] : [])
  }
}
