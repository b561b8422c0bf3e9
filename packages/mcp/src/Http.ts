/** Sessions served as streamable HTTP. Source: MCP, "Streamable HTTP". Who may come in at all is for the caller to check. */
import {
  createMcpHandler,
  DEFAULT_MAX_REQUEST_BODY_SIZE,
  isInitializeRequest,
  isJSONRPCRequest,
  isJsonContentType,
  isLegacyRequest,
  type RequestId,
  readRequestBody,
  WebStandardStreamableHTTPServerTransport
} from "@modelcontextprotocol/server"
import { Display, type Session } from "@scv/core"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Bridge from "./Bridge.ts"
import { idInUse } from "./LineTransport.ts"
import * as Server from "./Server.ts"

export interface Options extends Server.Options {
  /**
   * The session for a client, opened for as long as the scope is. Asked once for each client that opens a session of the
   * protocol, and once for each request of a client that has none (since 2026-07-28); it may hand out the same one.
   * An error is answered with its message.
   */
  readonly open: (request: Request) => Effect.Effect<Session.Session, { readonly message: string }, Scope.Scope>
}

/** How long a client may be silent, with no stream open, before its session is closed. */
export const idle = Duration.minutes(30)

/** How long the answers of calls may take to go out once the session has ended. */
const patience = Duration.seconds(1)

/** The most clients that may have a session at once. */
export const maxClients = 256

/** A client that has opened a session of the protocol. */
interface Client {
  readonly transport: WebStandardStreamableHTTPServerTransport
  readonly close: Effect.Effect<void>
  /** Exchanges that go on. */
  open: number
  /** Those of them that wait for an answer. */
  unanswered: number
  /** The ids of the requests in them. */
  readonly ids: Set<RequestId>
  /** When the last one ended, by the Effect clock. */
  lastSeen: number
}

/** Codes of JSON-RPC 2.0, section 5.1, and of its range for servers. */
const codes = { parse: -32700, invalidRequest: -32600, server: -32000, noSession: -32001 }

const refusal = (status: number, code: number, message: string): Response =>
  Response.json({ jsonrpc: "2.0", error: { code, message: Display.bounded(message, 2000) }, id: null }, { status })

/** The ids of the requests in a body, which may be a batch. */
const requestIdsOf = (body: unknown): ReadonlyArray<RequestId> =>
  (Array.isArray(body) ? body : [body]).filter(isJSONRPCRequest).map(({ id }) => id)

/** A response that tells when it has been read to its end, or when nobody reads it any more. */
const watched = (response: Response, ended: (isBrokenOff: boolean) => void): Response => {
  if (response.body === null) {
    ended(false)
    return response
  }
  const reader = response.body.getReader()
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      try {
        const { done, value } = await reader.read()
        if (!done) return controller.enqueue(value)
        controller.close()
        ended(false)
      } catch (error) {
        controller.error(error)
        ended(true)
      }
    },
    cancel: async (reason) => {
      ended(true)
      await reader.cancel(reason)
    }
  })
  return new Response(body, { status: response.status, headers: response.headers })
}

/** Answers a request; `parsedBody` is its body where that has been read and parsed already. */
export type Handler = (request: Request, parsedBody?: unknown) => Effect.Effect<Response>

/**
 * A handler for all requests to one path. Closing the scope ends every session that it has opened; a session that ends by
 * another way ends its client's.
 */
