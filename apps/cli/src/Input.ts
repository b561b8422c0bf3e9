/** What comes in by stdin: bounded, strict UTF-8. */
import type { Readable } from "node:stream"
import { Lines, ToolError } from "@scv/core"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { Stdio } from "./Stdio.ts"

/** The most bytes of one input or one line. Source: design, "`scv`". */
export const maxBytes = 4 * 1024 * 1024

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** UTF-8 as text, or undefined where it is none. */
const decode = (bytes: Uint8Array): string | undefined => {
  try {
    return decoder.decode(bytes)
  } catch {
    return undefined
  }
}

/** The next chunk, or none where there is no more: an input that breaks, like a terminal that is gone, has ended. */
const nextChunk = (input: Readable): Effect.Effect<Buffer, Option.Option<never>> =>
  Effect.async((resume) => {
    const events = ["readable", "end", "close", "error"] as const
    const stop = () => {
      for (const event of events) input.off(event, look)
    }
    const look = () => {
      const chunk: Buffer | null = input.read()
      if (chunk === null && !input.readableEnded && !input.destroyed) return
      stop()
      resume(chunk === null ? Effect.fail(Option.none()) : Effect.succeed(chunk))
    }
    for (const event of events) input.on(event, look)
    look()
    return Effect.sync(stop)
  })

const chunksOf = (input: Readable): Stream.Stream<Buffer> => Stream.repeatEffectOption(nextChunk(input))

/** The whole of stdin. Fails with `too_large` above {@link maxBytes} and `invalid_input` where it is no UTF-8. */
export const readAll: Effect.Effect<string, ToolError, Stdio> = Effect.gen(function* () {
  const { input } = yield* Stdio
  const parts: Array<Buffer> = []
  let size = 0
  yield* Stream.runForEach(chunksOf(input), (chunk) => {
    size += chunk.length
    parts.push(chunk)
    return size <= maxBytes
      ? Effect.void
      : Effect.fail(new ToolError({ kind: "too_large", message: `input: more than ${maxBytes} bytes on stdin` }))
  })
  const text = decode(Buffer.concat(parts))
  if (text === undefined) return yield* new ToolError({ kind: "invalid_input", message: "input: stdin is not UTF-8" })
  return text
})

/** A line of stdin, or why there is none. */
export type Line = { readonly text: string } | { readonly fault: string }

const lineOf = (line: Lines.Line): Line => {
  if ("tooLong" in line) return { fault: `a line of ${line.tooLong} bytes; the most is ${maxBytes}` }
  const text = decode(line.bytes)
  return text === undefined ? { fault: "a line that is not UTF-8" } : { text }
}

/** The lines of stdin, framed by LF alone. A line that is too long or no UTF-8 is a fault, and the next one works. */
export const lines: Effect.Effect<Stream.Stream<Line>, never, Stdio> = Effect.map(Stdio, ({ input }) => {
  const { end, push } = Lines.framer(maxBytes)
  return Stream.concat(
    Stream.mapConcat(chunksOf(input), (chunk) => push(chunk).map(lineOf)),
    Stream.suspend(() => Stream.fromIterable(end().map(lineOf)))
  )
})
