/** The configuration in force for one command. */
import * as os from "node:os"
import * as path from "node:path"
import { AgentSettings, agents } from "@scv/agents"
import { type Config, type Flags, load } from "@scv/config"
import { type Directory, Workspace } from "@scv/core"
import { NodeHome } from "@scv/node"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Unusable } from "./Unusable.ts"

export class Configuration extends Context.Tag("scv/Configuration")<Configuration, Config>() {}

const variable = (name: string): string | undefined => process.env[name] || undefined

/** The home directory of the user; never one that HOME only seems to name: below the workspace it could be anybody's. */
export const userHome = (): string => {
  const named = variable("HOME")
  return named !== undefined && path.isAbsolute(named) ? named : os.userInfo().homedir
}

/** An absolute path as the kernel would walk it; a relative one is below the current directory. */
const located = (given: string): string =>
  NodeHome.resolve(path.isAbsolute(given) ? given : `${currentDirectory()}/${given}`)

const currentDirectory = (): string => {
  try {
    return process.cwd()
  } catch {
    // It was deleted. Nothing can be below it.
    return "/"
  }
}

/** SCV's own directory: `$SCV_HOME`, by default `~/.scv`. */
export const home = (): string => located(variable("SCV_HOME") ?? `${userHome()}/.scv`)

/** The user's own file. */
export const userFile = (): string => `${home()}/config.toml`

const explicit = (): string | undefined => {
  const file = variable("SCV_CONFIG")
  return file === undefined ? undefined : located(file)
}

/** The files that configure SCV, wherever they lead. */
export const files = (): ReadonlyArray<string> => [userFile(), explicit()].filter((file) => file !== undefined)

/** What the key table of the configuration depends on. */
export const tableOptions = () => ({ home: home(), agents: agents.map(({ name }) => name) })

const loaded = (workspace: Directory.Directory | undefined, flags: Flags) =>
  Effect.mapError(
    load({ ...tableOptions(), explicit: explicit(), workspace, flags }),
    ({ message }) => new Unusable({ kind: "config", message })
  )

/** All layers: defaults, the user's file, the project's, that of SCV_CONFIG, and the flags. */
export const layer = (
  flags: Flags = {}
): Layer.Layer<Configuration, Unusable, Directory.Directories | Workspace.Workspace> =>
  Layer.effect(
    Configuration,
    Effect.flatMap(Workspace.Workspace, (workspace) => loaded(workspace, flags))
  )

/** The same without any project's. */
export const ofUser: Layer.Layer<Configuration, Unusable, Directory.Directories> = Layer.effect(
  Configuration,
  Effect.suspend(() => loaded(undefined, {}))
)

/** What is configured of the agents. */
export const agentSettings: Layer.Layer<AgentSettings, never, Configuration> = Layer.effect(
  AgentSettings,
  Effect.map(Configuration, ({ values }) => ({
    agents: values.agents,
    maxDelegationDepth: values.agent.max_delegation_depth,
    userHome: userHome()
  }))
)
