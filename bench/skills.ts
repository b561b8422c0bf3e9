/** Finding skills: all of them read, and most of them over the maximum, against reading the same files by Node alone. */
import * as fs from "node:fs"
import * as path from "node:path"
import { SkillCatalogue } from "@scv/builtins"
import { Workspace } from "@scv/core"
import { NodeDirectory } from "@scv/node"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type Benchmark, interleaved } from "./measure.ts"
import { scratch } from "./scratch.ts"

const count = 5000

const description =
  "Use when a release is due: checks the version, the changelog and the tag, and says what is missing."

const body = "Do one thing after the other, and say what you did.\n".repeat(40)

const bare = (root: string): number => {
  const buffer = Buffer.alloc(8192)
  let bytes = 0
  for (const entry of fs.readdirSync(root).sort()) {
    const fd = fs.openSync(path.join(root, entry, "SKILL.md"), "r")
    bytes += fs.readSync(fd, buffer, 0, buffer.length, 0)
    fs.closeSync(fd)
  }
  return bytes
}

/** Discovery of 5,000 skill folders. */
export const skillDiscovery: Benchmark = Effect.gen(function* () {
  const at = yield* scratch
  const root = path.join(at, "skills")
  for (let i = 0; i < count; i++) {
    const name = `skill-${i}`
    fs.mkdirSync(path.join(root, name), { recursive: true })
    fs.writeFileSync(path.join(root, name, "SKILL.md"), `---\nname: ${name}\ndescription: ${description}\n---\n${body}`)
  }
  const find = (maxSkills: number, offered: number) =>
    Effect.gen(function* () {
      const { get } = yield* SkillCatalogue.SkillCatalogue
      const { byName, folders } = yield* get
      if (folders.length !== count || byName.size !== offered) yield* Effect.dieMessage(`offers ${byName.size} skills`)
    }).pipe(
      Effect.provide(
        SkillCatalogue.layer({
          maxSkills,
          maxSkillBytes: 262_144,
          scanProjects: true,
          userDir: root,
          projectDir: ".scv/skills",
          hasAgents: Effect.succeed(true)
        }).pipe(Layer.provide(Workspace.layer(at)), Layer.provide(NodeDirectory.layer()))
      )
    )
  const rounds = { bare: Effect.sync(() => bare(root)), operations: 1, rounds: 11, warmUp: 0 }
  const byDefault = yield* interleaved({ ours: find(128, 128), ...rounds })
  const all = yield* interleaved({ ours: find(10_000, count), ...rounds })
  return [
    { name: "5,000 skill folders, 128 offered", measured: byDefault, aim: { of: "ours", atMost: 300_000 } as const },
    { name: "5,000 skill folders, all offered", measured: all, aim: { of: "nothing", show: "difference" } as const }
  ]
}).pipe(Effect.scoped, Effect.orDie)
