import { ProcessGroup } from "@scv/core"
import { NodeProcessSpawner } from "@scv/node"
import * as Effect from "effect/Effect"
import { spawn } from "node:child_process"
const ctx = { partial: () => Effect.void, progress: () => Effect.void, hurry: Effect.never, isHurried: Effect.succeed(false) }
const env = { PATH: process.env.PATH!, HOME: "/nonexistent" }
const bash = (c: string) => ProcessGroup.run({ request: { program: "/bin/bash", args: ["-c", c], cwd: "/tmp", environment: env, tag: "SCV_CALL_"+Math.random().toString(16).slice(2) }, outputLimitBytes: 65536, strays: "report" }, ctx)
const bare = Effect.async<void>((r) => { const c = spawn("/bin/bash", ["-c", ":"], { env, cwd: "/tmp", detached: true, stdio: ["ignore","pipe","pipe"] }); c.stdout.resume(); c.stderr.resume(); c.on("close", () => r(Effect.void)) })
const main = (name: string) => Effect.gen(function*() {
  const a: number[] = [], b: number[] = []
  for (let i=0;i<60;i++) { let t = performance.now(); yield* bash(":"); a.push(performance.now()-t); t = performance.now(); yield* bare; b.push(performance.now()-t) }
  const med = (x: number[]) => x.slice(20).sort((p,q)=>p-q)[20]!.toFixed(2)
  console.log(name, "ours", med(a), "bare", med(b))
})
await Effect.runPromise(main("fifo").pipe(Effect.provide(NodeProcessSpawner.layer())))
await Effect.runPromise(main("records").pipe(Effect.provide(NodeProcessSpawner.layer({records: "/tmp/recs"}))))
