/** The summary of a plan, taken apart again into the rows that `Display.summary` of core made it of. */

export interface Row {
  readonly label: string
  readonly value: string
}

export interface Summary {
  readonly title: string
  readonly rows: ReadonlyArray<Row>
}

/** What sets in the further lines of a value, so that none of them can pose as a row. */
const bar = "    | "

export const parse = (text: string): Summary => {
  const [title = "", ...rest] = text.split("\n")
  const rows: Array<{ label: string; value: Array<string> }> = []
  for (const line of rest) {
    const last = rows.at(-1)
    const [, label, value = ""] = /^ {2}([^ :][^:]*):(?: (.*))?$/s.exec(line) ?? []
    if (line.startsWith(bar) && last !== undefined) last.value.push(line.slice(bar.length))
    else if (label !== undefined) rows.push({ label, value: value === "" ? [] : [value] })
    else rows.push({ label: "", value: [line] })
  }
  return { title, rows: rows.map(({ label, value }) => ({ label, value: value.join("\n") })) }
}
