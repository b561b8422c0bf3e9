/** The daemon of this SCV_HOME, as the commands reach it. */
import type { HttpApiDecodeError } from "@effect/platform/HttpApiError"
import type * as HttpClientError from "@effect/platform/HttpClientError"
import { Display, type ToolError } from "@scv/core"
import { Client, type Failure, Place } from "@scv/protocol"
import { layer } from "@scv/protocol/node"
import { Configuration, Unusable } from "@scv/runtime"
import * as Effect from "effect/Effect"
import type * as ParseResult from "effect/ParseResult"
import { version } from "./version.ts"

export const socket = (): string => Place.socketOf(Configuration.home())

const absent = () =>
  new Unusable({
    kind: "config",
    message: `no daemon runs (nobody answers at ${socket()}); scv daemon start starts one`
  })

const gone = () => new Unusable({ kind: "config", message: "the daemon went away in the middle of it" })

/** What a request may fail with. */
export type DaemonError =
  | Failure
  | HttpClientError.HttpClientError
  | ParseResult.ParseError
  | HttpApiDecodeError
  | ToolError
  | Unusable

/** Whether nobody listens there. */
export const isAbsent = (error: DaemonError): boolean => {
  const cause = error._tag === "RequestError" ? error.cause : undefined
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined
  return code === "ENOENT" || code === "ECONNREFUSED" || code === "EACCES"
}

/** One line for whatever went wrong between here and the daemon. */
export const explain = (error: DaemonError): Failure | ToolError | Unusable => {
  switch (error._tag) {
    case "Failure":
    case "ToolError":
    case "Unusable":
      return error
    case "RequestError":
    case "ResponseError":
      return isAbsent(error) ? absent() : gone()
    default:
      return new Unusable({
        kind: "config",
        message: `the daemon speaks another version than this scv: ${Display.bounded(error.message, 200)}`
      })
  }
}

/** Gives an effect the daemon; `command` is what decisions are recorded under. Says so in one line where none runs. */
export const using =
  (command: string) =>
  <A, E extends DaemonError, R>(effect: Effect.Effect<A, E, R>) =>
    effect.pipe(Effect.mapError(explain), Effect.provide(layer({ socket: socket() }, `scv-${command}/${version}`)))

/** The daemon itself. */
export const { Daemon } = Client
