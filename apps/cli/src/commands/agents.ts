import * as os from "node:os"
import * as path from "node:path"
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as Options from "@effect/cli/Options"
import { type Agent, AgentSettings, ImportError, agents as known, SignIn } from "@scv/agents"
import { Display, type ProcessSpawner, ServerEnvironment, suggestion } from "@scv/core"
import { NodeTerminalProcess } from "@scv/node"
import { Configuration, Machine } from "@scv/runtime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import { ExitCode } from "../ExitCode.ts"
import { PassedOn } from "../PassedOn.ts"
import { Stdio } from "../Stdio.ts"
import * as options from "./options.ts"

/** The agents and their homes, whatever directory this is: no project has a say in a sign-in. */
const services = Configuration.agentSettings.pipe(
  Layer.provide(Configuration.ofUser),
  Layer.provideMerge(Machine.layer),
  Layer.merge(NodeTerminalProcess.layer)
)

const names = known.map(({ name }) => name)

const find = (name: string): Effect.Effect<Agent, HelpDoc.HelpDoc> => {
  const agent = known.find((one) => one.name === name)
  if (agent !== undefined) return Effect.succeed(agent)
  const shown = Display.bounded(name, 60)
  return Effect.fail(HelpDoc.p(`NAME: no agent named ${shown}${suggestion(name, names)}; known: ${names.join(", ")}`))
}

const agent = Args.text({ name: "NAME" }).pipe(Args.withDescription(names.join(", ")), Args.mapEffect(find))

const codeOf = ({ code, signal }: ProcessSpawner.ExitStatus): number =>
  code ?? 128 + (os.constants.signals[signal as NodeJS.Signals] ?? 0)

const exitWith = (code: number) => Effect.flatMap(ExitCode, Ref.set(code))

/** Ends with one line on stderr and code 1: what was asked for was understood and could not be done. */
const fail = ({ message }: { readonly message: string }) =>
  Effect.gen(function* () {
    const stdio = yield* Stdio
    yield* stdio.err(`scv: ${Display.bounded(message, 2000)}\n`)
    yield* exitWith(1)
  })

const wordsOf = (name: string, status: SignIn.Status): string => {
  if (status.is === "missing") return `not installed: ${status.why}`
  if (status.is === "unknown") return `cannot tell: ${status.why}`
  if (!status.isSignedIn) return `signed out; to sign in: scv agents login ${name}`
  return status.how === undefined ? "signed in" : `signed in with ${status.how}`
}

const status = Command.make("status", { agent: Args.optional(agent), json: options.json }, ({ agent, json }) =>
  Effect.gen(function* () {
    const stdio = yield* Stdio
    const asked = Option.match(agent, { onNone: () => known, onSome: (one) => [one] })
    const found = yield* Effect.forEach(asked, (one) =>
      Effect.map(SignIn.status(one), (status) => ({ name: one.name, ...status }))
    )
    const width = Math.max(...asked.map(({ name }) => name.length))
    if (json) yield* stdio.out(`${JSON.stringify({ agents: found }, null, 2)}\n`)
    else {
      for (const { name, ...status } of found) {
        yield* stdio.out(`${name.padEnd(width)}  ${Display.bounded(wordsOf(name, status), 500)}\n`)
      }
    }
    const isWell = found.every((one) => one.is === "known" && one.isSignedIn)
    if (Option.isSome(agent) && !isWell) yield* exitWith(1)
  }).pipe(Effect.provide(services))
).pipe(Command.withDescription("Tells which agents are signed in."))

const attended = (what: "login" | "logout") =>
  Command.make(what, { agent }, ({ agent }) =>
    Effect.gen(function* () {
      const stdio = yield* Stdio
      const { advice } = agent.signIn[what]
      if (advice !== undefined) yield* stdio.err(`scv: ${agent.title} opens now; ${advice}\n`)
      yield* exitWith(codeOf(yield* SignIn.attended(agent, what, yield* PassedOn)))
    }).pipe(Effect.provide(services), Effect.catchTags({ NoExecutable: fail, DirectoryError: fail, SpawnError: fail }))
  )

const login = attended("login").pipe(Command.withDescription("Signs an agent in, by its own command."))

const logout = attended("logout").pipe(Command.withDescription("Signs an agent out, by its own command."))

const from = Options.text("from").pipe(
  Options.withPseudoName("DIR"),
  Options.withDescription("the directory to copy from"),
  Options.optional
)

const absolute = (given: string): Effect.Effect<string, ImportError> =>
  given === ""
    ? Effect.fail(new ImportError({ message: "--from: expected a directory, got nothing" }))
    : Effect.try({
        try: () => path.resolve(given),
        catch: () => new ImportError({ message: "the current directory does not exist any more" })
      })

const importing = Command.make("import", { agent, from }, ({ agent, from }) =>
  Effect.gen(function* () {
    const stdio = yield* Stdio
    const { importer } = agent
    if (importer === undefined) {
      return yield* fail({ message: `${agent.title} has no setup to copy; sign it in: scv agents login ${agent.name}` })
    }
    const { userHome } = yield* AgentSettings
    const server = yield* ServerEnvironment
    const source = yield* absolute(Option.getOrElse(from, () => importer.source(server, userHome)))
    const report = yield* SignIn.importInto(agent, importer, source)
    for (const { file, what } of report.copied) yield* stdio.out(`copied ${file}: ${Display.inline(what)}\n`)
    for (const note of report.notes) yield* stdio.out(`note: ${Display.inline(note)}\n`)
  }).pipe(Effect.provide(services), Effect.catchTags({ ImportError: fail, DirectoryError: fail }))
).pipe(Command.withDescription("Copies the user's own setup of an agent."))

/** `scv agents`: the sign-ins of the agents that SCV delegates to. */
export const agents = Command.make("agents").pipe(
  Command.withDescription("Sees to the sign-ins of delegated agents."),
  Command.withSubcommands([status, login, logout, importing])
)
