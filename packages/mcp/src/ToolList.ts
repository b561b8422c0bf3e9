/** The tools of a session as `tools/list` shows them. */
import type { Tool as McpTool, ToolAnnotations } from "@modelcontextprotocol/server"
import { type JsonObject, JsonSchema, type Session, type Tool, ToolResult, type ToolRisk } from "@scv/core"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

/**
 * What a risk means in the protocol's words. They are hints of what the least of a tool's calls does: a call of more
 * than that is asked about, whatever a client makes of the hint. Source: MCP, "ToolAnnotations".
 */
const hints: Record<ToolRisk, ToolAnnotations> = {
  read_only: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  filesystem: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  process: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  delegate: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true }
}

/** `read_skill` as a person reads it: `Read skill`. */
const titleOf = (name: string): string => {
  const words = name.replace(/[_-]+/g, " ").trim()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** The schema of a tool's structured content: the envelope, in success and in failure alike. */
const envelopeOf = (tool: Tool.Tool, envelope: JsonObject): JsonObject => ({
  ...envelope,
  properties: {
    ...(envelope.properties as JsonObject),
    tool: { type: "string", enum: [tool.name] },
    result: tool.outputSchema
  }
})

const describe = (tool: Tool.Tool, envelope: JsonObject): McpTool => ({
  name: tool.name,
  title: titleOf(tool.name),
  description: tool.description,
  inputSchema: tool.inputSchema as McpTool["inputSchema"],
  outputSchema: envelopeOf(tool, envelope) as McpTool["inputSchema"],
  annotations: { title: titleOf(tool.name), ...hints[tool.risk] }
})

/** The tools that can be called here and now; one that lacks its program is left out until it is there. */
export const list = (session: Session.Session): Effect.Effect<Array<McpTool>> =>
  Effect.gen(function* () {
    const envelope = yield* Effect.orDie(JsonSchema.of(ToolResult))
    const available = yield* Effect.filter(session.tools, (tool) => Effect.map(tool.unavailable, Option.isNone))
    return available.map((tool) => describe(tool, envelope))
  })
