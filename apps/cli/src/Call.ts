/** One call: made in this process, its envelope on stdout. */

import type { Flags } from "@scv/config"
import { Display, ErrorKind, type Session, ToolError, type ToolResult } from "@scv/core"
import { LocalSession, type OfferedTool } from "@scv/runtime"
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { refusal } from "./Envelope.ts"
import { ExitCode, exitCodes } from "./ExitCode.ts"
import { readAll } from "./Input.ts"
import { Signals } from "./Signals.ts"
import { Stdio } from "./Stdio.ts"
import * as TerminalApprover from "./TerminalApprover.ts"

/** What the command line says of a call. */
export interface Given {
  readonly tool: string
  /** JSON, or `-` for what comes by stdin. */
  readonly input: string
  readonly workspace: string
  readonly yes: boolean
  readonly policy: Flags
}

const parse = (text: string): Effect.Effect<unknown, ToolError> =>
  Effect.try({
    try: (): unknown => JSON.parse(text),
    catch: (error) =>
      new ToolError({
        kind: "invalid_input",
        message:
          text.trim() === ""
            ? "input: expected a JSON object, got nothing"
            : `input: not JSON: ${error instanceof Error ? error.message : String(error)}`
      })
  })

const answer = (result: ToolResult) =>
  Effect.gen(function* () {
    const stdio = yield* Stdio
    yield* stdio.out(`${JSON.stringify(result)}\n`)
    yield* Ref.set(yield* ExitCode, exitCodes[result.status])
  })

/** Shows on stderr how far a call is, while somebody watches. */
const watch = (session: Session.Session) =>
  Effect.gen(function* () {
    const stdio = yield* Stdio
    if (!stdio.isWatched) return
    const events = yield* session.events
    yield* Effect.forkScoped(
      Stream.runForEach(events, (event) =>
        event.event === "progress" ? stdio.err(Display.lines(event.text)) : Effect.void
      )
    )
  })

const isErrorKind = Schema.is(ErrorKind)

/**
 * Prints the envelope that an effect comes to, or one that says why there is none, and sets the exit code. Fails where the
 * command line, the configuration or the daemon cannot be used.
 */
export const answered = <E extends { readonly _tag: string; readonly kind: string; readonly message: string }, R>(
  given: Given,
  envelope: Effect.Effect<ToolResult, E, R>
) => {
  const refuse = (kind: string, message: string) =>
    answer(refusal(given.tool, isErrorKind(kind) ? kind : "unavailable", message))
  return envelope.pipe(
    Effect.flatMap(answer),
    Effect.catchAll((error) =>
      error._tag === "ToolError"
        ? refuse(error.kind, error.message)
        : Effect.zipRight(refuse(error.kind, error.message), Effect.fail(error))
    ),
    // Before there is a call to cancel, for instance while its input is waited for.
    Effect.onInterrupt(() => refuse("cancelled", "the call was cancelled"))
  )
}

/** The input as JSON, which may still have to come in. */
export const inputOf = ({ input }: Given) => Effect.flatMap(input === "-" ? readAll : Effect.succeed(input), parse)

/** Makes the call in this process, and answers. */
export const make = (given: Given, tools: ReadonlyArray<OfferedTool>) =>
  answered(
    given,
    Effect.gen(function* () {
      const signals = yield* Signals
      const input = yield* inputOf(given)
      const session = yield* LocalSession.make({ surface: "scv call", assumeYes: given.yes })
      yield* watch(session)
      const { id, result } = yield* Effect.orDie(session.submit({ tool: given.tool, input }))
      return yield* signals.handledBy(Effect.asVoid(session.cancel(id)))(result)
    }).pipe(
      Effect.provide(TerminalApprover.layer),
      Effect.provide(LocalSession.single({ workspace: given.workspace, flags: given.policy }, tools)),
      Effect.scoped
    )
  )
