import * as Command from "@effect/cli/Command"
import type { Flags } from "@scv/config"
import { Approval, type Session, Workspace } from "@scv/core"
import { RemoteSession } from "@scv/protocol"
import { Configuration, LocalSession, Machine, type OfferedTool, Unusable } from "@scv/runtime"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"
import { Daemon, using } from "../DaemonClient.ts"
import { ExitCode, interrupted } from "../ExitCode.ts"
import * as Input from "../Input.ts"
import { Signals } from "../Signals.ts"
import { Stdio } from "../Stdio.ts"
import { version } from "../version.ts"
import * as options from "./options.ts"

const unaskable =
  "this client cannot be asked, since it has no elicitation; `scv mcp --yes` approves what would be asked, and --policy or tools.approval_policy in the configuration says what that is"

/** What a session is served with that another would not be. */
interface Serving {
  /** Seconds that a question to the client waits for its answer. */
  readonly questionSeconds: number
  readonly unaskable: string | undefined
  /** Waits until the session has ended by itself. */
  readonly ended: Effect.Effect<void>
}

const serve = (session: Session.Session, { ended, questionSeconds, unaskable }: Serving) =>
  Effect.gen(function* () {
    // Loaded here alone: no other command pays for the protocol.
    const { Stdio: Mcp } = yield* Effect.promise(() => import("@scv/mcp"))
    const signals = yield* Signals
    const { out, readerGone } = yield* Stdio
    const signalled = yield* Deferred.make<void>()
    // The first signal cancels, the next ones end the grace of that.
    const cancelAll = Effect.flatMap(session.live, Effect.forEach(session.cancel, { discard: true }))
    const stop = Effect.zipRight(Deferred.succeed(signalled, undefined), cancelAll)
    yield* signals.handledBy(stop)(
      Mcp.serve(
        session,
        { version, questionSeconds, unaskable },
        {
          lines: yield* Input.lines,
          write: out,
          stopped: Effect.raceAll([Deferred.await(signalled), readerGone, ended])
        }
      )
    )
    if (yield* Deferred.isDone(signalled)) yield* Ref.set(yield* ExitCode, interrupted)
  })

interface Given {
  readonly workspace: string
  readonly yes: boolean
  readonly policy: Flags
}

/** Serves a session of this process. */
const here = ({ policy, workspace, yes }: Given, tools: ReadonlyArray<OfferedTool>) =>
  Effect.gen(function* () {
    const { values } = yield* Configuration.Configuration
    const session = yield* LocalSession.make({ surface: "scv mcp", assumeYes: yes })
    yield* serve(session, { questionSeconds: values.approvals.timeout_seconds, unaskable, ended: Effect.never })
  }).pipe(
    // The client answers, through the session.
    Effect.provide(Approval.unattended),
    Effect.provide(LocalSession.single({ workspace, flags: policy }, tools)),
    Effect.scoped
  )

/** Serves a session of the daemon, whose questions can be answered there too. */
const there = ({ policy, workspace, yes }: Given) =>
  Effect.gen(function* () {
    const { values } = yield* Configuration.Configuration
    const session = yield* RemoteSession.open(yield* Daemon, {
      workspace: (yield* Workspace.Workspace).path,
      policy: policy["tools.approval_policy"],
      assumeYes: yes
    })
    let hasEnded = false
    const ended = Effect.tap(session.ended, () => {
      hasEnded = true
    })
    yield* serve(session, { questionSeconds: values.approvals.timeout_seconds, unaskable: undefined, ended })
    if (hasEnded) return yield* lost
  }).pipe(
    Effect.scoped,
    using("mcp"),
    Effect.provide(Layer.provide(LocalSession.configuration({ workspace, flags: policy }), Machine.directories))
  )

const lost = new Unusable({
  kind: "config",
  message: "the daemon ended the session, or went away; scv daemon status tells whether one runs"
})

/** `scv mcp`: an MCP server on stdin and stdout. */
export const mcp = (tools: ReadonlyArray<OfferedTool>) =>
  Command.make(
    "mcp",
    { workspace: options.workspace, yes: options.yes, policy: options.policy, daemon: options.daemon },
    ({ daemon, ...given }) => (daemon ? there(given) : here(given, tools))
  ).pipe(Command.withDescription("Serves the tools over the Model Context Protocol on stdin and stdout."))
