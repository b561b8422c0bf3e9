import * as Command from "@effect/cli/Command"
import { Display } from "@scv/core"
import * as Effect from "effect/Effect"
import { Daemon, using } from "../DaemonClient.ts"
import { Stdio } from "../Stdio.ts"
import * as options from "./options.ts"

/** `scv sessions`: the sessions of the daemon, each with the calls that have not ended. */
export const sessions = Command.make("sessions", { json: options.json }, ({ json }) =>
  Effect.gen(function* () {
    const stdio = yield* Stdio
    const daemon = yield* Daemon
    const { sessions } = yield* daemon.sessions.list({})
    if (json) return yield* stdio.out(`${JSON.stringify({ sessions }, null, 2)}\n`)
    if (sessions.length === 0) return yield* stdio.out("no session is open\n")
    for (const { live, policy, session_id, workspace } of sessions) {
      yield* stdio.out(`${session_id}  ${policy.padEnd(7)}  ${Display.inline(workspace)}\n`)
      if (live.length === 0) continue
      const { calls } = yield* daemon.calls.list({ path: { session: session_id } })
      for (const { call_id, state, tool } of calls.filter((call) => call.state !== "ended")) {
        yield* stdio.out(`  ${call_id}  ${state.padEnd(7)}  ${Display.inline(tool)}\n`)
      }
    }
  }).pipe(using("sessions"))
).pipe(Command.withDescription("Lists the daemon's sessions and their calls."))
