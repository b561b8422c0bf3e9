/** Only one daemon a home: a lock that dies with its process, whatever ends it. */
import * as fs from "node:fs"
import * as net from "node:net"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

/** Another process holds the lock. */
export class Locked extends Schema.TaggedError<Locked>()("Locked", {}) {}

/**
 * An abstract socket (unix(7)): binding it is atomic, and the kernel takes it back. Its name is the identity of the
 * directory, so that two paths to one directory are one lock.
 */
const byAbstractSocket = (directory: string): Effect.Effect<void, Locked, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.async<net.Server, Locked>((resume) => {
        const { dev, ino } = fs.statSync(directory)
        const server = net.createServer((connection) => connection.destroy())
        server.once("error", () => resume(Effect.fail(new Locked())))
        server.listen(`\0scvd/${dev}-${ino}`, () => resume(Effect.succeed(server)))
      }),
      (server) => Effect.sync(() => server.close())
    )
  )

/** `O_EXLOCK` of BSD and macOS: open(2) takes an exclusive lock on the file. */
const exclusiveLock = 0x20

const byFile = (directory: string): Effect.Effect<void, Locked, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.try({
        try: () => {
          const { O_CREAT, O_NONBLOCK, O_RDWR } = fs.constants
          return fs.openSync(path.join(directory, "scvd.lock"), O_RDWR | O_CREAT | O_NONBLOCK | exclusiveLock, 0o600)
        },
        catch: () => new Locked()
      }),
      (fd) => Effect.sync(() => fs.closeSync(fd))
    )
  )

/** Holds the lock of a directory as long as the scope is open. */
export const hold = process.platform === "linux" ? byAbstractSocket : byFile
