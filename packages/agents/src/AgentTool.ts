/** The tools `agent_NAME`. Source: spec, "Native agent adapters"; design, "Small decisions". */
import {
  CallTag,
  Digest,
  Directory,
  Display,
  Executables,
  type Home,
  InputSchema,
  Limits,
  type PrivateDirectories,
  ProcessGroup,
  type ProcessSpawner,
  ProcessTool,
  ServerEnvironment,
  Tool,
  ToolError,
  Utf8,
  Workspace
} from "@scv/core"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Agent } from "./Agent.ts"
import { AgentSettings } from "./AgentSettings.ts"
import { nextDepth } from "./Depth.ts"
import { withHint } from "./Hint.ts"
import { argumentsOf, type Invocation, invocationOf } from "./Invocation.ts"
import * as PrivateHome from "./PrivateHome.ts"

const expecting = (phrase: string) => ({
  message: () => ({ message: `expected ${phrase}`, override: true })
})

// Source: spec, "Native agent adapters".
const model = Schema.String.pipe(
  Schema.pattern(/^(?![-@])[A-Za-z0-9._:/@[\]-]{1,128}$/),
  Schema.annotations(expecting("1 to 128 ASCII letters, digits or ._:/@[]-, not beginning with - or @"))
)

const effort = InputSchema.oneOf("low", "medium", "high", "xhigh", "max")

const inputOf = (agent: Agent, { effortArgs, modelArgs }: Invocation, limits: typeof Limits.Limits.Service) => {
  const common = {
    prompt: InputSchema.required(
      InputSchema.systemText,
      "What the agent is to do. It knows nothing of this conversation and cannot ask back."
    ),
    cwd: InputSchema.optional(
      InputSchema.systemText,
      "The directory that it works in, such as a project whose AGENTS.md and skills it is to follow: inside the " +
        "workspace, relative to it or absolute. Default: the workspace."
    ),
    timeout_seconds: InputSchema.optional(
      ProcessTool.timeoutSeconds(limits.maxTimeoutSeconds),
      `The seconds that it may take before it is killed. Default: ${limits.agentTimeoutSeconds}.`
    )
  }
  const selected = {
    model: InputSchema.optional(model, `A model that ${agent.title} knows.`),
    effort: InputSchema.optional(effort, "How much it is to think.")
  }
  // One type for all agents: what is not offered is an unknown field to the decoder, and never there.
  return InputSchema.struct({
    ...common,
    ...(modelArgs.length === 0 ? {} : { model: selected.model }),
    ...(effortArgs.length === 0 ? {} : { effort: selected.effort })
  } as typeof common & typeof selected)
}

const Plan = Schema.Struct({
  program: Schema.String,
  /** All arguments; the last one is the prompt. */
  args: Schema.Array(Schema.String),
  /** The directory as it was asked for, and the one that this was found to be. */
  cwd: Schema.String,
  directory: Schema.Struct({ path: Schema.String, identity: Directory.Identity }),
  timeout_seconds: Schema.Number
})

const refuse = (field: string, kind: ToolError["kind"], detail: string): ToolError =>
  new ToolError({ kind, message: `\`${field}\`: ${detail}` })

/** Everything that is wrong with a prompt, before anybody is asked. */
const checkPrompt = (agent: Agent, prompt: string): Effect.Effect<void, ToolError> => {
  const size = Utf8.byteLength(prompt)
  if (size >= ProcessTool.maxArgument) {
    const most = ProcessTool.maxArgument - 1
    return Effect.fail(refuse("prompt", "limit", `${size} bytes; the system takes at most ${most} in one argument`))
  }
  if (prompt.trim() === "") return Effect.fail(refuse("prompt", "invalid_input", "expected a text, got only blanks"))
  const misread = prompt.startsWith("-")
    ? "cannot begin with `-`, which would make it an option; put a word before it"
    : agent.misreads(prompt)
  return misread === undefined ? Effect.void : Effect.fail(refuse("prompt", "invalid_input", misread))
}

/** How much of a prompt a question shows, in characters: its beginning, and its end where it is longer. */
const shownHead = 1500
const shownTail = 500

const shortened = (prompt: string): string => {
  const points = Array.from(prompt)
  const left = points.length - shownHead - shownTail
  if (left <= 0) return prompt
  return `${points.slice(0, shownHead).join("")}\n(${left} characters left out)\n${points.slice(-shownTail).join("")}`
}

/** Whether a directory is asked for by its own name, with no link on the way. */
const isPlain = (workspace: Directory.Directory, { path }: Directory.Directory, cwd: string): boolean =>
  cwd === path || (cwd === "." ? workspace.path : `${workspace.path}/${cwd}`) === path

/** The directories from the workspace down to the one that is worked in, as prefixes of relative paths. */
const onTheWay = (workspace: Directory.Directory, directory: Directory.Directory): ReadonlyArray<string> => {
  const names = directory.path.slice(workspace.path.length).split("/")
  const below = names.filter((name) => name !== "")
  return ["", ...below.map((_, index) => `${below.slice(0, index + 1).join("/")}/`)]
}

const isAbsent = ({ kind }: Directory.DirectoryError): boolean => kind === "not_found" || kind === "not_a_directory"

