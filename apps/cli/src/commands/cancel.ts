import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import { Display } from "@scv/core"
import * as Effect from "effect/Effect"
import { Daemon, using } from "../DaemonClient.ts"
import { Stdio } from "../Stdio.ts"
import * as options from "./options.ts"

const id = Args.text({ name: "ID" }).pipe(Args.withDescription("The call; `scv sessions` lists them."))

/** A call's id begins with that of its session. */
const sessionOf = (call: string): string => call.replace(/-[^-]*$/, "")

/** `scv cancel`: cancels a call of the daemon's; a second time ends at once what is left of it. */
export const cancel = Command.make("cancel", { id, json: options.json }, ({ id, json }) =>
  Effect.gen(function* () {
    const stdio = yield* Stdio
    const daemon = yield* Daemon
    const said = yield* daemon.calls.cancel({ path: { session: sessionOf(id), call: id } })
    yield* stdio.out(json ? `${JSON.stringify(said)}\n` : `cancelled ${Display.inline(said.call_id)}\n`)
  }).pipe(using("cancel"))
).pipe(Command.withDescription("Cancels a call of the daemon's."))
