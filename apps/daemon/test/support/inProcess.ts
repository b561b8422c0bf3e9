import * as fs from "node:fs"
import type { OfferedTool } from "@scv/runtime"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { run } from "../../src/Scvd.ts"
import { ask, eventually, makeWorkspace, type Request, socketOf } from "./daemon.ts"

/** A daemon in this process, with the given tools and arguments, until it is stopped or the scope closes. */
export const startInProcess = (tools: ReadonlyArray<OfferedTool>, args: ReadonlyArray<string> = []) =>
  Effect.gen(function* () {
    const home = yield* makeWorkspace
    const stop = yield* Deferred.make<void>()
    const daemon = yield* Effect.acquireRelease(
      Effect.sync(() => {
        const before = process.env.SCV_HOME
        process.env.SCV_HOME = home
        return before
      }),
      (before) =>
        Effect.sync(() => {
          if (before === undefined) delete process.env.SCV_HOME
          else process.env.SCV_HOME = before
        })
    ).pipe(
      Effect.zipRight(
        Effect.forkScoped(
          run(["node", "scvd", ...args], tools, { requested: Deferred.await(stop), hurried: Effect.never })
        )
      )
    )
    const where = { socketPath: socketOf(home) }
    yield* eventually(() => fs.existsSync(where.socketPath))
    return {
      home,
      socketPath: where.socketPath,
      ask: (target: string, request?: Request) => ask(where, target, request),
      /** Stops it and gives its exit code. */
      stop: Effect.zipRight(Deferred.succeed(stop, undefined), Fiber.join(daemon))
    }
  })
