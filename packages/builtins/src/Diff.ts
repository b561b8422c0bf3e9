/** What a write would change, as a person reads it. */
import { Display } from "@scv/core"
import { structuredPatch } from "diff"

/** The most lines that are shown. */
const maxLines = 200

/** The most bytes of either text that are compared; the time of a comparison grows with what differs. */
export const maxCompared = 262_144

/** How long a comparison may take, in milliseconds. */
const patience = 200

/** The most characters of a line that are shown. */
const maxWidth = 200

const bounded = (lines: ReadonlyArray<string>): string => {
  const shown =
    lines.length <= maxLines
      ? lines
      : [
          ...lines.slice(0, maxLines - maxLines / 4),
          `[... ${lines.length - maxLines} lines left out ...]`,
          ...lines.slice(-maxLines / 4)
        ]
  return shown.map((line) => Display.bounded(line, maxWidth)).join("\n")
}

const linesOf = (text: string): ReadonlyArray<string> => (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n")

/** All of a new text, bounded, each line with a `+`. */
export const ofNew = (text: string): string =>
  text === "" ? "(empty)" : bounded(linesOf(text).map((line) => `+${line}`))

/** A unified diff, bounded; of texts that are too different to compare in time, the new one. */
export const between = (before: string, after: string): string => {
  if (before === after) return "(the same content)"
  const patch = structuredPatch("", "", before, after, "", "", { context: 3, timeout: patience })
  if (patch === undefined) return `(too different to compare)\n${ofNew(after)}`
  return bounded(
    patch.hunks.flatMap(({ lines, newLines, newStart, oldLines, oldStart }) => [
      `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`,
      ...lines
    ])
  )
}