/** What of a repository the agent would obey. What cannot be looked at is taken for there. */
const obeyed = (
  agent: Agent,
  workspace: Directory.Directory,
  directory: Directory.Directory
): Effect.Effect<ReadonlyArray<string>> =>
  Effect.filter(
    onTheWay(workspace, directory).flatMap((at) => agent.obeys.map((name) => `${at}${name}`)),
    (path) => Effect.match(workspace.file(path), { onFailure: (error) => !isAbsent(error), onSuccess: () => true })
  )

/** The tool that delegates to an agent, as it is configured. Needs the workspace that the agent works in. */
export const make = (
  agent: Agent
): Effect.Effect<
  Tool.Tool,
  Tool.UnusableTool,
  | AgentSettings
  | CallTag.CallTag
  | Digest
  | Executables.Executables
  | Home.Home
  | Limits.Limits
  | PrivateDirectories.PrivateDirectories
  | ProcessSpawner.ProcessSpawner
  | ServerEnvironment
  | Workspace.Workspace
> =>
  Effect.gen(function* () {
    const workspace = yield* Workspace.Workspace
    const limits = yield* Limits.Limits
    const settings = yield* AgentSettings
    const server = yield* ServerEnvironment
    const digest = yield* Digest
    const executables = yield* Executables.Executables
    const tags = yield* CallTag.CallTag
    const name = `agent_${agent.name}`
    const invocation = invocationOf(agent, settings.agents[agent.name])
    const depth = nextDepth(server, settings.maxDelegationDepth)
    const open = (cwd: string) => Effect.mapError(workspace.directory(cwd), Directory.toToolError)

    return yield* Tool.make({
      name,
      description:
        `Delegates a task to ${agent.title}, another agent, and returns what it prints. It works by itself in a ` +
        "directory of the workspace, with its own sign-in, and may read, write and run commands there.",
      risk: "delegate",
      input: inputOf(agent, invocation, limits),
      plan: Plan,
      output: ProcessGroup.Output,
      outputLimitBytes: Number.POSITIVE_INFINITY,
      succeeded: ProcessGroup.succeeded,
      unavailable: Effect.match(executables.find(invocation.command), {
        onFailure: ({ message }) => Option.some(message),
        onSuccess: () => Option.none()
      }),
      prepare: ({ cwd = ".", prompt, timeout_seconds, ...selected }) =>
        Effect.gen(function* () {
          yield* checkPrompt(agent, prompt)
          const timeoutSeconds = yield* ProcessTool.timeoutWithin(
            limits.maxTimeoutSeconds,
            timeout_seconds,
            limits.agentTimeoutSeconds
          )
          if (depth.depth > depth.ceiling) {
            const deeper = depth.ceiling === 0 ? "any agent" : `an agent more than ${depth.ceiling} deep`
            return yield* new ToolError({
              kind: "limit",
              message: `${name}: agent.max_delegation_depth is ${depth.ceiling}, which rules out ${deeper}`
            })
          }
          const program = yield* Effect.mapError(
            executables.find(invocation.command),
            ({ message }) => new ToolError({ kind: "unavailable", message: `${name}: ${message}` })
          )
          const directory = yield* open(cwd)
          const args = argumentsOf(invocation, { ...selected, prompt })
          const found = yield* obeyed(agent, workspace, directory)
          return {
            summary: Effect.sync(() =>
              Display.summary(`delegate to ${agent.title}`, [
                ["program", program],
                ["arguments", `\n${[...args.slice(0, -1).map((arg) => JSON.stringify(arg)), "the prompt"].join("\n")}`],
                ["prompt", `${Utf8.byteLength(prompt)} bytes, sha256 ${digest.sha256(prompt)}\n${shortened(prompt)}`],
                [
                  "directory",
                  isPlain(workspace, directory, cwd) ? directory.path : `${directory.path}, asked for as ${cwd}`
                ],
                ["timeout", `${timeoutSeconds} s`],
                ...(found.length === 0 ? [] : [["obeys", `${found.join(", ")}: settings of this repository`] as const]),
                [
                  "risk",
                  "delegate: it may read, write, run commands, use credentials that it can reach, and ask its own " +
                    "model provider, without another question here"
                ]
              ])
            ),
            plan: {
              program,
              args,
              cwd,
              directory: { path: directory.path, identity: directory.identity },
              timeout_seconds: timeoutSeconds
            },
            timeoutSeconds
          }
        }).pipe(Effect.scoped),
      run: ({ args, cwd, directory: approved, program }, context) =>
        Effect.gen(function* () {
          const directory = yield* open(cwd)
          if (!Directory.isSame(directory.identity, approved.identity)) {
            return yield* refuse("cwd", "changed", "is another directory than before; call again")
          }
          const home = yield* Effect.mapError(PrivateHome.prepare(agent), Directory.toToolError)
          const handle = yield* Effect.mapError(directory.handle, Directory.toToolError)
          const output = yield* ProcessGroup.run(
            {
              request: {
                program,
                args,
                cwd: handle,
                environment: { ...home.environment, PWD: directory.path },
                tag: yield* tags.fresh
              },
              outputLimitBytes: limits.outputLimitBytes,
              strays: "end"
            },
            context
          ).pipe(Effect.mapError(ProcessTool.toToolError))
          return withHint(agent, output)
        }).pipe(Effect.scoped)
    })
  })
