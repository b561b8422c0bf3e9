import * as Schema from "effect/Schema"

/**
 * The name of a tool: a letter, then up to 63 letters, digits, `_` or `-`. Every protocol that carries tools (MCP, the
 * model providers' function calls) accepts these names.
 */
export const ToolName = Schema.String.pipe(Schema.pattern(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/))

export type ToolName = typeof ToolName.Type
