import * as Command from "@effect/cli/Command"
import { Approval, Session } from "@scv/core"
import { Configuration, LocalSession, type OfferedTool } from "@scv/runtime"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import { ExitCode, interrupted } from "../ExitCode.ts"
import * as Input from "../Input.ts"
import { Signals } from "../Signals.ts"
import { Stdio } from "../Stdio.ts"
import { version } from "../version.ts"
import * as options from "./options.ts"

const unaskable =
  "this client cannot be asked, since it has no elicitation; `scv mcp --yes` approves what would be asked, and --policy or tools.approval_policy in the configuration says what that is"

const serve = (assumeYes: boolean) =>
  Effect.gen(function* () {
    // Loaded here alone: no other command pays for the protocol.
    const { Stdio: Mcp } = yield* Effect.promise(() => import("@scv/mcp"))
    const signals = yield* Signals
    const { out, readerGone } = yield* Stdio
    const { values } = yield* Configuration.Configuration
    const session = yield* Session.make({ surface: "scv mcp", policy: values.tools.approval_policy, assumeYes })
    const signalled = yield* Deferred.make<void>()
    // The first signal cancels, the next ones end the grace of that.
    const cancelAll = Effect.flatMap(session.live, Effect.forEach(session.cancel, { discard: true }))
    const stop = Effect.zipRight(Deferred.succeed(signalled, undefined), cancelAll)
    yield* signals.handledBy(stop)(
      Mcp.serve(
        session,
        { version, questionSeconds: values.approvals.timeout_seconds, unaskable },
        {
          lines: yield* Input.lines,
          write: out,
          stopped: Effect.raceFirst(Deferred.await(signalled), readerGone)
        }
      )
    )
    if (yield* Deferred.isDone(signalled)) yield* Ref.set(yield* ExitCode, interrupted)
  })

/** `scv mcp`: an MCP server on stdin and stdout. */
export const mcp = (tools: ReadonlyArray<OfferedTool>) =>
  Command.make("mcp", { workspace: options.workspace, yes: options.yes, policy: options.policy }, (given) =>
    serve(given.yes).pipe(
      // The client answers, through the session.
      Effect.provide(Approval.unattended),
      Effect.provide(LocalSession.single({ workspace: given.workspace, flags: given.policy }, tools)),
      Effect.scoped
    )
  ).pipe(Command.withDescription("Serves the tools over the Model Context Protocol on stdin and stdout."))
