import * as Command from "@effect/cli/Command"
import { Approval, Display, InputSchema, type Session, ToolDescription, ToolError } from "@scv/core"
import { LocalSession, type OfferedTool } from "@scv/runtime"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { ExitCode, interrupted } from "../ExitCode.ts"
import * as Input from "../Input.ts"
import { Signals } from "../Signals.ts"
import { Stdio } from "../Stdio.ts"
import * as options from "./options.ts"

const { nonEmpty, optional, required, struct, text } = InputSchema

const is = <Type extends string>(type: Type) => required(Schema.Literal(type), "what the line is")

/** A kind of line that `scv session` takes, and what it does. Source: design, "`scv`". */
const line = <A extends { readonly type: string }, I>(
  type: A["type"],
  schema: Schema.Schema<A, I>,
  handle: (
    session: Session.Session,
    message: A,
    input: unknown
  ) => Effect.Effect<unknown, { readonly message: string }, Stdio>
) => {
  const decode = InputSchema.decoder(schema)
  return {
    type,
    // The input of a call is judged by its tool, and answered with an envelope.
    handle: (session: Session.Session, { input, ...message }: { readonly [key: string]: unknown }) =>
      Effect.flatMap(decode(message), (decoded) => handle(session, decoded, input))
  }
}

const decision = <const Word extends Approval.Decision["decision"]>(word: Word) => {
  const schema = struct({
    type: is(word),
    approval_id: required(nonEmpty, "the question"),
    reason: optional(text, "why")
  })
  return line(word, schema, (session, { approval_id, reason }) =>
    session.answer(approval_id, { decision: word, by: "client", ...(reason === undefined ? {} : { reason }) })
  )
}

const say = (message: object): Effect.Effect<void, never, Stdio> =>
  Effect.flatMap(Stdio, (stdio) => stdio.out(`${JSON.stringify(message)}\n`))

const kinds = [
  line(
    "call",
    struct({
      type: is("call"),
      id: required(nonEmpty, "the call's id, unique among the live ones"),
      tool: required(text, "the tool's name"),
      input: optional(Schema.Unknown, "the tool's input")
    }),
    (session, { id, tool }, input = {}) => session.submit({ id, tool, input })
  ),
  line("cancel", struct({ type: is("cancel"), id: required(nonEmpty, "the call to cancel") }), (session, { id }) =>
    Effect.filterOrFail(
      session.cancel(id),
      (isLive) => isLive,
      () => ({ message: `no call ${JSON.stringify(id)} is waiting or running` })
    )
  ),
  decision("approve"),
  decision("deny"),
  line("tools", struct({ type: is("tools") }), (session) =>
    Effect.flatMap(Effect.forEach(session.tools, ToolDescription.describe), (tools) => say({ type: "tools", tools }))
  )
]

const known = kinds.map(({ type }) => type).join(", ")

const parse = (raw: string): Effect.Effect<{ readonly [key: string]: unknown }, ToolError> =>
  Effect.try({ try: (): unknown => JSON.parse(raw), catch: () => "not JSON" }).pipe(
    Effect.filterOrFail(
      (json): json is { readonly [key: string]: unknown } =>
        typeof json === "object" && json !== null && !Array.isArray(json),
      () => "no JSON object"
    ),
    Effect.mapError(
      (what) => new ToolError({ kind: "invalid_input", message: `expected one JSON object a line, got ${what}` })
    )
  )

const dispatch = (session: Session.Session, message: { readonly [key: string]: unknown }) => {
  const kind = kinds.find(({ type }) => type === message.type)
  return kind === undefined
    ? Effect.fail({ message: `expected a \`type\` of ${known}` })
    : kind.handle(session, message)
}

const handle = (session: Session.Session, given: Input.Line) =>
  Effect.gen(function* () {
    if ("fault" in given) return yield* say({ type: "error", message: given.fault })
    if (given.text.trim() === "") return
    const message = yield* parse(given.text)
    const id = typeof message.id === "string" ? { id: message.id } : {}
    yield* Effect.catchAll(dispatch(session, message), (error) =>
      say({ type: "error", ...id, message: Display.bounded(error.message, 2000) })
    )
  }).pipe(Effect.catchAll((error) => say({ type: "error", message: Display.bounded(error.message, 2000) })))

/** Leaves the answers to the lines that come in, until no more can come. */
const approver = (inputEnded: Deferred.Deferred<void>) =>
  Layer.succeed(Approval.Approver, {
    decide: () =>
      Effect.as(Deferred.await(inputEnded), {
        decision: "deny" as const,
        reason: "the input ended before an answer came",
        by: "end of input"
      })
  })

const serve = (inputEnded: Deferred.Deferred<void>, assumeYes: boolean) =>
  Effect.gen(function* () {
    const signals = yield* Signals
    const session = yield* LocalSession.make({ surface: "scv session", assumeYes })
    const events = yield* session.events
    const writing = yield* Effect.forkScoped(Stream.runForEach(events, (event) => say({ type: "event", ...event })))
    const stopped = yield* Deferred.make<void>()
    const { readerGone } = yield* Stdio
    const cancelAll = Effect.flatMap(session.live, Effect.forEach(session.cancel, { discard: true }))
    const stop = Effect.zipRight(Deferred.succeed(stopped, undefined), cancelAll)
    const reading = Effect.flatMap(
      Input.lines,
      Stream.runForEach((given) => handle(session, given))
    )
    yield* signals.handledBy(Effect.asVoid(stop))(
      Effect.gen(function* () {
        yield* Effect.raceFirst(reading, Effect.raceFirst(Deferred.await(stopped), Effect.zipRight(readerGone, stop)))
        yield* Deferred.succeed(inputEnded, undefined)
        yield* session.idle
        yield* session.close
        yield* Fiber.join(writing)
      })
    )
    if (yield* Deferred.isDone(stopped)) yield* Ref.set(yield* ExitCode, interrupted)
  })

/** `scv session`: a session over JSON lines on stdin and stdout. */
export const session = (tools: ReadonlyArray<OfferedTool>) =>
  Command.make("session", { workspace: options.workspace, yes: options.yes, policy: options.policy }, (given) =>
    Effect.flatMap(Deferred.make<void>(), (inputEnded) =>
      serve(inputEnded, given.yes).pipe(
        Effect.provide(approver(inputEnded)),
        Effect.provide(LocalSession.single({ workspace: given.workspace, flags: given.policy }, tools)),
        Effect.scoped
      )
    )
  ).pipe(Command.withDescription("Serves calls over JSON lines: one object a line in, one object a line out."))
