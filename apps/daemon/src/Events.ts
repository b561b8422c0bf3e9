/** What happens in all sessions, numbered, kept for a while, and handed to every reader. */
import { randomBytes } from "node:crypto"
import { type EndReason, type Event, Failure, type Happening } from "@scv/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Mailbox from "effect/Mailbox"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Bounds from "./Bounds.ts"
import { Ring } from "./Ring.ts"

export interface Subscription {
  /** `text/event-stream`, as text. It ends after an event that says why. */
  readonly frames: Stream.Stream<string>
  /** Waits until the reader was sent away because it lagged. It may be stuck, so that it never reads the last event. */
  readonly sentAway: Effect.Effect<void>
}

export class Events extends Context.Tag("scvd/Events")<
  Events,
  {
    /** Hands an event to every reader, without waiting for any. */
    readonly publish: (event: Happening) => void
    /** Reads from now on, or after the event of an id. Fails with `limit` where there are too many readers. */
    readonly subscribe: (options: {
      readonly session: string | undefined
      readonly after: string | undefined
    }) => Effect.Effect<Subscription, Failure, Scope.Scope>
    /** Ends all streams, and those to come, with a last event. */
    readonly end: (reason: EndReason) => void
  }
>() {}

const frame = (event: Event, id?: string): string =>
  `${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(event)}\n\n`

interface Kept {
  readonly number: number
  readonly session: string
  readonly frame: string
}

interface Reader {
  readonly session: string | undefined
  readonly give: (frame: string) => void
  readonly end: (reason: EndReason) => void
}

const pings = Stream.repeatEffect(Effect.as(Effect.sleep(`${Bounds.pingSeconds} seconds`), ": ping\n\n"))

/** How many frames of a replay are handed to a connection at a time. */
const pageSize = 32

export const layer: Layer.Layer<Events> = Layer.sync(Events, () => {
  // Ids of an earlier daemon mean nothing to this one.
  const boot = randomBytes(4).toString("hex")
  const kept = new Ring<Kept>(Bounds.replay)
  const progress = new Ring<Kept>(Bounds.replayProgress)
  const readers = new Set<Reader>()
  let count = 0
  let ended: EndReason | undefined

  const publish = (event: Happening): void => {
    const number = ++count
    const text = frame(event, `${boot}-${number}`)
    const ring = event.event === "progress" ? progress : kept
    ring.push({ number, session: event.session_id, frame: text }, text.length)
    for (const reader of readers) {
      if (reader.session !== undefined && reader.session !== event.session_id) continue
      reader.give(text)
      if (event.event === "session_closed" && reader.session !== undefined) reader.end("session_closed")
    }
  }

  /** What came after an id, the oldest first; begins with `gap` where some of it is gone. */
  const since = (after: string | undefined, session: string | undefined): ReadonlyArray<string> => {
    if (after === undefined) return []
    const number = new RegExp(`^${boot}-(\\d{1,15})$`).exec(after)?.[1]
    const last = number === undefined ? undefined : Number(number)
    const isWhole = last !== undefined && last <= count && last >= (kept.lost?.number ?? 0)
    const later = [...kept, ...progress]
      .filter((event) => event.number > (last ?? 0) && (session === undefined || event.session === session))
      .sort((a, b) => a.number - b.number)
      .map((event) => event.frame)
    return isWhole ? later : [frame({ event: "gap" }), ...(last === undefined ? [] : later)]
  }

  const subscribe = ({
    after,
    session
  }: {
    readonly session: string | undefined
    readonly after: string | undefined
  }) =>
    Effect.gen(function* () {
      if (readers.size >= Bounds.readers) {
        return yield* new Failure({ kind: "limit", message: `more than ${Bounds.readers} readers of events` })
      }
      const live = yield* Mailbox.make<string>()
      const away = yield* Effect.makeLatch()
      let waiting = 0
      const reader: Reader = {
        session,
        give: (text) => {
          if (waiting > Bounds.backlogBytes) {
            reader.end("lagging")
            away.unsafeOpen()
            return
          }
          waiting += text.length
          live.unsafeOffer(text)
        },
        end: (reason) => {
          readers.delete(reader)
          live.unsafeOffer(frame({ event: "end", reason }))
          live.unsafeDone(Exit.void)
        }
      }
      const replay = since(after, session)
      yield* Effect.acquireRelease(
        Effect.sync(() => readers.add(reader)),
        () => Effect.sync(() => readers.delete(reader))
      )
      if (ended !== undefined) reader.end(ended)
      const said = Stream.tap(Mailbox.toStream(live), (text) =>
        Effect.sync(() => {
          waiting -= text.length
        })
      )
      const first = ["retry: 1000\n", frame({ event: "connected" }), ...replay]
      return {
        frames: Stream.concat(
          Stream.rechunk(Stream.fromIterable(first), pageSize),
          Stream.merge(said, pings, { haltStrategy: "left" })
        ),
        sentAway: away.await
      }
    })

  return {
    publish,
    subscribe,
    end: (reason) => {
      ended = reason
      for (const reader of [...readers]) reader.end(reason)
    }
  }
})
