/** A typed client of the daemon, derived from its API; the events by hand. */
import * as HttpApiClient from "@effect/platform/HttpApiClient"
import type { HttpApiDecodeError } from "@effect/platform/HttpApiError"
import * as HttpClient from "@effect/platform/HttpClient"
import type * as HttpClientError from "@effect/platform/HttpClientError"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Api } from "./Api.ts"
import { Event } from "./Event.ts"
import { Failure, FailureKind } from "./Failure.ts"

/** What can go wrong with a request besides the daemon's own refusal: nobody is there, or what is there is no daemon. */
export type TransportError = HttpClientError.HttpClientError | ParseResult.ParseError | HttpApiDecodeError

/** An event, with the id to resume after it; the first and the last of a stream have none. */
export interface Numbered {
  readonly id: string | undefined
  readonly event: Event
}

export interface EventsOptions {
  /** Only those of this session; the stream ends with it. */
  readonly session?: string
  /** Resumes after the event of this id. */
  readonly after?: string
}

const make = (agent: string) =>
  Effect.gen(function* () {
    const named = HttpClient.mapRequest(yield* HttpClient.HttpClient, HttpClientRequest.setHeader("user-agent", agent))
    const api = yield* HttpApiClient.makeWith(Api, { httpClient: named })
    return { ...api, stream: (options: EventsOptions = {}) => stream(named, options) }
  })

/** The daemon, as a client sees it. */
export type Client = Effect.Effect.Success<ReturnType<typeof make>>

export class Daemon extends Context.Tag("@scv/protocol/Daemon")<Daemon, Client>() {}

/** A client over whatever reaches the daemon. `agent` names the caller; decisions are recorded under it. */
export const client = (agent: string): Effect.Effect<Client, never, HttpClient.HttpClient> => make(agent)

const decodeEvent = Schema.decodeUnknown(Schema.parseJson(Event))

const decodeFailure = Schema.decodeUnknown(
  Schema.Struct({ error: Schema.Struct({ kind: FailureKind, message: Schema.String }) })
)

/** The fields of one event of a stream, of those that the daemon writes. */
interface Fields {
  readonly id: string | undefined
  /** One line: JSON needs no more. */
  readonly data: string
}

const none: Fields = { id: undefined, data: "" }

/** Collects the lines of a `text/event-stream` to events. Source: WHATWG HTML, "Interpreting an event stream". */
const collect = <E>(lines: Stream.Stream<string, E>): Stream.Stream<Fields, E> =>
  Stream.filterMap(
    Stream.mapAccum(lines, none, (held, line) => {
      if (line === "") return [none, held.data === "" ? Option.none<Fields>() : Option.some(held)]
      if (line.startsWith("data: ")) return [{ ...held, data: line.slice(6) }, Option.none<Fields>()]
      if (line.startsWith("id: ")) return [{ ...held, id: line.slice(4) }, Option.none<Fields>()]
      return [held, Option.none<Fields>()]
    }),
    (fields) => fields
  )

const stream = (
  client: HttpClient.HttpClient,
  { after, session }: EventsOptions
): Stream.Stream<Numbered, Failure | TransportError> =>
  Stream.unwrapScoped(
    Effect.gen(function* () {
      const query = session === undefined ? "" : `?session=${encodeURIComponent(session)}`
      const request = HttpClientRequest.get(`/v1/events${query}`).pipe(
        after === undefined ? (same) => same : HttpClientRequest.setHeader("last-event-id", after)
      )
      const response = yield* client.execute(request)
      if (response.status !== 200) {
        const { error } = yield* Effect.flatMap(response.json, decodeFailure)
        return yield* new Failure(error)
      }
      return HttpClientResponse.stream(Effect.succeed(response)).pipe(
        Stream.decodeText(),
        Stream.splitLines,
        collect,
        Stream.mapEffect(({ data, id }) => Effect.map(decodeEvent(data), (event) => ({ id, event })))
      )
    })
  )
