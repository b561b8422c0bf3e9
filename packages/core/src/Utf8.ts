/** UTF-8 by the Encoding standard, which every JavaScript platform has. */

declare const TextEncoder: new () => { readonly encode: (text: string) => Uint8Array }
declare const TextDecoder: new (
  label: "utf-8",
  options: { readonly fatal?: boolean; readonly ignoreBOM: true }
) => { readonly decode: (bytes: Uint8Array) => string }

const encoder = new TextEncoder()
const lossy = new TextDecoder("utf-8", { ignoreBOM: true })
const strict = new TextDecoder("utf-8", { ignoreBOM: true, fatal: true })

export const encode = (text: string): Uint8Array => encoder.encode(text)

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
