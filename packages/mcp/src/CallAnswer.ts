/** An envelope as the answer to `tools/call`: the envelope itself as structured content, and text for a model to read. */
import type { CallToolResult } from "@modelcontextprotocol/server"
import type { ToolResult } from "@scv/core"

/** The longest text that stands in a row of the first part. */
const maxInline = 200

const isInline = (value: unknown): boolean =>
  typeof value !== "string" || (value.length <= maxInline && !/[\n\r]/.test(value))

const row = (name: string, value: unknown): string =>
  `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`

const fieldsOf = (result: unknown): ReadonlyArray<readonly [string, unknown]> => {
  if (result === undefined) return []
  return typeof result === "object" && result !== null && !Array.isArray(result)
    ? Object.entries(result)
    : [["result", result]]
}

/**
 * The text parts: the first says how the call ended, with what is short; each text of several lines is a part of its
 * own, unchanged, so that nothing in it can pass for a word of ours.
 */
const textsOf = ({ error, result, status, tool }: ToolResult): ReadonlyArray<string> => {
  const fields = fieldsOf(result)
  const texts = fields.filter(([, value]) => !isInline(value))
  const rows = fields.map(([name, value]) =>
    isInline(value)
      ? row(name, value)
      : `${name}: part ${texts.findIndex((text) => text[0] === name) + 2} of this answer`
  )
  const kind = error === undefined || error.kind === status ? "" : ` (${error.kind})`
  const why = error === undefined ? "" : `${kind}: ${error.message}`
  return [[`${tool} ${status}${why}`, ...rows].join("\n"), ...texts.map(([, value]) => String(value))]
}

/** The answer to a call, an error unless the call completed. */
export const of = (envelope: ToolResult): CallToolResult => ({
  content: textsOf(envelope).map((text) => ({ type: "text", text })),
  structuredContent: { ...envelope },
  isError: envelope.status !== "completed"
})
