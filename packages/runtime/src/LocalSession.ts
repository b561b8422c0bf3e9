/** The layers of a session on this machine. */
import * as path from "node:path"
import { type Flags, limitsOf } from "@scv/config"
import { AuditLog, type Directory, Limits, ToolRegistry, Workspace } from "@scv/core"
import { NodeAuditLog } from "@scv/node"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Configuration from "./Configuration.ts"
import * as Machine from "./Machine.ts"
import type { OfferedTool, ToolServices } from "./Tools.ts"
import { Unusable } from "./Unusable.ts"

export interface Options {
  /** Relative to the current directory. */
  readonly workspace: string
  /** What the command line, or whoever opens the session, sets of the configuration. */
  readonly flags?: Flags
}

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

/** A workspace and the configuration that is in force in it. */
export const configuration = (
  options: Options
): Layer.Layer<Configuration.Configuration | Workspace.Workspace, Unusable, Directory.Directories> =>
  Configuration.layer(options.flags).pipe(Layer.provideMerge(workspace(options.workspace)))

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
): Layer.Layer<Services, Unusable, Machine.Machine> =>
  ToolRegistry.layer(tools).pipe(
    Layer.mapError(({ message }) => new Unusable({ kind: "config", message })),
    Layer.provideMerge(limits),
    Layer.provideMerge(auditLog),
    Layer.provideMerge(configuration(options)),
    Layer.provideMerge(Layer.context<Machine.Machine>())
  )

/** The same, with a machine of its own: for a process that has one session. */
export const single = (options: Options, tools: ReadonlyArray<OfferedTool>): Layer.Layer<Services, Unusable> =>
  Layer.provide(layer(options, tools), Machine.layer)
