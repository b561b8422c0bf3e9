/**
 * What is done to an open descriptor, on another thread where it can take long. None of it is interruptible: a descriptor must not be closed,
 * and its number given to another file, while it is in use.
 */
import * as fs from "node:fs"
import * as Effect from "effect/Effect"

const onThread = <A>(run: (done: (error: NodeJS.ErrnoException | null, value: A) => void) => void) =>
  Effect.async<A, NodeJS.ErrnoException>((resume) =>
    run((error, value) => resume(error === null ? Effect.succeed(value) : Effect.fail(error)))
  ).pipe(Effect.uninterruptible)

/** Fills a buffer from a position, as far as the file goes; gives the count of bytes. */
export const fill = (fd: number, buffer: Uint8Array, position: number): Effect.Effect<number, NodeJS.ErrnoException> =>
  Effect.gen(function* () {
    let filled = 0
    while (filled < buffer.length) {
      const count = yield* onThread<number>((done) =>
        fs.read(fd, buffer, filled, buffer.length - filled, position + filled, done)
      )
      if (count === 0) break
      filled += count
    }
    return filled
  })

/** As many bytes are in the page cache sooner than another thread is awake. */
const short = 65_536

const writeNow = (fd: number, bytes: Uint8Array): Effect.Effect<number, NodeJS.ErrnoException> =>
  Effect.try({
    try: () => fs.writeSync(fd, bytes, 0, bytes.length, 0),
    catch: (error) => error as NodeJS.ErrnoException
  })

/** Writes all bytes from the start of a file. */
export const writeAll = (fd: number, bytes: Uint8Array): Effect.Effect<void, NodeJS.ErrnoException> =>
  Effect.gen(function* () {
    let written = bytes.length <= short ? yield* writeNow(fd, bytes) : 0
    while (written < bytes.length) {
      written += yield* onThread<number>((done) => fs.write(fd, bytes, written, bytes.length - written, written, done))
    }
  })

/** Waits until the device has what was written: fsync(2). */
export const flush = (fd: number): Effect.Effect<void, NodeJS.ErrnoException> =>
  onThread<void>((done) => fs.fsync(fd, (error) => done(error, undefined)))
