/** The layers that connect a session to this machine. */
import * as os from "node:os"
import * as path from "node:path"
import { read, write } from "@scv/builtins"
import { type Digest, type Home, Limits, type Tool, ToolRegistry, Workspace } from "@scv/core"
import { NodeDigest, NodeDirectory, NodeHome } from "@scv/node"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Unusable } from "./Unusable.ts"

/** What a tool may need. */
type ToolServices = Workspace.Workspace | Limits.Limits | Digest | Home.Home

/** A tool, made of the services of the session that it is for. */
export type OfferedTool = Effect.Effect<Tool.Tool, Tool.UnusableTool, ToolServices>

/** The tools that every session offers. */
export const builtins: ReadonlyArray<OfferedTool> = [read, write]

/** SCV's own directory: `$SCV_HOME`, by default `~/.scv`. */
const home = (): string => path.resolve(process.env.SCV_HOME || path.join(os.homedir(), ".scv"))

/** What a session needs besides an approver, in the workspace at `workspace` (relative to the current directory). */
export const session = (
  workspace: string,
  tools: ReadonlyArray<OfferedTool>
): Layer.Layer<ToolServices | ToolRegistry.ToolRegistry, Unusable> =>
  ToolRegistry.layer(tools).pipe(
    Layer.mapError((error) => new Unusable({ kind: "config", message: error.message })),
    Layer.provideMerge(
      Layer.mapError(
        Workspace.layer(path.resolve(workspace)),
        (error) => new Unusable({ kind: "invalid_input", message: `--workspace: ${error.message}` })
      )
    ),
    Layer.provideMerge(Limits.layer()),
    Layer.provideMerge(NodeDigest.layer),
    Layer.provideMerge(NodeHome.layer(home())),
    Layer.provide(NodeDirectory.layer())
  )
