/**
 * The one place where untrusted text is made safe to show to a person or to put into a prompt. Every control, bidi,
 * zero-width, line-separator and otherwise invisible character becomes a visible escape, so that what is shown can
 * neither redraw a screen nor hide a part of itself. Escaping is idempotent.
 */

// Cc, Cf, Zl, Zp, unpaired surrogates, unassigned and private code points, and whatever Unicode calls ignorable.
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}\u2800]/gu

const named: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }

const escape = (character: string): string => {
  const code = character.codePointAt(0)!
  return named[character] ?? (code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`)
}

/** One line: line breaks become escapes too. */
export const inline = (text: string): string => text.replace(unsafe, escape)

const jsonEscape = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, unit) => `\\u${character.charCodeAt(unit).toString(16).padStart(4, "0")}`
  ).join("")

/** JSON text that means the same, with every such character in its strings as an escape of JSON's own. */
export const json = (text: string): string =>
  // Most text is ASCII, for which the large pattern is slow.
  text.replace(/[^\x20-\x7e]+/g, (run) => run.replace(unsafe, jsonEscape))

/** One line of at most `max` characters (Unicode code points); a longer one says how many are left out. */
export const bounded = (text: string, max: number): string => {
  // A code point is one or two UTF-16 units: a text of up to `max` units needs no count.
  if (text.length <= max) return inline(text)
  const points = Array.from(text)
  if (points.length <= max) return inline(text)
  return `${inline(points.slice(0, max).join(""))}… (${points.length - max} more characters)`
}

/** Any number of lines; a line break (LF) stays, everything else is as in {@link inline}. */
export const lines = (text: string): string => text.split("\n").map(inline).join("\n")

/** Like {@link lines}, with every line after the first set in behind a bar, so that none can pose as ours. */
export const block = (text: string): string => text.split("\n").map(inline).join("\n    | ")

/**
 * The rows of an approval summary: one `label: value` a row, a value of several lines set in as a {@link block}. A value
 * that begins with a line break begins on a line of its own.
 */
export const summary = (title: string, rows: ReadonlyArray<readonly [label: string, value: string]>): string => {
  const row = ([label, value]: readonly [string, string]) =>
    `  ${label}:${value.startsWith("\n") ? "" : " "}${block(value)}`
  return [inline(title), ...rows.map(row)].join("\n")
}
