/** The layers that connect a session to this machine. */
import * as path from "node:path"
import { read } from "@scv/builtins"
import { type Digest, Limits, type Tool, ToolRegistry, Workspace } from "@scv/core"
import { NodeDigest, NodeDirectory } from "@scv/node"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Unusable } from "./Unusable.ts"

/** A tool that may need the workspace, the limits and digests. */
export type OfferedTool = Effect.Effect<Tool.Tool, Tool.UnusableTool, Workspace.Workspace | Limits.Limits | Digest>

/** The tools that every session offers. */
export const builtins: ReadonlyArray<OfferedTool> = [read]

/** What a session needs besides an approver, in the workspace at `workspace` (relative to the current directory). */
export const session = (
  workspace: string,
  tools: ReadonlyArray<OfferedTool>
): Layer.Layer<Workspace.Workspace | ToolRegistry.ToolRegistry | Limits.Limits | Digest, Unusable> =>
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
    Layer.provide(NodeDirectory.layer())
  )