export const make = (options: Options): Effect.Effect<Handler, never, Scope.Scope> =>
  Effect.gen(function* () {
    const bridge = yield* Bridge.make
    const endpoint = yield* Server.endpoint(options)
    const scope = yield* Effect.scope
    const clients = new Map<string, Client>()
    let opening = 0

    // In the scope, which so waits for a release that has begun.
    const inBackground = (effect: Effect.Effect<void>): void => {
      bridge.start(Effect.forkIn(Effect.uninterruptible(effect), scope))
    }

    /**
     * One exchange. Where the other side goes away, before or during the response, what it asked for is cancelled: there
     * is nobody left to answer to.
     */
    const exchange = (
      request: Request,
      serve: (request: Request) => Promise<Response>,
      release: Effect.Effect<void>
    ): Effect.Effect<Response> =>
      Effect.suspend(() => {
        const controller = new AbortController()
        const { headers, method, url } = request
        const end = (isBrokenOff: boolean): void => {
          if (isBrokenOff) controller.abort()
          inBackground(release)
        }
        return Effect.promise(() => serve(new Request(url, { method, headers, signal: controller.signal }))).pipe(
          Effect.map((response) => watched(response, end)),
          Effect.onError(() =>
            Effect.zipRight(
              Effect.sync(() => controller.abort()),
              release
            )
          )
        )
      })

    const opened = <A>(
      request: Request,
      use: (session: Session.Session, own: Scope.CloseableScope) => Effect.Effect<A>
    ): Effect.Effect<A | Response> =>
      Effect.gen(function* () {
        const own = yield* Scope.fork(scope, ExecutionStrategy.sequential)
        return yield* Scope.extend(options.open(request), own).pipe(
          Effect.matchEffect({
            onFailure: ({ message }) => Effect.as(Scope.close(own, Exit.void), refusal(400, codes.server, message)),
            onSuccess: (session) => use(session, own)
          }),
          Effect.onError(() => Scope.close(own, Exit.void))
        )
      })

    const connect = (session: Session.Session, own: Scope.CloseableScope) =>
      Effect.gen(function* () {
        const id = crypto.randomUUID()
        const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => id })
        const server = yield* Server.make(session, endpoint, { era: "legacy", clientGone: Effect.never })
        yield* Effect.promise(() => server.connect(transport))
        yield* Scope.addFinalizer(
          own,
          Effect.zipRight(
            Effect.sync(() => clients.delete(id)),
            Effect.promise(() => server.close())
          )
        )
        const close = Scope.close(own, Exit.void)
        server.onclose = () => inBackground(close)
        const client: Client = {
          transport,
          close,
          open: 0,
          unanswered: 0,
          ids: new Set(),
          lastSeen: yield* Clock.currentTimeMillis
        }
        clients.set(id, client)
        const answered = Effect.repeat(
          Effect.sync(() => client.unanswered === 0),
          { until: (isAnswered) => isAnswered, schedule: Schedule.spaced("10 millis") }
        )
        const events = yield* Scope.extend(session.events, own)
        yield* Effect.forkIn(
          Effect.zipRight(Stream.runDrain(events), Effect.timeoutOption(answered, patience)).pipe(
            Effect.zipRight(Effect.sync(() => inBackground(close))),
            Effect.interruptible
          ),
          own
        )
        return client
      })

    const serveClient = (client: Client, request: Request, parsedBody: unknown) =>
      Effect.suspend(() => {
        const asks = request.method === "POST" ? 1 : 0
        const ids = requestIdsOf(parsedBody)
        const known = new Set(client.ids)
        for (const id of ids) {
          if (known.has(id)) return Effect.succeed(refusal(400, codes.invalidRequest, idInUse(id)))
          known.add(id)
        }
        for (const id of ids) client.ids.add(id)
        client.open++
        client.unanswered += asks
        const release = Effect.map(Clock.currentTimeMillis, (now) => {
          client.open--
          client.unanswered -= asks
          for (const id of ids) client.ids.delete(id)
          client.lastSeen = now
        })
        return exchange(request, (inner) => client.transport.handleRequest(inner, { parsedBody }), release)
      })

    /** Protocol versions before 2026-07-28: a session, which `initialize` opens and a header names. */
    const legacy = (request: Request, body: unknown): Effect.Effect<Response> => {
      const id = request.headers.get("mcp-session-id")
      if (id !== null) {
        const client = clients.get(id)
        return client === undefined
          ? Effect.succeed(refusal(404, codes.noSession, "there is no such session; send initialize to open one"))
          : serveClient(client, request, body)
      }
      if (!isInitializeRequest(body)) {
        const expected = "expected a session in the header Mcp-Session-Id; send initialize to open one"
        return Effect.succeed(refusal(400, codes.server, expected))
      }
      if (clients.size + opening >= maxClients) {
        return Effect.succeed(refusal(503, codes.server, `more than ${maxClients} clients have a session`))
      }
      opening++
      let isOpening = true
      const settled = Effect.sync(() => {
        if (isOpening) opening--
        isOpening = false
      })
      return opened(request, (session, own) =>
        Effect.flatMap(Effect.ensuring(connect(session, own), settled), (client) => serveClient(client, request, body))
      ).pipe(Effect.ensuring(settled))
    }

    /** Since 2026-07-28: each request stands alone. */
    const modern = (request: Request, parsedBody: unknown): Effect.Effect<Response> =>
      opened(request, (session, own) =>
        Effect.suspend(() => {
          const handler = createMcpHandler(
            ({ era }) => bridge.promise(Server.make(session, endpoint, { era, clientGone: Effect.never })),
            // A stream can say that it is still there, however long the call takes.
            { legacy: "reject", responseMode: "sse" }
          )
          const release = Effect.zipRight(
            Effect.promise(() => handler.close()),
            Scope.close(own, Exit.void)
          )
          return exchange(request, (inner) => handler.fetch(inner, { parsedBody }), release)
        })
      )

    const dispatch = (request: Request, body: unknown) =>
      Effect.flatMap(
        Effect.promise(() => isLegacyRequest(request, body)),
        (isLegacy) => (isLegacy ? legacy(request, body) : modern(request, body))
      )

    const bodyOf = (request: Request): Effect.Effect<unknown, Response> =>
      Effect.gen(function* () {
        if (!isJsonContentType(request.headers.get("content-type"))) {
          return yield* Effect.fail(refusal(415, codes.server, "expected the content type application/json"))
        }
        const read = yield* Effect.tryPromise({
          try: () => readRequestBody(request, DEFAULT_MAX_REQUEST_BODY_SIZE),
          catch: () => refusal(400, codes.parse, "the body could not be read")
        })
        if (read.tooLarge) {
          return yield* Effect.fail(
            refusal(413, codes.server, `expected a body of at most ${DEFAULT_MAX_REQUEST_BODY_SIZE} bytes`)
          )
        }
        return yield* Effect.try({
          try: (): unknown => JSON.parse(read.text),
          catch: () => refusal(400, codes.parse, "expected a body of JSON")
        })
      })

    const closeIdle = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const silent = [...clients.values()].filter(
        ({ lastSeen, open }) => open === 0 && now - lastSeen >= Duration.toMillis(idle)
      )
      yield* Effect.forEach(silent, ({ close }) => close, { discard: true })
    })
    yield* Effect.forkScoped(Effect.repeat(closeIdle, Schedule.spaced("1 minute")))

    const answer = (request: Request, parsedBody: unknown): Effect.Effect<Response> =>
      request.method === "POST" && parsedBody === undefined
        ? Effect.flatMap(bodyOf(request), (body) => dispatch(request, body)).pipe(Effect.catchAll(Effect.succeed))
        : dispatch(request, parsedBody)

    // A server may run its handlers where nothing can be interrupted; a session could not be ended there.
    return (request, parsedBody) => Effect.interruptible(answer(request, parsedBody))
  })
