/** The layers that connect a session to this machine. */
import * as path from "node:path"
import { bash, read, readSkill, SkillCatalogue, write } from "@scv/builtins"
import { type Flags, limitsOf } from "@scv/config"
import {
  type CallTag,
  type Digest,
  Directory,
  type Home,
  Limits,
  type ProcessSpawner,
  type ServerEnvironment,
  type Tool,
  ToolRegistry,
  Workspace
} from "@scv/core"
import { NodeCallTag, NodeDigest, NodeDirectory, NodeHome, NodeProcessSpawner, NodeServerEnvironment } from "@scv/node"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Layer from "effect/Layer"
import * as Configuration from "./Configuration.ts"
import { Unusable } from "./Unusable.ts"

/** What a tool may need. */
type ToolServices =
  | Workspace.Workspace
  | Limits.Limits
  | Digest
  | Home.Home
  | ProcessSpawner.ProcessSpawner
  | ServerEnvironment
  | CallTag.CallTag
  | SkillCatalogue.SkillCatalogue

/** A tool, made of the services of the session that it is for. */
export type OfferedTool = Effect.Effect<Tool.Tool, Tool.UnusableTool, ToolServices>

/** The tools that every session offers. */
export const builtins: ReadonlyArray<OfferedTool> = [read, write, bash, readSkill]

/** This machine's directories; says so where they are not contained against a race. */
const directories = Layer.tap(NodeDirectory.layer(), (context) => {
  const { containment } = Context.get(context, Directory.Directories)
  return containment === "portable"
    ? Effect.logWarning("paths are contained by name only here, not against a race; scv doctor says why")
    : Effect.void
})

/** The directory to work in, given relative to the current one. */
const workspace = (directory: string): Layer.Layer<Workspace.Workspace, Unusable, Directory.Directories> =>
  Layer.mapError(
    Layer.unwrapEffect(Effect.map(absolute(directory), Workspace.layer)),
    ({ message }) => new Unusable({ kind: "invalid_input", message: `--workspace: ${message}` })
  )

const absolute = (directory: string): Effect.Effect<string, Unusable> =>
  directory === ""
    ? Effect.fail(new Unusable({ kind: "invalid_input", message: "expected a directory, got nothing" }))
    : Effect.try({
        try: () => path.resolve(directory),
        catch: () => new Unusable({ kind: "invalid_input", message: "the current directory does not exist any more" })
      })

/** The configuration that is in force in a workspace. */
export const configuration = (directory: string, flags?: Flags) =>
  Configuration.layer(flags).pipe(Layer.provideMerge(workspace(directory)), Layer.provideMerge(directories))

const limits = Layer.effect(Limits.Limits, Effect.map(Configuration.Configuration, limitsOf))

/** The skills of a session, which are found once it is known whether one of its tools delegates. */
const skills = (hasAgents: Effect.Effect<boolean>) =>
  Layer.unwrapEffect(
    Effect.map(Configuration.Configuration, ({ values: { skills } }) =>
      SkillCatalogue.layer({
        maxSkills: skills.max_skills,
        maxSkillBytes: skills.max_skill_bytes,
        scanProjects: skills.scan_projects,
        userDir: skills.user_dir,
        projectDir: skills.project_dir,
        hasAgents
      })
    )
  )

export interface SessionOptions {
  /** Relative to the current directory. */
  readonly workspace: string
  /** What the command line sets of the configuration. */
  readonly flags?: Flags
}

/** What a session needs besides an approver. */
export const session = (
  options: SessionOptions,
  tools: ReadonlyArray<OfferedTool>
): Layer.Layer<ToolServices | ToolRegistry.ToolRegistry | Configuration.Configuration, Unusable> => {
  const hasAgents = Deferred.unsafeMake<boolean>(FiberId.none)
  return ToolRegistry.layer(tools).pipe(
    Layer.tap((context) => {
      const { tools } = Context.get(context, ToolRegistry.ToolRegistry)
      return Deferred.succeed(
        hasAgents,
        tools.some(({ risk }) => risk === "delegate")
      )
    }),
    Layer.mapError(({ message }) => new Unusable({ kind: "config", message })),
    Layer.provideMerge(skills(Deferred.await(hasAgents))),
    Layer.provideMerge(limits),
    Layer.provideMerge(
      Layer.mergeAll(
        NodeDigest.layer,
        NodeProcessSpawner.layer({ records: path.join(Configuration.home(), "state/processes") }),
        NodeServerEnvironment.layer,
        NodeCallTag.layer
      )
    ),
    Layer.provideMerge(NodeHome.layer(Configuration.home(), Configuration.files())),
    Layer.provideMerge(configuration(options.workspace, options.flags))
  )
}
