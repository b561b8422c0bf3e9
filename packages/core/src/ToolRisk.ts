import * as Schema from "effect/Schema"

/** What a call can do, from nothing to everything. Source: spec, "Tool extension contract". */
export const ToolRisk = Schema.Literal("read_only", "filesystem", "process", "delegate")

export type ToolRisk = typeof ToolRisk.Type

/** The graver of two risks. */
export const gravest = (a: ToolRisk, b: ToolRisk): ToolRisk =>
  ToolRisk.literals.indexOf(a) >= ToolRisk.literals.indexOf(b) ? a : b
