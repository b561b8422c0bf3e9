/** The daemon as a program: what it listens on, what it serves there, and how it stops. */

import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import type * as HttpApp from "@effect/platform/HttpApp"
import * as HttpRouter from "@effect/platform/HttpRouter"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Failure, Place } from "@scv/protocol"
import { Configuration, Machine, type OfferedTool, type Unusable } from "@scv/runtime"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as Approvals from "./Approvals.ts"
import * as Bounds from "./Bounds.ts"
import * as Door from "./Door.ts"
import * as Events from "./Events.ts"
import type { Way } from "./Gate.ts"
import { hold, type Locked } from "./Lock.ts"
import * as Loopback from "./Loopback.ts"
import * as Mcp from "./Mcp.ts"
import * as Page from "./Page.ts"
import * as Pages from "./Pages.ts"
import * as Routes from "./Routes.ts"
import * as Server from "./Server.ts"
import * as Sessions from "./Sessions.ts"
import * as SignIn from "./SignIn.ts"
import * as Socket from "./Socket.ts"
import * as State from "./State.ts"
import { token } from "./Token.ts"

export interface Options {
  /** The tools of every session. */
  readonly tools: ReadonlyArray<OfferedTool>
  /** Where to listen besides the socket. */
  readonly listen: Loopback.Address | undefined
}

/** Requests to end, as they come from outside. */
export interface Stopping {
  /** Waits for the first. */
  readonly requested: Effect.Effect<void>
  /** Waits for one more. */
  readonly hurried: Effect.Effect<void>
}

const services = (options: Options) =>
  Layer.unwrapEffect(
    Effect.map(Configuration.Configuration, ({ values: { daemon } }) =>
      Sessions.layer({
        tools: options.tools,
        maxSessions: daemon.max_sessions,
        idleSeconds: daemon.idle_session_seconds
      })
    )
  ).pipe(
    Layer.provideMerge(Configuration.ofUser),
    Layer.provideMerge(Layer.mergeAll(Events.layer, Approvals.layer, Machine.layer))
  )

const application = (options: Options) =>
  Layer.mergeAll(Routes.layer(options.tools), Pages.layer, Page.layer, Mcp.layer).pipe(
    Layer.provideMerge(HttpApiBuilder.Router.Live),
    Layer.provideMerge(services(options)),
    Layer.provideMerge(Layer.merge(Door.layer, SignIn.layer)),
    Layer.provideMerge(NodeHttpServer.layerContext)
  )

/** Ends what runs in good order: calls, then streams, then connections. A second request ends every grace. */
const drain = (stopping: Stopping) =>
  Effect.gen(function* () {
    const sessions = yield* Sessions.Sessions
    const events = yield* Events.Events
    yield* Effect.logInfo("stopping: calls are cancelled")
    const hurrying = yield* Effect.fork(Effect.forever(Effect.zipRight(stopping.hurried, sessions.hurry)))
    yield* sessions.drain.pipe(
      Effect.disconnect,
      Effect.timeoutFail({ duration: `${Bounds.drainSeconds} seconds`, onTimeout: () => "late" as const }),
      Effect.catchAll(() => Effect.logError(`some calls did not end within ${Bounds.drainSeconds} s and are given up`))
    )
    yield* Fiber.interruptFork(hurrying)
    events.end("draining")
  })

/** Listens until it is asked to stop. Fails with {@link Locked} where a daemon of this home runs already. */
export const run = (options: Options, stopping: Stopping): Effect.Effect<void, Locked | Unusable> =>
  Effect.gen(function* () {
    const home = Configuration.home()
    const socket = Place.socketOf(home)
    yield* Socket.checkPath(socket)
    yield* hold(yield* State.prepare(home))
    yield* Effect.gen(function* () {
      const app = yield* HttpRouter.toHttpApp(yield* HttpApiBuilder.Router.router)
      const listeners = yield* Scope.fork(yield* Effect.scope, ExecutionStrategy.sequential)
      const servers = yield* Scope.extend(listen(options, home, socket, app), listeners)
      yield* stopping.requested
      yield* drain(stopping)
      yield* Scope.close(listeners, Exit.void)
      yield* Server.goodbye(servers)
      yield* Effect.logInfo("stopped")
    }).pipe(Effect.provide(application(options)))
  }).pipe(Effect.scoped)

const listen = <E, R>(options: Options, home: string, socket: string, app: HttpApp.Default<E, R>) =>
  Effect.gen(function* () {
    const scope = yield* Effect.scope
    const unix = yield* Server.make(app, () => ({ _tag: "Unix" }))
    const servers = [unix]
    yield* Socket.serve(unix, socket)
    yield* Effect.logInfo(`listening on ${socket}`)
    const secret = token(home)
    const signIn = yield* SignIn.SignIn

    /** Listens on loopback TCP and says by which name. */
    const openTcp = (at: Loopback.Address) =>
      Effect.gen(function* () {
        let way: Way = { _tag: "Tcp", authorities: [], token: yield* secret, signIn }
        const tcp = yield* Server.make(app, () => way)
        const address = yield* Scope.extend(Loopback.serve(tcp, at), scope)
        servers.push(tcp)
        way = { ...way, authorities: Loopback.authorities(address) }
        const [name = ""] = way.authorities
        yield* signIn.listensAt(address.port)
        yield* Effect.logInfo(`listening on http://${name}, with the token in ${Place.tokenOf(home)}`)
        return name
      })

    /** Where open pages look for the daemon. */
    const expected = yield* signIn.expected
    const openExpected = openTcp({ host: "127.0.0.1", port: expected?.port ?? 0 }).pipe(
      Effect.tapError(({ message }) =>
        Effect.zipRight(
          signIn.listensAt(0),
          Effect.logWarning(`open pages do not find the daemon again, and have to sign in: ${message}`)
        )
      )
    )
    let name: string | undefined
    if (options.listen !== undefined) name = yield* openTcp(options.listen)
    else if (expected?.isSignedIn === true) name = yield* Effect.orElseSucceed(openExpected, () => undefined)
    const once = yield* Effect.makeSemaphore(1)
    const context = yield* Effect.context<Effect.Effect.Context<ReturnType<typeof openTcp>>>()
    const opening: Door.Opening = Effect.gen(function* () {
      name ??= yield* Effect.orElse(openExpected, () => openTcp({ host: "127.0.0.1", port: 0 }))
      return name
    }).pipe(
      once.withPermits(1),
      Effect.uninterruptible,
      Effect.mapError(({ message }) => new Failure({ kind: "internal", message })),
      Effect.provide(context)
    )
    yield* Deferred.succeed(yield* Door.Door, opening)
    return servers
  })
