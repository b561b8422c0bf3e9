/**
 * Seeing to an agent's sign-in by its own commands, with the home and the environment that its tool gives it. They run in
 * a directory that belongs to no project, since a repository can answer them. Source: spec, "Signing in delegated agents".
 */
import {
  CallTag,
  Directory,
  Executables,
  type Home,
  type PrivateDirectories,
  ProcessGroup,
  type ProcessSpawner,
  type ServerEnvironment,
  TerminalProcess,
  Utf8
} from "@scv/core"
import * as Effect from "effect/Effect"
import type { Agent, SignInState } from "./Agent.ts"
import { AgentSettings } from "./AgentSettings.ts"
import type { Importer } from "./Importer.ts"
import { commandOf, invocationOf } from "./Invocation.ts"
import * as PrivateHome from "./PrivateHome.ts"

const neutral = "/"

/** What starts a command of an agent. */
const launch = (agent: Agent, command: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const { agents } = yield* AgentSettings
    const { find } = yield* Executables.Executables
    const invocation = invocationOf(agent, agents[agent.name])
    const program = yield* find(invocation.command)
    const { environment } = yield* PrivateHome.prepare(agent)
    return {
      program,
      args: commandOf(agent, invocation, command),
      cwd: neutral,
      environment: { ...environment, PWD: neutral }
    }
  })

/**
 * Signs in, or out, at the terminal, by the agent's own command with further arguments. Answers with how that ended.
 * Fails where the program cannot be found or started, or its home cannot be made.
 */
export const attended = (
  agent: Agent,
  what: "login" | "logout",
  extra: ReadonlyArray<string>
): Effect.Effect<
  ProcessSpawner.ExitStatus,
  Executables.NoExecutable | Directory.DirectoryError | ProcessSpawner.SpawnError,
  | AgentSettings
  | Executables.Executables
  | Home.Home
  | PrivateDirectories.PrivateDirectories
  | ServerEnvironment
  | TerminalProcess.TerminalProcess
> =>
  Effect.gen(function* () {
    const { run } = yield* TerminalProcess.TerminalProcess
    return yield* run(yield* launch(agent, [...agent.signIn[what].args, ...extra]))
  })

/** What is known of an agent's sign-in. */
export type Status =
  | ({ readonly is: "known" } & SignInState)
  /** It is not installed; `why` is one line. */
  | { readonly is: "missing"; readonly why: string }
  /** Its command did not tell; `why` is one line. */
  | { readonly is: "unknown"; readonly why: string }

/** The most bytes of a report or a file that are looked at. */
const maxBytes = 1_048_576

/** Seconds after which a report is given up. */
const patience = 20

const report = (agent: Agent, args: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const tags = yield* CallTag.CallTag
    const request = yield* launch(agent, args)
    const nothing = () => Effect.void
    return yield* ProcessGroup.run(
      { request: { ...request, tag: yield* tags.fresh }, outputLimitBytes: maxBytes, strays: "end" },
      { partial: nothing, progress: nothing, hurry: Effect.never, isHurried: Effect.succeed(true) }
    )
  })

const ofFile = (agent: Agent, file: string, read: (content: string) => SignInState) =>
  Effect.gen(function* () {
    const { path } = yield* PrivateHome.prepare(agent)
    const home = yield* Effect.flatMap(Directory.Directories, ({ open }) => open(path))
    const content = yield* home.read(file, { offset: 0, length: maxBytes }).pipe(
      Effect.map(({ bytes }) => Utf8.decode(bytes)),
      Effect.catchIf(
        ({ kind }) => kind === "not_found",
        () => Effect.succeed("")
      )
    )
    return read(content)
  }).pipe(Effect.scoped)

/** What is known of an agent that is not signed in: it may be set up by hand. */
const ofSetup = (agent: Agent) => {
  const { setup } = agent.signIn
  return setup === undefined ? Effect.succeed({ isSignedIn: false }) : ofFile(agent, setup.file, setup.read)
}

/** Whether an agent is signed in, by its own report. Never fails, and never tells whose account or which key it is. */
export const status = (
  agent: Agent
): Effect.Effect<
  Status,
  never,
  | AgentSettings
  | CallTag.CallTag
  | Directory.Directories
  | Executables.Executables
  | Home.Home
  | PrivateDirectories.PrivateDirectories
  | ProcessSpawner.ProcessSpawner
  | ServerEnvironment
> =>
  Effect.gen(function* () {
    const { status } = agent.signIn
    if ("file" in status) {
      const { agents } = yield* AgentSettings
      const { find } = yield* Executables.Executables
      yield* find(invocationOf(agent, agents[agent.name]).command)
      const state = yield* ofFile(agent, status.file, status.read)
      return { is: "known" as const, ...(state.isSignedIn ? state : yield* ofSetup(agent)) }
    }
    const { exit_code, output, signal } = yield* report(agent, status.args)
    if (exit_code === 0) {
      const how = status.how(output)
      return { is: "known" as const, isSignedIn: true, ...(how === undefined ? {} : { how }) }
    }
    if (exit_code !== 1 || status.broken?.test(output) === true) {
      const ended = exit_code === null ? `was ended by ${signal}` : `failed with exit code ${exit_code}`
      return { is: "unknown" as const, why: `its command ${status.args.join(" ")} ${ended}` }
    }
    return { is: "known" as const, ...(yield* ofSetup(agent)) }
  }).pipe(
    Effect.timeoutTo({
      duration: `${patience} seconds`,
      onSuccess: (known): Status => known,
      onTimeout: (): Status => ({ is: "unknown", why: `it did not answer within ${patience} s` })
    }),
    Effect.catchTag("NoExecutable", ({ message }) => Effect.succeed<Status>({ is: "missing", why: message })),
    Effect.catchAll(({ message }) => Effect.succeed<Status>({ is: "unknown", why: message }))
  )

/** Copies the user's own setup of an agent from an absolute path into its private home. See `Importer`. */
export const importInto = (agent: Agent, importer: Importer, from: string) =>
  Effect.flatMap(PrivateHome.prepare(agent), ({ path }) => importer.copy(from, path))
