/** Loopback TCP as what needs it finds it: it may have to be opened first. */
import type { Failure } from "@scv/protocol"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** `HOST:PORT` where the daemon answers browsers; it listens there from then on. Fails with `internal` where it cannot. */
export type Opening = Effect.Effect<string, Failure>

/** Given once the daemon listens on its socket. */
export class Door extends Context.Tag("scvd/Door")<Door, Deferred.Deferred<Opening>>() {}

export const layer: Layer.Layer<Door> = Layer.effect(Door, Deferred.make<Opening>())

/** Opens it where it is not open yet. */
export const open: Effect.Effect<string, Failure, Door> = Effect.flatten(Effect.flatMap(Door, Deferred.await))
