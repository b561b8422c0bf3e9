/** The command line as a program: arguments in, answers on the streams, an exit code out. */
import * as CliConfig from "@effect/cli/CliConfig"
import * as Command from "@effect/cli/Command"
import type * as CommandDescriptor from "@effect/cli/CommandDescriptor"
import * as Span from "@effect/cli/HelpDoc/Span"
import * as ValidationError from "@effect/cli/ValidationError"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Terminal from "@effect/platform/Terminal"
import { suggestion } from "@scv/core"
import type { OfferedTool } from "@scv/runtime"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"
import { agents } from "./commands/agents.ts"
import { answers } from "./commands/answer.ts"
import { approvals } from "./commands/approvals.ts"
import { audit } from "./commands/audit.ts"
import { call } from "./commands/call.ts"
import { cancel } from "./commands/cancel.ts"
import { completions } from "./commands/completions.ts"
import { config } from "./commands/config.ts"
import { daemon } from "./commands/daemon.ts"
import { doctor } from "./commands/doctor.ts"
import { mcp } from "./commands/mcp.ts"
import * as options from "./commands/options.ts"
import { session } from "./commands/session.ts"
import { sessions } from "./commands/sessions.ts"
import { skills } from "./commands/skills.ts"
import { tools } from "./commands/tools.ts"
import { watch } from "./commands/watch.ts"
import { refusal } from "./Envelope.ts"
import { ExitCode, unusable } from "./ExitCode.ts"
import { complain, exitCodeOf } from "./Frame.ts"
import { helpFor, helpTopic, isGroup } from "./help.ts"
import { PassedOn } from "./PassedOn.ts"
import type { Signals } from "./Signals.ts"
import { Stdio } from "./Stdio.ts"
import { version } from "./version.ts"

const ansi = /\u001b\[[0-9;]*m/g

/** Collects what @effect/cli would print of bad usage, so that it becomes one line. What it prints as answer stays. */
const withFaultsKept =
  (stdio: typeof Stdio.Service, faults: Array<string>) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Console.consoleWith((base) =>
      Effect.withConsole(effect, {
        ...base,
        log: (...args: ReadonlyArray<unknown>) =>
          stdio.out(`${args.map(String).join(" ").replace(ansi, "").trimEnd()}\n`),
        error: (...args: ReadonlyArray<unknown>) =>
          Effect.sync(() => {
            faults.push(args.map(String).join(" ").replace(ansi, "").replace(/\s+/g, " ").trim())
          })
      })
    )

// No option of ours reads files or asks questions, so the library gets a machine that has neither.
const machine = Layer.mergeAll(
  FileSystem.layerNoop({}),
  Path.layer,
  Layer.succeed(
    Terminal.Terminal,
    Terminal.Terminal.of({
      columns: Effect.succeed(80),
      rows: Effect.succeed(24),
      isTTY: Effect.succeed(false),
      readInput: Effect.interrupt,
      readLine: Effect.fail(new Terminal.QuitException()),
      display: () => Effect.void
    })
  )
)

const isKnown = (arg: string): boolean =>
  options.names.includes(arg.startsWith("--help") ? arg : (arg.split("=", 1)[0] ?? ""))

/** A mistyped option, which the library would take for an argument. No argument of ours begins with a dash but `-`. */
const unknownOption = (args: ReadonlyArray<string>): string | undefined => {
  const given = args.find((arg) => /^--?[^-]/.test(arg) && !isKnown(arg))
  if (given === undefined) return undefined
  const name = given.split("=", 1)[0] ?? ""
  return `unknown option ${name}${suggestion(name, options.names)}`
}

/** Sets apart what is meant for another program: everything after `--`, where the command hands that on. */
const divided = (given: ReadonlyArray<string>): readonly [ReadonlyArray<string>, ReadonlyArray<string>] => {
  const at = given[2] === "agents" && given[3] === "login" ? given.indexOf("--") : -1
  return at < 0 ? [given, []] : [given.slice(0, at), given.slice(at + 1)]
}

/**
 * The whole command: takes the arguments of the process (the runtime and the script first) and comes to an exit code.
 * `offered` are the tools that its sessions have.
 */
export const run = (
  given: ReadonlyArray<string>,
  offered: ReadonlyArray<OfferedTool>
): Effect.Effect<number, never, Stdio | Signals> =>
  Effect.gen(function* () {
    const stdio = yield* Stdio
    const [argv, passedOn] = divided(given)
    const faults: Array<string> = []

    function descriptor(): CommandDescriptor.Command<unknown> {
      return root.descriptor
    }
    const root = Command.make("scv", {}).pipe(
      Command.withDescription(
        "The hands of an AI agent: tools that are validated, approved, bounded and cleaned up after."
      ),
      Command.withSubcommands([
        call(offered),
        tools(offered),
        session(offered),
        mcp(offered),
        agents,
        skills(offered),
        audit,
        config,
        daemon,
        sessions,
        approvals,
        ...answers,
        cancel,
        watch,
        doctor,
        completions(descriptor)
      ])
    )
    const execute = Command.run(root, { name: "scv", version, executable: "scv", summary: Span.empty })

    const refuse = (message: string) =>
      Effect.gen(function* () {
        yield* complain(`${message}; see scv ${helpTopic(argv[2])}--help`)
        if (argv[2] === "call") {
          const tool = argv.slice(3).find((argument) => !argument.startsWith("-")) ?? ""
          yield* stdio.out(`${JSON.stringify(refusal(tool, "invalid_input", message))}\n`)
        }
        return unusable
      })

    const wantsHelp =
      argv.length <= 2 || (argv.length === 3 && isGroup(argv[2])) || argv.includes("--help") || argv.includes("-h")
    if (argv[2] === "--version") return yield* Effect.as(stdio.out(`${version}\n`), 0)
    if (wantsHelp) return yield* Effect.as(stdio.out(helpFor(argv[2])), 0)
    const unknown = unknownOption(argv.slice(2))
    if (unknown !== undefined) return yield* refuse(unknown)
    return yield* execute(argv).pipe(
      Effect.catchIf(ValidationError.isValidationError, () =>
        Effect.flatMap(refuse(faults.join("; ")), (code) => Effect.flatMap(ExitCode, Ref.set(code)))
      ),
      withFaultsKept(stdio, faults),
      Effect.provideService(PassedOn, passedOn),
      Effect.provide(machine),
      Effect.provideService(CliConfig.CliConfig, CliConfig.make({ showBuiltIns: false, showTypes: false })),
      exitCodeOf
    )
  })
