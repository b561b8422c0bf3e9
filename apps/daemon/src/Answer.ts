/** Answers in the one shape of errors, whatever went wrong. */
import { HttpApiDecodeError } from "@effect/platform/HttpApiError"
import * as HttpServerError from "@effect/platform/HttpServerError"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { Display } from "@scv/core"
import { bodyOf, Failure, httpStatus } from "@scv/protocol"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

/** How many faults one message names. */
const maxFaults = 4

const ofDecoding = ({ issues }: HttpApiDecodeError): Failure => {
  const faults = issues.map(({ message, path }) => {
    const at = path.map(String).join(".")
    return `${at === "" ? "request" : `\`${at}\``}: ${message.replace(/\s+/g, " ")}`
  })
  const more = faults.length > maxFaults ? `; and ${faults.length - maxFaults} more` : ""
  return new Failure({
    kind: "invalid_input",
    message: Display.bounded(faults.slice(0, maxFaults).join("; ") + more, 2000)
  })
}

const ofError = (error: unknown): Failure | undefined => {
  if (error instanceof Failure) return error
  if (error instanceof HttpApiDecodeError) return ofDecoding(error)
  if (error instanceof HttpServerError.RouteNotFound) {
    const { method, url } = error.request
    return new Failure({
      kind: "not_found",
      message: `${method} ${Display.bounded(url.split("?", 1)[0] ?? "", 200)}: there is nothing; see /openapi.json`
    })
  }
  if (error instanceof HttpServerError.RequestError) {
    return new Failure({ kind: "invalid_input", message: "the request cannot be read" })
  }
  return undefined
}

const broken = new Failure({ kind: "internal", message: "a fault of the daemon itself; its log says more" })

export const ofFailure = (failure: Failure): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.unsafeJson(bodyOf(failure), { status: httpStatus(failure.kind) })

/** The answer to a request that came to nothing. */
export const ofCause = (cause: Cause.Cause<unknown>): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  const errors = [...Option.toArray(Cause.failureOption(cause)), ...Cause.defects(cause)]
  const known = errors.map(ofError).find((failure) => failure !== undefined)
  if (known !== undefined) return Effect.succeed(ofFailure(known))
  // Nobody is left to read it.
  if (Cause.isInterruptedOnly(cause)) return Effect.interrupt
  return Effect.as(Effect.logError("a request broke", cause), ofFailure(broken))
}
