/** Writing: a durable, contained replace against the least that a durable replace must do. */
import * as fs from "node:fs"
import * as path from "node:path"
import { Directory } from "@scv/core"
import { NodeDirectory } from "@scv/node"
import * as Effect from "effect/Effect"
import { type Benchmark, interleaved, repeated } from "./measure.ts"
import { scratch } from "./scratch.ts"

/** Temporary file, write, fsync, rename, fsync of the directory; the flushes on another thread, as a server must. */
const replaceBare = async (at: string, content: Uint8Array): Promise<void> => {
  const temporary = `${at}.new`
  const fd = fs.openSync(temporary, "w", 0o600)
  fs.writeSync(fd, content)
  await new Promise((resolve) => fs.fsync(fd, resolve))
  fs.closeSync(fd)
  fs.renameSync(temporary, at)
  const directory = fs.openSync(path.dirname(at), "r")
  await new Promise((resolve) => fs.fsync(directory, resolve))
  fs.closeSync(directory)
}

/** A durable replace of 60 KiB through `Directory`, with what prepares it. */
export const durableWrite: Benchmark = Effect.gen(function* () {
  const at = yield* scratch
  const content = Buffer.alloc(60 * 1024, "0123456789abcde\n")
  for (const name of ["ours", "bare"]) fs.writeFileSync(path.join(at, name), content)
  const directories = yield* Directory.Directories
  const directory = yield* directories.open(at)
  const write = Effect.flatMap(directory.target("ours", "replace"), ({ existing, location, parent }) =>
    directory.write("ours", {
      mode: "replace",
      content,
      expected: { location, existing, parent },
      expectedSha256: undefined,
      onInstalled: Effect.void
    })
  )
  const operations = 10
  const measured = yield* interleaved({
    ours: repeated(operations, write),
    bare: repeated(
      operations,
      Effect.promise(() => replaceBare(path.join(at, "bare"), content))
    ),
    operations,
    rounds: 61,
    warmUp: 10
  })
  return [{ name: "durable write, 60 KiB", measured, aim: { of: "ratio", atMost: 1.15 } as const }]
}).pipe(Effect.scoped, Effect.provide(NodeDirectory.layer()), Effect.orDie)
