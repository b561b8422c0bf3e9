/** The layers of a session on this machine. */
import * as path from "node:path"
import { SkillCatalogue } from "@scv/builtins"
import { type Flags, limitsOf } from "@scv/config"
import { AuditLog, type Directory, Limits, ToolRegistry, Workspace } from "@scv/core"
import { NodeAuditLog } from "@scv/node"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Layer from "effect/Layer"
import * as Configuration from "./Configuration.ts"
import * as Machine from "./Machine.ts"
import type { OfferedTool, ToolServices } from "./Tools.ts"
import { Unusable } from "./Unusable.ts"

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

export interface Options {
  /** Relative to the current directory. */
  readonly workspace: string
  /** What the caller knows the workspace by, in messages. Default: `--workspace`. */
  readonly workspaceName?: string
  /** What the command line, or whoever opens the session, sets of the configuration. */
  readonly flags?: Flags
}

/** The directory to work in, given relative to the current one. */
const workspace = ({
  workspace: directory,
  workspaceName = "--workspace"
}: Options): Layer.Layer<Workspace.Workspace, Unusable, Directory.Directories> =>
  Layer.mapError(
    Layer.unwrapEffect(Effect.map(absolute(directory), Workspace.layer)),
    ({ message }) => new Unusable({ kind: "invalid_input", message: `${workspaceName}: ${message}` })
  )

const absolute = (directory: string): Effect.Effect<string, Unusable> =>
  directory === ""
    ? Effect.fail(new Unusable({ kind: "invalid_input", message: "expected a directory, got nothing" }))
    : Effect.try({
        try: () => path.resolve(directory),
        catch: () => new Unusable({ kind: "invalid_input", message: "the current directory does not exist any more" })
      })

/** A workspace and the configuration that is in force in it. */
export const configuration = (
  options: Options
): Layer.Layer<Configuration.Configuration | Workspace.Workspace, Unusable, Directory.Directories> =>
  Configuration.layer(options.flags).pipe(Layer.provideMerge(workspace(options)))

const limits = Layer.effect(Limits.Limits, Effect.map(Configuration.Configuration, limitsOf))

const auditLog = Layer.effect(
  AuditLog.AuditLog,
  Effect.gen(function* () {
    const { log } = yield* NodeAuditLog.AuditFiles
    const { audit } = (yield* Configuration.Configuration).values
    return log({ maxBytes: audit.max_bytes, keepDays: audit.keep_days })
  })
)

/** What a session needs besides an approver. */
export type Services =
  | ToolServices
  | AuditLog.AuditLog
  | ToolRegistry.ToolRegistry
  | Configuration.Configuration
  | Machine.Machine

/** All of them on a machine. Fails where the flags, the configuration or the workspace are no good. */
export const layer = (
  options: Options,
  tools: ReadonlyArray<OfferedTool>
): Layer.Layer<Services, Unusable, Machine.Machine> => {
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
    Layer.provideMerge(Layer.merge(limits, Configuration.agentSettings)),
    Layer.provideMerge(auditLog),
    Layer.provideMerge(configuration(options)),
    Layer.provideMerge(Layer.context<Machine.Machine>())
  )
}

/** The same, with a machine of its own: for a process that has one session. */
export const single = (options: Options, tools: ReadonlyArray<OfferedTool>): Layer.Layer<Services, Unusable> =>
  Layer.provide(layer(options, tools), Machine.layer)
