/** The configuration in force for one command. */
import * as os from "node:os"
import * as path from "node:path"
import { type Config, type Flags, load } from "@scv/config"
import { type Directory, Workspace } from "@scv/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Unusable } from "./Unusable.ts"

export class Configuration extends Context.Tag("scv/Configuration")<Configuration, Config>() {}

/** The agents that can be configured. */
const agents = ["claude", "codex", "pi"]

/** SCV's own directory: `$SCV_HOME`, by default `~/.scv`. */
export const home = (): string => path.resolve(process.env.SCV_HOME || path.join(os.homedir(), ".scv"))

/** What the key table of the configuration depends on. */
export const tableOptions = () => ({ home: home(), agents })

const explicit = (): string | undefined => {
  const file = process.env.SCV_CONFIG
  return file === undefined || file === "" ? undefined : path.resolve(file)
}

/** All layers: defaults, the user's file, the project's, that of SCV_CONFIG, and the flags. */
export const layer = (
  flags: Flags = {}
): Layer.Layer<Configuration, Unusable, Directory.Directories | Workspace.Workspace> =>
  Layer.effect(
    Configuration,
    Effect.flatMap(Workspace.Workspace, (workspace) =>
      Effect.mapError(
        load({ ...tableOptions(), explicit: explicit(), workspace, flags }),
        ({ message }) => new Unusable({ kind: "config", message })
      )
    )
  )
