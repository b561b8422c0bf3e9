/** Reading: a contained read against one that trusts the path, and a whole call against the least it must do. */
import * as fs from "node:fs"
import * as path from "node:path"
import { read } from "@scv/builtins"
import { Approval, Directory, Limits, Session, ToolRegistry, Workspace } from "@scv/core"
import { NodeDigest, NodeDirectory, NodeHome } from "@scv/node"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { auditLogIn } from "./auditLog.ts"
import { type Benchmark, interleaved, repeated } from "./measure.ts"
import { scratch } from "./scratch.ts"

const line = "const answer = yield* question.pipe(Effect.orDie)\n"

const textOf = (bytes: number): string => line.repeat(Math.ceil(bytes / line.length)).slice(0, bytes)

/** A read of a small file, three components deep. */
export const containedRead: Benchmark = Effect.gen(function* () {
  const at = yield* scratch
  const asked = "packages/src/file.ts"
  const absolute = path.join(at, asked)
  fs.mkdirSync(path.dirname(absolute), { recursive: true })
  fs.writeFileSync(absolute, textOf(4096))
  const directories = yield* Directory.Directories
  const directory = yield* directories.open(at)
  const operations = 200
  const measured = yield* interleaved({
    ours: repeated(operations, directory.read(asked, { offset: 0, length: 65_536 })),
    bare: Effect.sync(() => {
      for (let i = 0; i < operations; i++) fs.readFileSync(absolute)
    }),
    operations,
    rounds: 151,
    warmUp: 50
  })
  return [{ name: "Directory.read, 4 KiB, depth 3", measured, aim: { of: "ratio", atMost: 3.5 } as const }]
}).pipe(Effect.scoped, Effect.provide(NodeDirectory.layer()), Effect.orDie)

const sessionIn = (workspace: string) =>
  Layer.mergeAll(
    ToolRegistry.layer([read]).pipe(
      Layer.provideMerge(Workspace.layer(workspace)),
      Layer.provideMerge(Limits.layer()),
      Layer.provideMerge(NodeDigest.layer),
      Layer.provideMerge(NodeHome.layer(path.join(workspace, ".scv"))),
      Layer.provide(NodeDirectory.layer())
    ),
    auditLogIn(workspace),
    Approval.unattended
  )

/** A call of `read` through a session, against open, fstat, read into a buffer that is there, close, and decoding. */
export const readCall: Benchmark = Effect.gen(function* () {
  const at = yield* scratch
  const asked = "file.ts"
  const absolute = path.join(at, asked)
  const content = textOf(60 * 1024)
  fs.writeFileSync(absolute, content)
  const buffer = Buffer.alloc(65_536)
  const readBare = (): string => {
    const fd = fs.openSync(absolute, "r")
    const count = fs.readSync(fd, buffer, 0, fs.fstatSync(fd).size, 0)
    fs.closeSync(fd)
    return buffer.toString("utf8", 0, count)
  }

  return yield* Effect.gen(function* () {
    const session = yield* Session.make({ surface: "bench", policy: "on-risk" })
    const call = Effect.flatMap(session.call({ tool: "read", input: { path: asked } }), (answer) => {
      const { result } = answer
      const isRight =
        answer.status === "completed" &&
        typeof result === "object" &&
        result !== null &&
        "content" in result &&
        result.content === content
      return isRight ? Effect.void : Effect.dieMessage(`read answered ${JSON.stringify(answer).slice(0, 200)}`)
    })
    const operations = 40
    const measured = yield* interleaved({
      ours: repeated(operations, call),
      bare: Effect.sync(() => {
        for (let i = 0; i < operations; i++) {
          if (readBare() !== content) throw new Error("read something else")
        }
      }),
      operations,
      rounds: 151,
      warmUp: 50
    })
    return [{ name: "call of read, 60 KiB", measured, aim: { of: "ours", atMost: 200 } as const }]
  }).pipe(Effect.provide(sessionIn(at)))
}).pipe(Effect.scoped, Effect.orDie)
