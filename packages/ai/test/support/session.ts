import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import type * as Response from "@effect/ai/Response"
import { SessionToolkit } from "@scv/ai"
import { Approval, type Session } from "@scv/core"
import { LocalSession, type OfferedTool } from "@scv/runtime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { saying } from "./model.ts"

interface Offered {
  readonly toolkit: Effect.Effect<SessionToolkit.SessionToolkit>
}

interface Opened extends Offered {
  readonly directory: string
  readonly session: Session.Session
}

export const offering = (session: Session.Session): Offered => ({ toolkit: SessionToolkit.make(session) })

/** A session on this machine in a directory of its own, and its toolkit. */
export const openSession = (tools: ReadonlyArray<OfferedTool>) =>
  Effect.gen(function* () {
    const directory = yield* Effect.acquireRelease(
      Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "scv-ai-")))),
      (made) => Effect.sync(() => fs.rmSync(made, { recursive: true, force: true }))
    )
    process.env.SCV_HOME = `${directory}/.scv`
    const services = Layer.merge(LocalSession.single({ workspace: directory }, tools), Approval.unattended)
    const session = yield* Effect.provide(LocalSession.make({ assumeYes: true }), yield* Layer.build(services))
    const opened: Opened = { directory, session, ...offering(session) }
    return opened
  })

/** One request to a model that makes the given calls. */
export const generate = ({ toolkit }: Offered, calls: ReadonlyArray<Response.ToolCallPartEncoded>) =>
  Effect.flatMap(saying(calls), (model) => model.generateText({ prompt: "go on", toolkit }))

/** The same, streamed. */
export const stream = ({ toolkit }: Offered, calls: ReadonlyArray<Response.ToolCallPartEncoded>) =>
  Stream.unwrap(Effect.map(saying(calls), (model) => model.streamText({ prompt: "go on", toolkit })))
