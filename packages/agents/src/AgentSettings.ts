import * as Context from "effect/Context"

/** What the user's configuration sets for one agent; what is undefined is as the agent brings it. */
export interface AgentSetting {
  readonly command?: string | undefined
  readonly args?: ReadonlyArray<string> | undefined
  readonly model_args?: ReadonlyArray<string> | undefined
  readonly effort_args?: ReadonlyArray<string> | undefined
  /** Names below the user's home directory that are linked into the agent's private one. */
  readonly home_links?: ReadonlyArray<string> | undefined
}

/** How the user has the agents. */
export class AgentSettings extends Context.Tag("@scv/agents/AgentSettings")<
  AgentSettings,
  {
    /** By the agents' names. */
    readonly agents: Readonly<Record<string, AgentSetting>>
    /** How many agents deep an agent may be started; 0 is none at all. */
    readonly maxDelegationDepth: number
    /** The absolute path of the user's own home directory. */
    readonly userHome: string
  }
>() {}
