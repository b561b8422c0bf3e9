/**
 * The private world of an agent: its home and its environment. Source: spec, "Native agent adapters"; design, "Small
 * decisions".
 */
import { CallTag, type Directory, Home, PrivateDirectories, ServerEnvironment } from "@scv/core"
import * as Effect from "effect/Effect"
import type { Agent } from "./Agent.ts"
import { AgentSettings } from "./AgentSettings.ts"
import { type Depth, nextDepth, variablesOf } from "./Depth.ts"

/** Directories in every agent's home, by the variable that names them. */
const common: Readonly<Record<string, string>> = {
  HOME: ".",
  SCV_HOME: ".",
  XDG_CONFIG_HOME: ".config",
  XDG_DATA_HOME: ".local/share",
  XDG_STATE_HOME: ".local/state",
  XDG_CACHE_HOME: ".cache",
  TMPDIR: "tmp"
}

/** Keys of model providers, and what would select another state or another service. */
const removed = /^(?:.*_API_KEY|ANTHROPIC_.*|CLAUDE.*|OPENAI_.*|CODEX_.*|PI_.*|AI_AGENT|SCV_.*)$/s

/** By the tags of the calls around it a process stays known to those who made them. */
const isKept = (name: string): boolean => name.startsWith(CallTag.prefix) || !removed.test(name)

/** The directories of an agent by the variables that name them, each below its home or the home itself. */
const directoriesOf = (agent: Agent): ReadonlyArray<readonly [variable: string, below: string]> =>
  Object.entries({ ...common, ...agent.directories })

/** The variables of a process of the agent. */
export const environmentOf = (
  agent: Agent,
  server: Readonly<Record<string, string>>,
  home: string,
  depth: Depth
): Readonly<Record<string, string>> => ({
  ...Object.fromEntries(Object.entries(server).filter(([name]) => isKept(name))),
  ...Object.fromEntries(directoriesOf(agent).map(([name, below]) => [name, below === "." ? home : `${home}/${below}`])),
  ...variablesOf(depth)
})

/** Where the private home of an agent is. */
export const pathOf = (agent: Agent, { path }: typeof Home.Home.Service): string => `${path}/adapters/${agent.name}`

/** An agent's home, ready for a process of it. */
export interface PrivateHome {
  readonly path: string
  readonly environment: Readonly<Record<string, string>>
}

/** Makes what is missing of an agent's home. A process that is started in it is one agent deeper than this one. */
export const prepare = (
  agent: Agent
): Effect.Effect<
  PrivateHome,
  Directory.DirectoryError,
  Home.Home | ServerEnvironment | AgentSettings | PrivateDirectories.PrivateDirectories
> =>
  Effect.gen(function* () {
    const path = pathOf(agent, yield* Home.Home)
    const { agents, maxDelegationDepth, userHome } = yield* AgentSettings
    const server = yield* ServerEnvironment
    const { ensure } = yield* PrivateDirectories.PrivateDirectories
    const links = agents[agent.name]?.home_links ?? []
    yield* ensure({
      path,
      below: directoriesOf(agent).flatMap(([, below]) => (below === "." ? [] : [below])),
      links: Object.fromEntries(links.map((name) => [name, `${userHome}/${name}`]))
    })
    return { path, environment: environmentOf(agent, server, path, nextDepth(server, maxDelegationDepth)) }
  })
