/** The table of all keys. Source: design, "Words on the wire" (defaults); spec, "`agent_*`" and "`read_skill`". */
import { Limits } from "@scv/core"
import * as Key from "./Key.ts"
import * as Value from "./Value.ts"

const day = 86_400
const mebibyte = 1_048_576

/** A limit, which a project may only lower. */
const limit = (defaultValue: number, [min, max]: readonly [number, number], description: string): Key.Key<number> =>
  Key.make({ schema: () => Value.integer(min, max), default: defaultValue, description, project: Key.smaller })

/** What the daemon is held to, which is nothing of a project's. */
const ofDaemon = (defaultValue: number, [min, max]: readonly [number, number], description: string): Key.Key<number> =>
  Key.make({ schema: () => Value.integer(min, max), default: defaultValue, description, project: "never" })

const named = (home: string) => ({
  "tools.command_timeout_seconds": limit(
    Limits.defaults.commandTimeoutSeconds,
    [1, day],
    "Seconds that a call runs which names no timeout of its own."
  ),
  "tools.agent_timeout_seconds": limit(
    Limits.defaults.agentTimeoutSeconds,
    [1, day],
    "Seconds that a delegated agent runs whose call names no timeout of its own."
  ),
  "tools.max_timeout_seconds": limit(
    Limits.defaults.maxTimeoutSeconds,
    [1, day],
    "The most seconds that a call may ask for; a larger default timeout is lowered to it."
  ),
  "tools.output_limit_bytes": limit(
    Limits.defaults.outputLimitBytes,
    [1024, 64 * mebibyte],
    "Bytes of output that a result keeps: the first and the last halves."
  ),
  "tools.max_read_bytes": limit(
    Limits.defaults.maxReadBytes,
    // The longest character has four bytes, so a page always holds one.
    [4, 64 * mebibyte],
    "The most bytes that one read returns."
  ),
  "tools.max_write_bytes": limit(
    Limits.defaults.maxWriteBytes,
    [1, 64 * mebibyte],
    "The most bytes that one write takes."
  ),
  "tools.approval_policy": Key.make({
    schema: () => Value.policy,
    default: "on-risk",
    description:
      "When a call is asked about: on-risk unless it only reads, always, or never, which denies all but reads and asks " +
      "nobody.",
    project: Key.stricter
  }),
  "skills.max_skills": limit(128, [0, 10_000], "The most skills that a session offers."),
  "skills.max_skill_bytes": limit(262_144, [4, 64 * mebibyte], "The most bytes of a skill's text that are returned."),
  "skills.scan_projects": Key.make({
    schema: () => Value.boolean,
    default: true,
    description: "Whether the skills of the workspace's projects are listed too.",
    project: Key.off
  }),
  "skills.user_dir": Key.make({
    schema: () => Value.absolutePath,
    default: `${home}/skills`,
    description: "The folder that holds the user's own skills.",
    project: "never"
  }),
  "skills.project_dir": Key.make({
    schema: () => Value.pathInside,
    default: ".scv/skills",
    description: "The folder in a workspace that holds its skills.",
    project: "never"
  }),
  "agent.max_delegation_depth": limit(2, [0, 16], "How many agents deep a delegated agent may delegate; 0 is none."),
  "approvals.timeout_seconds": limit(600, [1, day], "Seconds that a question waits before it counts as denied."),
  "daemon.max_sessions": ofDaemon(256, [1, 100_000], "Sessions that the daemon has open at once."),
  "daemon.idle_session_seconds": ofDaemon(
    day,
    [60, 365 * day],
    "Seconds after which the daemon closes a session that does nothing."
  ),
  "audit.max_bytes": Key.make({
    schema: () => Value.integer(16 * mebibyte, 65_536 * mebibyte),
    default: 128 * mebibyte,
    description: "The most bytes of the audit log; of more, the oldest files are deleted.",
    project: "never"
  }),
  "audit.keep_days": Key.make({
    schema: () => Value.integer(1, 36_500),
    default: 90,
    description: "Days after which a file of the audit log is deleted.",
    project: "never"
  })
})

/** What an agent may be given; nothing of it has a default here, since an agent brings its own. */
const ofAgent = (agent: string) => {
  const template = (placeholder: string, example: ReadonlyArray<string>, what: string) =>
    Key.make({
      schema: () => Value.template(placeholder),
      default: undefined,
      example,
      description: `The arguments that select ${what}, for which \`${placeholder}\` stands; an empty array: none can be selected.`,
      project: "never"
    })
  return {
    command: Key.make({
      schema: () => Value.command,
      default: undefined,
      example: agent,
      description: "The agent's executable: a path, or a name that is looked up in PATH.",
      project: "never"
    }),
    args: Key.make({
      schema: () => Value.args,
      default: undefined,
      example: ["--print"],
      description: "The arguments that every call begins with.",
      project: "never"
    }),
    model_args: template("{model}", ["--model", "{model}"], "a model"),
    effort_args: template("{effort}", ["--effort", "{effort}"], "an effort"),
    home_links: Key.make({
      schema: () => Value.namesInHome,
      default: undefined,
      example: [".gitconfig"],
      description: "Names below the user's home directory that are linked into the agent's private one.",
      project: "never"
    })
  }
}

type Named = ReturnType<typeof named>

type AgentKeys = ReturnType<typeof ofAgent>

type ValueOf<K> = K extends Key.Key<infer A> ? A : never

type Section<Name extends string> = {
  readonly [K in keyof Named as K extends `${Name}.${infer Leaf}` ? Leaf : never]: ValueOf<Named[K]>
}

/** The value of every key, by section, under the names that the files use. */
export interface Values {
  readonly tools: Section<"tools">
  readonly skills: Section<"skills">
  readonly agent: Section<"agent">
  readonly approvals: Section<"approvals">
  readonly daemon: Section<"daemon">
  readonly audit: Section<"audit">
  /** By the names that the table was made for. */
  readonly agents: { readonly [name: string]: { readonly [K in keyof AgentKeys]: ValueOf<AgentKeys[K]> | undefined } }
}

/** Values by dotted name, as a caller gives them; undefined is as if left out. */
export type Flags = { readonly [K in keyof Named]?: ValueOf<Named[K]> | undefined }

export interface TableOptions {
  /** The absolute path of `$SCV_HOME`. */
  readonly home: string
  /** The names of the agents that there are. */
  readonly agents: ReadonlyArray<string>
}

/** Every key by its dotted name, in the order in which they are shown. */
export type Table = ReadonlyMap<string, Key.Key>

export const table = ({ agents, home }: TableOptions): Table =>
  new Map<string, Key.Key>([
    ...Object.entries(named(home)),
    ...agents.flatMap((agent) =>
      Object.entries(ofAgent(agent)).map(([name, key]): [string, Key.Key] => [`agents.${agent}.${name}`, key])
    )
  ])

/** The keys of a table by the TOML table that they stand in, under the last part of their names. */
export const sections = (keys: Table): ReadonlyMap<string, ReadonlyMap<string, Key.Key>> => {
  const found = new Map<string, Map<string, Key.Key>>()
  for (const [name, key] of keys) {
    const dot = name.lastIndexOf(".")
    const section = name.slice(0, dot)
    found.set(section, (found.get(section) ?? new Map<string, Key.Key>()).set(name.slice(dot + 1), key))
  }
  return found
}
