import * as Command from "@effect/cli/Command"
import { Approval } from "@scv/core"
import * as Effect from "effect/Effect"
import { Daemon, using } from "../DaemonClient.ts"
import { Stdio } from "../Stdio.ts"
import * as options from "./options.ts"

/** `scv approvals`: the questions that wait for an answer. */
export const approvals = Command.make("approvals", { json: options.json }, ({ json }) =>
  Effect.gen(function* () {
    const stdio = yield* Stdio
    const daemon = yield* Daemon
    const { approvals } = yield* daemon.approvals.list({})
    if (json) return yield* stdio.out(`${JSON.stringify({ approvals }, null, 2)}\n`)
    if (approvals.length === 0) return yield* stdio.out("nothing waits for an answer\n")
    for (const asked of approvals) {
      const until = `  until: ${asked.expires_at}\n  answer: scv approve ${asked.approval_id}, or scv deny ${asked.approval_id}\n`
      yield* stdio.out(`${Approval.question(asked)}\n${until}\n`)
    }
  }).pipe(using("approvals"))
).pipe(Command.withDescription("Lists the questions that wait for an answer, each with what would be done."))
