import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { suggestion } from "./Nearest.ts"
import type { Tool, UnusableTool } from "./Tool.ts"
import { ToolError } from "./ToolError.ts"

/** Two tools of one name in a registry. */
export class DuplicateTool extends Schema.TaggedError<DuplicateTool>()("DuplicateTool", {
  tool: Schema.String
}) {
  override get message(): string {
    return `there is already a tool named ${JSON.stringify(this.tool)}`
  }
}

/** The tools of a session, by name. */
export class ToolRegistry extends Context.Tag("@scv/core/ToolRegistry")<
  ToolRegistry,
  {
    /** All tools, in the order of registration. */
    readonly tools: ReadonlyArray<Tool>
    /** The tool of that name; an error of kind `unknown_tool` names the nearest one and all that there are. */
    readonly get: (name: string) => Effect.Effect<Tool, ToolError>
  }
>() {}

/** A registry of the given tools. */
export const make = (tools: ReadonlyArray<Tool>): Effect.Effect<typeof ToolRegistry.Service, DuplicateTool> =>
  Effect.gen(function* () {
    const byName = new Map<string, Tool>()
    for (const tool of tools) {
      if (byName.has(tool.name)) return yield* new DuplicateTool({ tool: tool.name })
      byName.set(tool.name, tool)
    }
    const names = [...byName.keys()]
    return {
      tools: [...byName.values()],
      get: (name) => {
        const tool = byName.get(name)
        if (tool !== undefined) return Effect.succeed(tool)
        const known = names.length === 0 ? "there are none" : `known: ${names.join(", ")}`
        return Effect.fail(
          new ToolError({
            kind: "unknown_tool",
            message: `no tool named ${JSON.stringify(name.slice(0, 64))}${suggestion(name, names)}; ${known}`
          })
        )
      }
    }
  })

/** A registry of tools that may need services of their own and each other's layers. */
export const layer = <R = never>(
  tools: ReadonlyArray<Effect.Effect<Tool, UnusableTool, R>>
): Layer.Layer<ToolRegistry, DuplicateTool | UnusableTool, R> =>
  Layer.effect(ToolRegistry, Effect.flatMap(Effect.all(tools), make))
