/** How long one call takes from a shell, against Node that does nothing. */
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import * as Effect from "effect/Effect"
import { type Benchmark, interleaved, summed, time } from "./measure.ts"
import { scratch } from "./scratch.ts"

const command = fileURLToPath(new URL("../apps/cli/dist/scv.js", import.meta.url))

const node = (...args: ReadonlyArray<string>): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { error, status } = spawnSync(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] })
    if (error !== undefined) return Effect.die(error)
    return status === 0 ? Effect.void : Effect.dieMessage(`node ${args.join(" ")} ended with ${status}`)
  })

export const startup: Benchmark = Effect.gen(function* () {
  const workspace = yield* scratch
  fs.writeFileSync(path.join(workspace, "file"), "content\n")
  const ours = node(command, "call", "read", JSON.stringify({ path: "file" }), "--workspace", workspace)
  const bare = node("-e", "0")
  // Before anything else ran: what the first call of a day is like, as far as one run can tell.
  const first = summed([{ ours: yield* time(ours), bare: yield* time(bare) }])
  const measured = yield* interleaved({ ours, bare, operations: 1, rounds: 21, warmUp: 1 })
  return [
    { name: "scv call read, first run", measured: first, aim: { of: "nothing", show: "difference" } as const },
    { name: "scv call read", measured, aim: { of: "difference", atMost: 60_000 } as const }
  ]
}).pipe(Effect.scoped)
