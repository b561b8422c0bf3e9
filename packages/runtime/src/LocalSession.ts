/** A session on this machine: its layers, and the session itself. */
import * as path from "node:path"
import { SkillCatalogue } from "@scv/builtins"
import { type Flags, limitsOf } from "@scv/config"
import { type Approval, AuditLog, type Directory, Limits, Session, type Tool, ToolRegistry, Workspace } from "@scv/core"
import { NodeAuditLog } from "@scv/node"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
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
  /** The directory to work in, relative to the current one. */
  readonly workspace: string
  /** What the caller knows the workspace by, in messages. Default: `workspace`. */
  readonly workspaceName?: string
  /** Values of the configuration by dotted name. They go before those of every file. */
  readonly flags?: Flags
}

/** The directory to work in, given relative to the current one. */
const workspace = ({
  workspace: directory,
  workspaceName = "workspace"
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

const services = (
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

/** A tool that may need any services. */
type AnyTool = Effect.Effect<Tool.Tool, Tool.UnusableTool, unknown>

/**
 * What a session needs, on the machine of the context; several sessions can share one. A tool may ask for any of
 * {@link ToolServices}, and what else it asks for is asked of whoever provides this layer. Fails where the flags, the
 * configuration, the workspace or a tool is no good.
 */
export const layer = <T extends AnyTool = never>(
  options: Options,
  tools: ReadonlyArray<T>
): Layer.Layer<Services, Unusable, Machine.Machine | Exclude<Effect.Effect.Context<T>, ToolServices>> =>
  // A layer hands on what it is given beside its own; the type checker cannot follow that through so many of them.
  services(options, tools as ReadonlyArray<AnyTool> as ReadonlyArray<OfferedTool>)

/** The same on this machine: for a process that has one session. */
export const single = <T extends AnyTool = never>(
  options: Options,
  tools: ReadonlyArray<T>
): Layer.Layer<Services, Unusable, Exclude<Exclude<Effect.Effect.Context<T>, ToolServices>, Machine.Machine>> =>
  Layer.provide(layer(options, tools), Machine.layer)

/**
 * A session under the configured policy, with the services of {@link layer} and the approver of the context. Closing its
 * scope cancels its calls and waits for their release. The audit log names the surface of an app that names none
 * `embedded`.
 */
export const make = (
  options: Partial<Omit<Session.Options, "policy">> = {}
): Effect.Effect<Session.Session, never, Services | Approval.Approver | Scope.Scope> =>
  Effect.flatMap(Configuration.Configuration, ({ values }) =>
    Session.make({ surface: "embedded", ...options, policy: values.tools.approval_policy })
  )
