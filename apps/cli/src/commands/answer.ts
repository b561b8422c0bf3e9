import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { type Approval, CallTag, Display } from "@scv/core"
import { Unusable } from "@scv/runtime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { Daemon, using } from "../DaemonClient.ts"
import { Stdio } from "../Stdio.ts"
import * as options from "./options.ts"

const id = Args.text({ name: "ID" }).pipe(Args.withDescription("The question; `scv approvals` lists them."))

const reason = Options.text("reason").pipe(
  Options.withPseudoName("TEXT"),
  Options.withDescription("why; the caller is told"),
  Options.optional
)

/**
 * What a call runs may not answer for its user. This stops accidents: whoever wants to can clear the environment.
 * Source: design, "Containment".
 */
export const refuseInsideCall: Effect.Effect<void, Unusable> = Effect.suspend(() =>
  Object.keys(process.env).some((name) => name.startsWith(CallTag.prefix))
    ? new Unusable({
        kind: "invalid_input",
        message: "this runs inside a tool call, and questions are for the person in charge; answer from elsewhere"
      })
    : Effect.void
)

const verbs = { approve: "approved", deny: "denied" } as const

const answer = (decision: Approval.Decision["decision"]) =>
  Command.make(decision, { id, reason, json: options.json }, ({ id, json, reason }) =>
    Effect.gen(function* () {
      yield* refuseInsideCall
      const stdio = yield* Stdio
      const daemon = yield* Daemon
      const payload = { decision, ...(Option.isSome(reason) ? { reason: reason.value } : {}) }
      const said = yield* daemon.approvals.answer({ path: { approval: id }, payload })
      yield* stdio.out(json ? `${JSON.stringify(said)}\n` : `${verbs[decision]} ${Display.inline(said.approval_id)}\n`)
    }).pipe(using(decision))
  ).pipe(Command.withDescription(`${decision === "approve" ? "Approves" : "Denies"} a question of the daemon's.`))

/** `scv approve` and `scv deny`. */
export const answers = [answer("approve"), answer("deny")] as const
