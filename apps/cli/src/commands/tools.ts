import * as Command from "@effect/cli/Command"
import { Display, Tool, ToolRegistry } from "@scv/core"
import { LocalSession, type OfferedTool } from "@scv/runtime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Stdio } from "../Stdio.ts"
import * as options from "./options.ts"

/** `scv tools`: what there is to call. */
export const tools = (offered: ReadonlyArray<OfferedTool>) =>
  Command.make("tools", { json: options.json, workspace: options.workspace }, ({ json, workspace }) =>
    Effect.gen(function* () {
      const stdio = yield* Stdio
      const { tools } = yield* ToolRegistry.ToolRegistry
      if (json) {
        const described = yield* Effect.forEach(tools, Tool.describe)
        yield* stdio.out(`${JSON.stringify({ tools: described }, null, 2)}\n`)
        return
      }
      const width = Math.max(...tools.map((tool) => tool.name.length))
      for (const tool of tools) {
        const reason = yield* tool.unavailable
        const state = Option.isNone(reason) ? "" : `  [unavailable: ${Display.inline(reason.value)}]`
        const line = `${tool.name.padEnd(width)}  ${tool.risk.padEnd(10)}  ${Display.inline(tool.description)}${state}`
        yield* stdio.out(`${line}\n`)
      }
    }).pipe(Effect.provide(LocalSession.single({ workspace }, offered)))
  ).pipe(Command.withDescription("Lists the tools: name, risk, description, and why one is not available."))
