import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { CallTag, ProcessSpawner } from "@scv/core"
import { NodeCallTag, NodeProcessSpawner } from "@scv/node"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { temporary } from "./support/attacker.ts"

const looks = 200

/**
 * Starts a script that leaves the group and loses its parent, waits for the end of the leader, and looks again and again
 * while the script goes on. Answers with how often nobody was seen.
 */
const unseen = (script: string) =>
  Effect.gen(function* () {
    const base = yield* temporary
    const at = (name: string) => path.join(base, name)
    fs.writeFileSync(at("script"), `[ -e stop ] && exit; : > started; ${script}`)
    const { spawn } = yield* ProcessSpawner.ProcessSpawner
    const { fresh } = yield* CallTag.CallTag
    const leader = yield* spawn({
      program: "/bin/sh",
      args: ["-c", "setsid /bin/sh ./script & while [ ! -e started ]; do sleep 0.01; done"],
      cwd: base,
      environment: { PATH: "/usr/bin:/bin" },
      tag: yield* fresh,
      onOutput: () => {}
    })
    yield* leader.exit
    let missed = 0
    for (let look = 0; look < looks; look++) if ((yield* leader.members).length === 0) missed++
    fs.writeFileSync(at("stop"), "")
    yield* Effect.repeat(leader.members, { until: ({ length }) => length === 0 })
    return missed
  }).pipe(Effect.provide(Layer.merge(NodeProcessSpawner.layer({ table: "proc" }), NodeCallTag.layer)))

// Only /proc shows a process without a moment in between.
describe.runIf(process.platform === "linux")("a process that was left behind", () => {
  it.scopedLive(
    "is seen while it is given a program, again and again",
    () => Effect.map(unseen("exec /bin/sh ./script"), (missed) => assert.strictEqual(missed, 0)),
    120_000
  )

  it.scopedLive(
    "is seen where it has a child and ends, again and again",
    () => Effect.map(unseen("/bin/sh ./script & exit"), (missed) => assert.strictEqual(missed, 0)),
    120_000
  )
})
