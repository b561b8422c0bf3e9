import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { bash, read, write } from "@scv/builtins"
import { Approval, AuditLog, Limits, ServerEnvironment, Session, type Tool, ToolRegistry, Workspace } from "@scv/core"
import { NodeCallTag, NodeDigest, NodeDirectory, NodeHome, NodeProcessSpawner, NodeServerEnvironment } from "@scv/node"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

export interface Options extends Partial<Session.Options> {
  readonly limits?: Partial<Limits.LimitValues>
  /** SCV's own directory, relative to the workspace. Default: elsewhere. */
  readonly home?: string
  readonly containment?: "descriptors" | "portable"
  /** Variables for programs. Default: those of this process. */
  readonly environment?: Readonly<Record<string, string>>
}

const tools: ReadonlyArray<
  Effect.Effect<Tool.Tool, Tool.UnusableTool, Effect.Effect.Context<typeof bash | typeof read | typeof write>>
> = [bash, read, write]

/** A session with the built-in tools in a directory of its own, and the directory. */
export const makeWorkspace = ({ containment, environment, home, limits, ...options }: Options = {}) =>
  Effect.gen(function* () {
    const directory = yield* Effect.acquireRelease(
      Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "scv-builtins-")))),
      (made) => Effect.sync(() => fs.rmSync(made, { recursive: true, force: true }))
    )
    const services = ToolRegistry.layer(tools).pipe(
      Layer.provideMerge(NodeProcessSpawner.layer()),
      Layer.provideMerge(
        environment === undefined ? NodeServerEnvironment.layer : Layer.succeed(ServerEnvironment, environment)
      ),
      Layer.provideMerge(NodeCallTag.layer),
      Layer.provideMerge(Workspace.layer(directory)),
      Layer.provideMerge(Limits.layer(limits)),
      Layer.provideMerge(NodeDigest.layer),
      Layer.provideMerge(NodeHome.layer(path.resolve(directory, home ?? "../scv-home-elsewhere"))),
      Layer.provideMerge(Approval.unattended),
      Layer.provideMerge(AuditLog.none),
      Layer.provide(NodeDirectory.layer(containment === undefined ? {} : { containment }))
    )
    const session = yield* Session.make({ surface: "test", policy: "on-risk", ...options }).pipe(
      Effect.provide(yield* Layer.build(services))
    )
    const at = (name: string) => path.join(directory, name)
    return {
      at,
      directory,
      session,
      put: (name: string, content: string | Uint8Array) => {
        fs.mkdirSync(path.dirname(at(name)), { recursive: true })
        fs.writeFileSync(at(name), content)
      },
      get: (name: string) => fs.readFileSync(at(name), "utf8"),
      /** Calls a tool; gives the result where there is one, else the error. */
      call: (tool: string, input: object) =>
        Effect.map(
          session.call({ tool, input }),
          ({ error, result, status }): Record<string, unknown> => ({
            status,
            ...(error === undefined ? {} : error),
            ...(result as Record<string, unknown> | undefined)
          })
        )
    }
  })
