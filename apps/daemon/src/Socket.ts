/** The Unix socket: private, taken over from a daemon that is gone, and made again where somebody deletes it. */
import * as fs from "node:fs"
import type * as http from "node:http"
import * as net from "node:net"
import { Unusable } from "@scv/runtime"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { attempt } from "./State.ts"

/** The longest path of a socket in bytes (`sun_path` of unix(7), less the NUL). A longer one would be cut in silence. */
const maxPath = process.platform === "linux" ? 107 : 103

/** Checks that a path can be one of a socket. */
export const checkPath = (path: string): Effect.Effect<void, Unusable> => {
  const size = Buffer.byteLength(path)
  if (size <= maxPath) return Effect.void
  const message = `${path}: the path of a socket may have ${maxPath} bytes, and this one has ${size}; set SCV_HOME to a shorter one`
  return Effect.fail(new Unusable({ kind: "config", message }))
}

/** Whether somebody answers at a socket. */
export const isAnswered = (path: string): Effect.Effect<boolean> =>
  Effect.async<boolean>((resume) => {
    const connection = net.connect(path)
    connection.once("connect", () => {
      resume(Effect.succeed(true))
      connection.destroy()
    })
    connection.once("error", () => resume(Effect.succeed(false)))
    return Effect.sync(() => connection.destroy())
  }).pipe(
    // A queue that is full belongs to somebody.
    Effect.timeoutTo({ duration: "2 seconds", onSuccess: (answered) => answered, onTimeout: () => true })
  )

/** Removes the socket that an ended daemon left. Fails where the name is taken by anything else. */
const clear = (path: string): Effect.Effect<void, Unusable> =>
  Effect.gen(function* () {
    const found = yield* attempt(path, () => fs.lstatSync(path, { throwIfNoEntry: false }))
    if (found === undefined) return
    if (!found.isSocket()) {
      return yield* new Unusable({
        kind: "config",
        message: `${path}: is in the way, and is no socket; move it elsewhere`
      })
    }
    if (yield* isAnswered(path)) {
      return yield* new Unusable({
        kind: "config",
        message: `${path}: a daemon of another machine or container answers there; give this one an SCV_HOME of its own`
      })
    }
    yield* attempt(path, () => fs.rmSync(path, { force: true }))
  })

const listen = (server: http.Server, path: string): Effect.Effect<void, Unusable> =>
  Effect.zipRight(
    Effect.async<void, Unusable>((resume) => {
      const onError = (error: Error) =>
        resume(Effect.fail(new Unusable({ kind: "config", message: `${path}: ${error.message}` })))
      server.once("error", onError)
      server.listen(path, () => {
        server.off("error", onError)
        resume(Effect.void)
      })
    }),
    attempt(path, () => fs.chmodSync(path, 0o600))
  )

const identityOf = (path: string): string => {
  const found = fs.lstatSync(path, { throwIfNoEntry: false, bigint: true })
  return found === undefined ? "" : `${found.dev}-${found.ino}`
}

/** Lets a server answer at a path for as long as the scope is open. The lock of its directory is held by now. */
export const serve = (server: http.Server, path: string): Effect.Effect<void, Unusable, Scope.Scope> =>
  Effect.gen(function* () {
    yield* checkPath(path)
    yield* clear(path)
    yield* Effect.acquireRelease(listen(server, path), () => Effect.sync(() => server.close()))
    let identity = identityOf(path)
    const mend = Effect.gen(function* () {
      if (identityOf(path) === identity) return
      yield* Effect.logWarning(`${path} was deleted; it is made again`)
      // Connections stay. Closing removes whatever has the name.
      server.close()
      yield* clear(path)
      yield* listen(server, path)
      identity = identityOf(path)
    }).pipe(Effect.catchAllCause((cause) => Effect.logError(`${path} cannot be made again`, cause)))
    yield* Effect.forkScoped(Effect.repeat(mend, Schedule.spaced("1 second")))
  })
