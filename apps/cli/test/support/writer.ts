/** Makes the calls of `write` that come by stdin as `scv session` would, with little to load: it is started for each crash. */
import * as path from "node:path"
import * as readline from "node:readline"
import { write } from "@scv/builtins"
import { Approval, AuditLog, Limits, Session, ToolRegistry, Workspace } from "@scv/core"
import { NodeAuditLog, NodeDigest, NodeDirectory, NodeHome } from "@scv/node"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"

const home = path.resolve(process.env.SCV_HOME ?? "")

const auditLog = Layer.effect(
  AuditLog.AuditLog,
  Effect.map(NodeAuditLog.AuditFiles, ({ log }) => log({ maxBytes: 2 ** 27, keepDays: 90 }))
).pipe(Layer.provide(NodeAuditLog.layer(path.join(home, "state/audit"))))

const services = Layer.mergeAll(
  ToolRegistry.layer([write]).pipe(
    Layer.provideMerge(Workspace.layer(process.cwd())),
    Layer.provideMerge(Limits.layer()),
    Layer.provideMerge(NodeDigest.layer),
    Layer.provideMerge(NodeHome.layer(home)),
    Layer.provide(NodeDirectory.layer())
  ),
  auditLog,
  Approval.unattended
)

const main = Effect.gen(function* () {
  const session = yield* Session.make({ surface: "test", policy: "on-risk", assumeYes: true })
  const events = yield* session.events
  yield* Effect.forkScoped(
    Stream.runForEach(events, (event) => Effect.sync(() => process.stdout.write(`${JSON.stringify(event)}\n`)))
  )
  const lines = Stream.fromAsyncIterable(readline.createInterface({ input: process.stdin }), (error) => error)
  yield* Stream.runForEach(lines, (line) => session.submit(JSON.parse(line)))
  yield* session.idle
}).pipe(Effect.scoped, Effect.provide(services))

void Effect.runPromise(main)
