/** `scvd` as a program: arguments in, an exit code out. */
import { parseArgs } from "node:util"
import { Display } from "@scv/core"
import { type OfferedTool, Unusable } from "@scv/runtime"
import * as Effect from "effect/Effect"
import { run as runDaemon, type Stopping } from "./Daemon.ts"
import * as Log from "./Log.ts"
import * as Loopback from "./Loopback.ts"
import { version } from "./version.ts"

/** A daemon of this home runs already. */
const taken = 1

/** An argument, a configuration or a place that cannot be used. */
const unusable = 2

/** A fault of the daemon itself (EX_SOFTWARE of sysexits.h). */
const broken = 70

const help = `scvd: SCV as a daemon. It serves sessions, approvals and events over a Unix socket.

Usage: scvd [--listen 127.0.0.1:PORT]

  --listen ADDRESS  listen on loopback TCP too; clients need the token in $SCV_HOME/state/token; port 0 picks one

The socket is $SCV_HOME/state/scvd.sock; SCV_HOME is ~/.scv unless it is set. TERM stops it in good order, and a second
TERM ends at once what is left. \`scv daemon start\` runs it in the background.
`

const parse = (args: ReadonlyArray<string>) =>
  Effect.try({
    try: () =>
      parseArgs({
        args: [...args],
        options: { listen: { type: "string" }, help: { type: "boolean" }, version: { type: "boolean" } }
      }).values,
    catch: (error) =>
      new Unusable({
        kind: "invalid_input",
        message: `${error instanceof Error ? error.message : error}; see scvd --help`
      })
  })

const complain = (message: string, code: number): Effect.Effect<number> =>
  Effect.sync(() => {
    process.stderr.write(`scvd: ${Display.bounded(message, 2000)}\n`)
    return code
  })

/**
 * The whole daemon: takes the arguments of the process (the runtime and the script first) and comes to an exit code once
 * it has stopped. `tools` are those of its sessions.
 */
export const run = (
  argv: ReadonlyArray<string>,
  tools: ReadonlyArray<OfferedTool>,
  stopping: Stopping
): Effect.Effect<number> =>
  Effect.gen(function* () {
    const given = yield* parse(argv.slice(2))
    if (given.help === true || given.version === true) {
      process.stdout.write(given.help === true ? help : `${version}\n`)
      return 0
    }
    const listen = given.listen === undefined ? undefined : yield* Loopback.parse(given.listen)
    yield* runDaemon({ tools, listen }, stopping)
    return 0
  }).pipe(
    Effect.catchTags({
      Locked: () => complain("a daemon of this SCV_HOME runs already, or is just starting or stopping", taken),
      Unusable: ({ message }) => complain(message, unusable)
    }),
    Effect.catchAllCause((cause) => Effect.as(Effect.logError("a fault of scvd itself", cause), broken)),
    Effect.provide(Log.layer)
  )
