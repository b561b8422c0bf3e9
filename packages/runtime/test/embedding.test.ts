import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { expect, it } from "@effect/vitest"
import { Approval, Directory, InputSchema, ProcessSpawner, type Session, Tool } from "@scv/core"
import { builtins, LocalSession, Machine } from "@scv/runtime"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

const yes = Layer.succeed(Approval.Approver, {
  decide: () => Effect.succeed({ decision: "approve", by: "test" })
})

const temporary = Effect.acquireRelease(
  Effect.sync(() => {
    const directory = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "scv-embedding-")))
    process.env.SCV_HOME = `${directory}/.scv`
    return directory
  }),
  (made) => Effect.sync(() => fs.rmSync(made, { recursive: true, force: true }))
)

/** A service that SCV knows nothing of. */
class Clerk extends Context.Tag("test/Clerk")<Clerk, { readonly name: string }>() {}

/** A tool of the app's own, which needs that service. */
const whoami = Effect.gen(function* () {
  const { name } = yield* Clerk
  return yield* Tool.make({
    name: "whoami",
    description: "Tells who works here.",
    risk: "read_only",
    input: InputSchema.struct({}),
    plan: Schema.Struct({}),
    output: Schema.Struct({ name: Schema.String }),
    prepare: () => Effect.succeed({ summary: "whoami", plan: {} }),
    run: () => Effect.succeed({ name })
  })
})

const write = { tool: "write", input: { path: "a.txt", content: "a", mode: "create" } }

it.scopedLive("takes tools that need services of their own", () =>
  Effect.gen(function* () {
    const directory = yield* temporary
    const services = LocalSession.single({ workspace: directory }, [...builtins, whoami]).pipe(
      Layer.provide(Layer.succeed(Clerk, { name: "Ada" }))
    )
    const session = yield* Effect.provide(LocalSession.make(), yield* Layer.build(Layer.merge(services, yes)))
    const answer = yield* session.call({ tool: "whoami", input: {} })
    expect(answer).toMatchObject({ status: "completed", result: { name: "Ada" } })
  })
)

it.scopedLive("is a service like any other", () =>
  Effect.gen(function* () {
    class Hands extends Context.Tag("test/Hands")<Hands, Session.Session>() {}
    const directory = yield* temporary
    const hands = Layer.scoped(Hands, LocalSession.make()).pipe(
      Layer.provide(LocalSession.single({ workspace: directory }, builtins)),
      Layer.provide(yes)
    )
    const answer = yield* Effect.flatMap(Hands, (session) => session.call(write)).pipe(Effect.provide(hands))
    expect(answer.status).toBe("completed")
    expect(fs.readFileSync(`${directory}/a.txt`, "utf8")).toBe("a")
  })
)

it.scopedLive("gives several sessions one machine, each its own policy", () =>
  Effect.gen(function* () {
    const directory = yield* temporary
    const machine = yield* Layer.build(Machine.layer)
    const openSession = (policy: Approval.ApprovalPolicy) =>
      LocalSession.layer({ workspace: directory, flags: { "tools.approval_policy": policy } }, builtins).pipe(
        Layer.merge(yes),
        Layer.build,
        Effect.flatMap((services) => Effect.provide(LocalSession.make(), services)),
        Effect.provide(machine)
      )
    const strict = yield* openSession("never")
    const open = yield* openSession("on-risk")
    expect((yield* strict.call(write)).status).toBe("denied")
    expect((yield* open.call(write)).status).toBe("completed")
  })
)

it.scopedLive("runs programs by a spawner of the app's own", () =>
  Effect.gen(function* () {
    const directory = yield* temporary
    const started: Array<string> = []
    const noting = Layer.effect(
      ProcessSpawner.ProcessSpawner,
      Effect.map(ProcessSpawner.ProcessSpawner, ({ spawn }) => ({
        spawn: (request) => {
          started.push(request.program)
          return spawn({ ...request, environment: { ...request.environment, COLOR: "blue" } })
        }
      }))
    )
    const services = LocalSession.layer({ workspace: directory }, builtins).pipe(
      Layer.provide(Layer.provideMerge(noting, Machine.layer)),
      Layer.merge(yes)
    )
    const session = yield* Effect.provide(LocalSession.make(), yield* Layer.build(services))
    const answer = yield* session.call({ tool: "bash", input: { command: "echo $COLOR" } })
    expect(answer).toMatchObject({ status: "completed", result: { output: "blue\n" } })
    expect(started).toEqual(["/bin/bash"])
  })
)

it.scopedLive("reaches files by directories of the app's own", () =>
  Effect.gen(function* () {
    const directory = yield* temporary
    const readOnly = (opened: Directory.Directory): Directory.Directory => ({
      ...opened,
      target: (path) =>
        Effect.fail(new Directory.DirectoryError({ kind: "permission", path, detail: "this app only reads" }))
    })
    const readingOnly = Layer.effect(
      Directory.Directories,
      Effect.map(Directory.Directories, ({ containment, open }) => ({
        containment,
        open: (path) => Effect.map(open(path), readOnly)
      }))
    )
    const services = LocalSession.layer({ workspace: directory }, builtins).pipe(
      Layer.provide(Layer.provideMerge(readingOnly, Machine.layer)),
      Layer.merge(yes)
    )
    const session = yield* Effect.provide(LocalSession.make(), yield* Layer.build(services))
    expect(yield* session.call(write)).toMatchObject({
      status: "failed",
      error: { kind: "permission", message: "a.txt: this app only reads" }
    })
    fs.writeFileSync(`${directory}/b.txt`, "b")
    expect(yield* session.call({ tool: "read", input: { path: "b.txt" } })).toMatchObject({ status: "completed" })
  })
)

it.scopedLive("asks an approver of the app's own, and runs what was approved", () =>
  Effect.gen(function* () {
    const directory = yield* temporary
    const questions: Array<Approval.ApprovalRequest> = []
    const approver = Layer.succeed(Approval.Approver, {
      decide: (request) =>
        Effect.sync(() => {
          questions.push(request)
          return { decision: request.tool === "write" ? "approve" : "deny", reason: "files only", by: "test" } as const
        })
    })
    const services = Layer.merge(LocalSession.single({ workspace: directory }, builtins), approver)
    const session = yield* Effect.provide(LocalSession.make(), yield* Layer.build(services))
    expect((yield* session.call(write)).status).toBe("completed")
    const refused = yield* session.call({ tool: "bash", input: { command: "rm a.txt" } })
    expect(refused.error).toEqual({ kind: "denied", message: "bash was denied: files only" })
    expect(questions.map(({ risk, tool }) => [tool, risk])).toEqual([
      ["write", "filesystem"],
      ["bash", "process"]
    ])
  })
)
