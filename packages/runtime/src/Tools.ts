/** The tools that come with SCV, and what a tool may need. */
import { type AgentSettings, AgentTool, agents } from "@scv/agents"
import { bash, read, readSkill, type SkillCatalogue, write } from "@scv/builtins"
import type {
  CallTag,
  Digest,
  Executables,
  Home,
  Limits,
  PrivateDirectories,
  ProcessSpawner,
  ServerEnvironment,
  Tool,
  Workspace
} from "@scv/core"
import type * as Effect from "effect/Effect"

/** What a tool may need. */
export type ToolServices =
  | Workspace.Workspace
  | Limits.Limits
  | Digest
  | Home.Home
  | ProcessSpawner.ProcessSpawner
  | ServerEnvironment
  | CallTag.CallTag
  | Executables.Executables
  | PrivateDirectories.PrivateDirectories
  | AgentSettings
  | SkillCatalogue.SkillCatalogue

/** A tool, made of the services of the session that it is for. */
export type OfferedTool = Effect.Effect<Tool.Tool, Tool.UnusableTool, ToolServices>

/** The tools that every session offers. */
export const builtins: ReadonlyArray<OfferedTool> = [read, write, bash, ...agents.map(AgentTool.make), readSkill]
