/** The command line as a program: arguments in, answers on the streams, an exit code out. */
import * as CliConfig from "@effect/cli/CliConfig"
import * as Command from "@effect/cli/Command"
import type * as CommandDescriptor from "@effect/cli/CommandDescriptor"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as Span from "@effect/cli/HelpDoc/Span"
import * as ValidationError from "@effect/cli/ValidationError"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Terminal from "@effect/platform/Terminal"
import { Display } from "@scv/core"
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Ref from "effect/Ref"
import { call } from "./commands/call.ts"
import { completions } from "./commands/completions.ts"
import { doctor } from "./commands/doctor.ts"
import { session } from "./commands/session.ts"
import { tools } from "./commands/tools.ts"
import { refusal } from "./Envelope.ts"
import { broken, ExitCode, interrupted, unusable } from "./ExitCode.ts"
import type { Signals } from "./Signals.ts"
import { Stdio } from "./Stdio.ts"
import { version } from "./version.ts"
import type * as Wiring from "./Wiring.ts"

const footer = HelpDoc.blocks([
  HelpDoc.h1("EXIT CODES"),
  HelpDoc.p("of call: 0 completed, 1 failed, 2 invalid, 3 denied, 124 timed out, 130 cancelled"),
  HelpDoc.h1("EXAMPLES"),
  HelpDoc.p(`scv call read '{"path":"README.md"}'`),
  HelpDoc.p(`echo '{"path":"README.md","limit":80}' | scv call read - --workspace ~/project`),
  HelpDoc.p("scv doctor"),
  HelpDoc.p("SCV is not a sandbox: what you approve runs with your own power.")
])

const ansi = /\u001b\[[0-9;]*m/g

/** Runs an effect with the console of @effect/cli, which knows neither our streams nor when colour is wanted, as ours. */
const withOwnConsole =
  (stdio: typeof Stdio.Service, faults: Array<string>) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Console.consoleWith((base) =>
      Effect.withConsole(effect, {
        ...base,
        log: (...args: ReadonlyArray<unknown>) => {
          const text = args.map(String).join(" ")
          return stdio.out(`${stdio.hasColor("out") ? text : text.replace(ansi, "")}\n`)
        },
        error: (...args: ReadonlyArray<unknown>) =>
          Effect.sync(() => {
            faults.push(args.map(String).join(" ").replace(ansi, "").replace(/\s+/g, " ").trim())
          })
      })
    )

/** What is logged goes to stderr, and nothing of it can redraw the terminal. */
const logger = (stdio: typeof Stdio.Service) =>
  Logger.replace(
    Logger.defaultLogger,
    Logger.make(({ cause, message }) => {
      const said = Array.isArray(message) ? message.map(String).join(" ") : String(message)
      const why = Cause.isEmpty(cause) ? "" : `\n${Cause.pretty(cause)}`
      Effect.runFork(stdio.err(`scv: ${Display.lines(said + why)}\n`))
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

/**
 * The whole command: takes the arguments of the process (the runtime and the script first) and comes to an exit code.
 * `offered` are the tools that its sessions have.
 */
export const run = (
  argv: ReadonlyArray<string>,
  offered: ReadonlyArray<Wiring.OfferedTool>
): Effect.Effect<number, never, Stdio | Signals> =>
  Effect.gen(function* () {
    const stdio = yield* Stdio
    const exitCode = yield* Ref.make(0)
    const faults: Array<string> = []

    function descriptor(): CommandDescriptor.Command<unknown> {
      return root.descriptor
    }
    const root = Command.make("scv", {}).pipe(
      Command.withDescription("The hands of an AI agent: tools that are validated, approved, bounded and cleaned up after."),
      Command.withSubcommands([
        call(offered),
        tools(offered),
        session(offered),
        doctor,
        completions(descriptor)
      ])
    )
    const execute = Command.run(root, { name: "scv", version, executable: "scv", summary: Span.empty, footer })

    const complain = (message: string) => stdio.err(`scv: ${Display.bounded(message, 2000)}\n`)
    const refuse = (message: string) =>
      Effect.gen(function* () {
        yield* complain(message)
        if (argv[2] === "call") {
          const tool = argv.slice(3).find((argument) => !argument.startsWith("-")) ?? ""
          yield* stdio.out(`${JSON.stringify(refusal(tool, "invalid_input", message))}\n`)
        }
        return unusable
      })

    return yield* execute(argv.length > 2 ? argv : [...argv, "--help"]).pipe(
      Effect.zipRight(Ref.get(exitCode)),
      Effect.catchAll((error) => {
        if (ValidationError.isValidationError(error)) return refuse(`${faults.join("; ")}; see scv --help`)
        return Effect.as(complain(error.message), unusable)
      }),
      Effect.catchAllCause((cause) =>
        Cause.isInterruptedOnly(cause)
          ? Effect.succeed(interrupted)
          : Effect.as(Effect.logError("a fault of scv itself", cause), broken)
      ),
      withOwnConsole(stdio, faults),
      Effect.provideService(ExitCode, exitCode),
      Effect.provide(machine),
      Effect.provide(logger(stdio)),
      Effect.provideService(CliConfig.CliConfig, CliConfig.make({ showBuiltIns: false, showTypes: false }))
    )
  })
