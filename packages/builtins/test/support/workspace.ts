import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { read, write } from "@scv/builtins"
import { Approval, Limits, Session, ToolRegistry, Workspace } from "@scv/core"
import { NodeDigest, NodeDirectory, NodeHome } from "@scv/node"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

export interface Options extends Partial<Session.Options> {
  readonly limits?: Partial<Limits.LimitValues>
  /** SCV's own directory, relative to the workspace. Default: elsewhere. */
  readonly home?: string
  readonly containment?: "descriptors" | "portable"
}

/** A session with the built-in tools in a directory of its own, and the directory. */
export const makeWorkspace = ({ containment, home, limits, ...options }: Options = {}) =>
  Effect.gen(function* () {
    const directory = yield* Effect.acquireRelease(
      Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "scv-builtins-")))),
      (made) => Effect.sync(() => fs.rmSync(made, { recursive: true, force: true }))
    )
    const services = ToolRegistry.layer([read, write]).pipe(
      Layer.provideMerge(Workspace.layer(directory)),
      Layer.provideMerge(Limits.layer(limits)),
      Layer.provideMerge(NodeDigest.layer),
      Layer.provideMerge(NodeHome.layer(path.resolve(directory, home ?? "../scv-home-elsewhere"))),
      Layer.provideMerge(Approval.unattended),
      Layer.provide(NodeDirectory.layer(containment === undefined ? {} : { containment }))
    )
    const session = yield* Session.make({ policy: "on-risk", ...options }).pipe(
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
