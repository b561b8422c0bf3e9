import { createHash } from "node:crypto"
import {
  Approval,
  AuditLog,
  Digest,
  Directory,
  InputSchema,
  Limits,
  Session,
  Tool,
  ToolRegistry,
  Workspace
} from "@scv/core"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

const notHere = (path: string) =>
  Effect.fail(new Directory.DirectoryError({ kind: "not_found", path, detail: "no such file" }))

/** A workspace without a file in it. */
const emptyWorkspace = Layer.succeed(Workspace.Workspace, {
  path: "/workspace",
  identity: { dev: "1", ino: "1" },
  handle: Effect.succeed("/workspace"),
  directory: notHere,
  list: notHere,
  file: notHere,
  read: notHere,
  sha256: notHere,
  target: notHere,
  write: notHere
})

const digest = Layer.succeed(Digest, { sha256: (data) => createHash("sha256").update(data).digest("hex") })

interface SessionOptions extends Partial<Session.Options> {
  readonly tools: ReadonlyArray<Effect.Effect<Tool.Tool, Tool.UnusableTool>>
  readonly limits?: Partial<Limits.LimitValues>
  readonly approver?: Layer.Layer<Approval.Approver>
  readonly audit?: Layer.Layer<AuditLog.AuditLog>
}

/** A session of the given tools; nobody answers its questions unless an approver is given. */
export const makeSession = ({ approver, audit, limits, tools, ...options }: SessionOptions) =>
  Session.make({ surface: "test", policy: "on-risk", ...options }).pipe(
    Effect.provide(
      Layer.mergeAll(
        ToolRegistry.layer(tools),
        emptyWorkspace,
        digest,
        Limits.layer(limits),
        audit ?? AuditLog.none,
        approver ?? Approval.unattended
      )
    )
  )

const Text = Schema.Struct({ text: Schema.String })

/** A tool that takes and gives a text; `run` is what it does with it. */
export const textTool = (
  options: Partial<
    Tool.Definition<
      typeof Text.Type,
      typeof Text.Encoded,
      { text: string },
      { text: string },
      { text: string },
      { text: string },
      never
    >
  >
) =>
  Tool.make({
    name: "echo",
    description: "Gives back what it is given.",
    risk: "read_only",
    input: InputSchema.struct({ text: InputSchema.required(InputSchema.text, "what to give back") }),
    plan: Text,
    output: Text,
    prepare: ({ text }) => Effect.succeed({ summary: `echo ${text}`, plan: { text } }),
    run: ({ text }) => Effect.succeed({ text }),
    ...options
  })

/** Collects the events of a session until it is closed. */
export const recordEvents = (session: Session.Session) =>
  Effect.gen(function* () {
    const events = yield* session.events
    const fiber = yield* Effect.forkScoped(Stream.runCollect(events))
    return Effect.zipRight(session.close, Effect.map(Fiber.join(fiber), Chunk.toReadonlyArray))
  })
