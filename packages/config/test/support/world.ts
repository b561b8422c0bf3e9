import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { load as loadConfig } from "@scv/config"
import { Directory } from "@scv/core"
import { NodeDirectory } from "@scv/node"
import * as Effect from "effect/Effect"

export const agents = ["claude", "codex", "pi"]

export const layer = NodeDirectory.layer()

type Options = Omit<Parameters<typeof loadConfig>[0], "home" | "agents" | "workspace">

/** A machine of its own: a base directory that is removed in the end, with `home/` and `workspace/` in it. */
export const make = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "scv-config-")))),
    (made) => Effect.sync(() => fs.rmSync(made, { recursive: true, force: true }))
  ),
  (base) => {
    const at = (name: string) => path.join(base, name)
    fs.mkdirSync(at("home"))
    fs.mkdirSync(at("workspace/.scv"), { recursive: true })
    const load = (options: Options = {}) =>
      Effect.flatMap(Directory.Directories, ({ open }) => open(at("workspace"))).pipe(
        Effect.orDie,
        Effect.flatMap((workspace) => loadConfig({ ...options, home: at("home"), agents, workspace })),
        Effect.scoped,
        Effect.provide(layer)
      )
    return {
      at,
      write: (name: string, content: string | Uint8Array) => fs.writeFileSync(at(name), content),
      load,
      /** What is wrong: the message of each error, and of all, without the base directory. */
      faults: (options: Options = {}) =>
        load(options).pipe(
          Effect.flip,
          Effect.orDieWith(() => new Error("the configuration is taken")),
          Effect.map(({ errors, message }) => {
            const brief = (text: string) => text.replaceAll(`${base}/`, "")
            return { each: errors.map((error) => brief(error.message)), all: brief(message) }
          })
        )
    }
  }
)

export const user = "home/config.toml"

export const project = "workspace/.scv/config.toml"
