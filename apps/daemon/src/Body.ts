/** Reads the JSON body of a request: bounded, and strict UTF-8. */
import type { HttpServerRequest } from "@effect/platform/HttpServerRequest"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Failure } from "@scv/protocol"
import * as Effect from "effect/Effect"
import * as Bounds from "./Bounds.ts"

export interface Body {
  readonly json: unknown
  readonly bytes: number
}

const tooLarge = new Failure({ kind: "too_large", message: `the body is longer than ${Bounds.bodyBytes} bytes` })

const unread = new Failure({ kind: "invalid_input", message: "the body ended early" })

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/**
 * A body that is too long is taken to its end and dropped before it is refused: a client that is still sending when the
 * connection ends never reads the answer. One without bounds is cut off.
 */
const bytesOf = (request: HttpServerRequest): Effect.Effect<Buffer, Failure> =>
  Effect.async<Buffer, Failure>((resume) => {
    const source = NodeHttpServerRequest.toIncomingMessage(request)
    let parts: Array<Buffer> = []
    let size = 0
    const onData = (chunk: Buffer) => {
      size += chunk.length
      if (size <= Bounds.bodyBytes) {
        parts.push(chunk)
        return
      }
      parts = []
      if (size > Bounds.droppedBytes) resume(Effect.fail(tooLarge))
    }
    source.on("data", onData)
    source.once("end", () =>
      resume(size > Bounds.bodyBytes ? Effect.fail(tooLarge) : Effect.succeed(Buffer.concat(parts)))
    )
    source.once("close", () => resume(Effect.fail(unread)))
    source.once("error", () => resume(Effect.fail(unread)))
  })

export const read = (request: HttpServerRequest): Effect.Effect<Body, Failure> =>
  Effect.flatMap(bytesOf(request), (bytes) =>
    Effect.try({
      try: () => ({ json: JSON.parse(decoder.decode(bytes)), bytes: bytes.length }),
      catch: (error) =>
        new Failure({
          kind: "invalid_input",
          message: error instanceof SyntaxError ? "the body is not JSON" : "the body is not UTF-8"
        })
    })
  )
