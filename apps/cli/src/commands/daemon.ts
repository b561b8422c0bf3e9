import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import type { Health } from "@scv/protocol"
import { Configuration } from "@scv/runtime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import { Daemon, socket, using } from "../DaemonClient.ts"
import * as DaemonProcess from "../DaemonProcess.ts"
import * as Desktop from "../Desktop.ts"
import { ExitCode } from "../ExitCode.ts"
import { Stdio } from "../Stdio.ts"
import { refuseInsideCall } from "./answer.ts"
import * as options from "./options.ts"

const listen = Options.text("listen").pipe(
  Options.withPseudoName("127.0.0.1:PORT"),
  Options.withDescription("listen on loopback TCP too"),
  Options.optional
)

const argsOf = (listen: Option.Option<string>): ReadonlyArray<string> =>
  Option.isSome(listen) ? ["--listen", listen.value] : []

const shown = ({ approvals, pid, sessions, started_at, status }: Health): string =>
  [
    `${status === "ok" ? "running" : "stopping"}: process ${pid}, since ${started_at}`,
    `  socket: ${socket()}`,
    `  sessions: ${sessions}, questions that wait: ${approvals}`,
    ""
  ].join("\n")

const start = Command.make("start", { listen, json: options.json }, ({ json, listen }) =>
  Effect.gen(function* () {
    const stdio = yield* Stdio
    const health = yield* DaemonProcess.start(argsOf(listen))
    yield* stdio.out(json ? `${JSON.stringify({ ...health, socket: socket() })}\n` : shown(health))
  })
).pipe(Command.withDescription("Starts the daemon in the background and waits until it answers."))

const now = Options.boolean("now").pipe(Options.withDescription("end at once what runs"))

const stop = Command.make("stop", { now }, ({ now }) =>
  Effect.gen(function* () {
    const stdio = yield* Stdio
    const stopped = yield* DaemonProcess.stop(now)
    yield* stdio.out(Option.isSome(stopped) ? `stopped: process ${stopped.value}\n` : "no daemon runs\n")
  })
).pipe(Command.withDescription("Stops the daemon: its calls are cancelled, and it has ended when this has."))

const status = Command.make("status", { json: options.json }, ({ json }) =>
  Effect.gen(function* () {
    const stdio = yield* Stdio
    const health = yield* DaemonProcess.health
    if (Option.isSome(health)) {
      return yield* stdio.out(json ? `${JSON.stringify({ ...health.value, socket: socket() })}\n` : shown(health.value))
    }
    yield* stdio.out(json ? '{"status":"stopped"}\n' : "no daemon runs; scv daemon start starts one\n")
    yield* Ref.set(yield* ExitCode, 1)
  })
).pipe(Command.withDescription("Tells whether a daemon runs; exits 1 where none does."))

const open = Command.make("open", { json: options.json }, ({ json }) =>
  Effect.gen(function* () {
    // Whoever has the address can answer questions.
    yield* refuseInsideCall
    const stdio = yield* Stdio
    const daemon = yield* Daemon
    const page = yield* daemon.page.open({ payload: {} })
    const isShown = yield* Desktop.open(page.url)
    if (json) return yield* stdio.out(`${JSON.stringify({ ...page, opened: isShown })}\n`)
    yield* stdio.out(`${page.url}\n`)
    yield* stdio.err(
      `scv: ${isShown ? "opened in your browser; " : ""}the address is good once, until ${page.expires_at}\n`
    )
  }).pipe(using("daemon"))
).pipe(
  Command.withDescription("Gives an address of the daemon's page, good once, and opens it where there is a desktop.")
)

/** A word of a unit's command line or setting. Source: systemd.syntax(7), systemd.service(5). */
const word = (text: string): string => `"${text.replace(/["\\]/g, "\\$&").replace(/%/g, "%%").replace(/\$/g, "$$$$")}"`

const unitOf = (program: string, args: ReadonlyArray<string>): string =>
  [
    "[Unit]",
    "Description=SCV, tools for agents, with a person in charge",
    "",
    "[Service]",
    "Type=exec",
    `ExecStart=${[process.execPath, program, ...args].map(word).join(" ")}`,
    `Environment=${word(`SCV_HOME=${Configuration.home()}`).replaceAll("$$", "$")}`,
    "Restart=on-failure",
    // Another one runs, or what is configured cannot be used: trying again changes neither.
    "RestartPreventExitStatus=1 2",
    "KillMode=mixed",
    "TimeoutStopSec=30",
    "",
    "[Install]",
    "WantedBy=default.target",
    ""
  ].join("\n")

const unit = Command.make("unit", { listen }, ({ listen }) =>
  Effect.gen(function* () {
    const stdio = yield* Stdio
    yield* stdio.out(unitOf(yield* DaemonProcess.program, argsOf(listen)))
  })
).pipe(Command.withDescription("Prints a systemd user unit."))

/** `scv daemon`: the daemon as a process. */
export const daemon = Command.make("daemon").pipe(
  Command.withDescription("Starts and stops the daemon, and tells how it is."),
  Command.withSubcommands([start, stop, status, open, unit])
)
