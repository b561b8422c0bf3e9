/** A session served on lines: what `scv mcp` does with its standard streams. */
import { serveStdio } from "@modelcontextprotocol/server/stdio"
import { Display, type Session } from "@scv/core"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Bridge from "./Bridge.ts"
import { LineTransport } from "./LineTransport.ts"
import * as Server from "./Server.ts"

/** A line that came in, or why there is none. */
export type Line = { readonly text: string } | { readonly fault: string }

export interface Streams {
  readonly lines: Stream.Stream<Line>
  /** Writes a text and waits until it is handed on. */
  readonly write: (text: string) => Effect.Effect<void>
  /** Waits until nothing more is to be done for this client: it reads no answers any more, or the server is stopped. */
  readonly stopped: Effect.Effect<void>
}

/**
 * How long what was asked before the end of the input may still take, so that a script which writes its requests and
 * closes the pipe gets its answers. Whether the client only closed its end or has died cannot be told from here.
 */
export const grace = Duration.seconds(3)

/** How long the answers of calls that have ended may take to be written. */
const patience = Duration.seconds(1)

/**
 * Serves until the input ends, or until `stopped`. The end of the input denies all questions, and cancels what is not
 * done after {@link grace}; `stopped` cancels at once. Both wait for the release of every call. The session is closed.
 */
export const serve = (
  session: Session.Session,
  options: Server.Options,
  { lines, stopped, write }: Streams
): Effect.Effect<void> =>
  Effect.gen(function* () {
    const bridge = yield* Bridge.make
    const endpoint = yield* Server.endpoint(options)
    const inputEnded = yield* Deferred.make<void>()
    const warn = (message: string) => Effect.logWarning(`mcp: ${Display.bounded(message, 300)}`)
    const report = (message: string): void => {
      bridge.start(warn(message))
    }
    const transport = new LineTransport((line) => bridge.promise(write(line)), report)
    const server = serveStdio(
      ({ era }) => bridge.promise(Server.make(session, endpoint, { era, clientGone: Deferred.await(inputEnded) })),
      { transport, onerror: ({ message }) => report(message) }
    )
    const answered = Effect.async<void>((resume) => {
      const stop = transport.onceAnswered(() => resume(Effect.void))
      return Effect.sync(stop)
    })
    const reading = Stream.runForEach(lines, (line) =>
      "fault" in line ? warn(line.fault) : Effect.sync(() => transport.receive(line.text))
    )
    const serving = Effect.gen(function* () {
      yield* reading
      yield* Deferred.succeed(inputEnded, undefined)
      yield* Effect.timeoutOption(answered, grace)
    })
    yield* Effect.raceFirst(serving, stopped)
    yield* Deferred.succeed(inputEnded, undefined)
    yield* session.close
    yield* Effect.timeoutOption(answered, patience)
    yield* Effect.promise(() => server.close())
  })
