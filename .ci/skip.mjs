// Names the handed cases that need a tool or a command which is not built yet, comma-separated; the reasons go to stderr.
import { spawnSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

const folder = process.argv[2]
const scv = (...args) => spawnSync(process.execPath, ["apps/cli/dist/scv.js", ...args], { encoding: "utf8" }).stdout
const tools = new Set(JSON.parse(scv("tools", "--json")).tools.map((tool) => tool.name))
const commands = new Set([...scv("--help").matchAll(/^ {2}([a-z]+)\b.* {2,}/gm)].map(([, name]) => name))

const reasons = (testCase) => {
  const text = JSON.stringify(testCase)
  const named = [...text.matchAll(/\\"tool\\": ?\\"([a-z_]+)\\"|\bscv call ([a-z_]+)/g)].map(([, a, b]) => a ?? b)
  const called = testCase.steps.flatMap((step) => (step.call === undefined ? [] : [step.call]))
  const run = testCase.steps.flatMap((step) => (step.scv === undefined ? [] : [step.scv[0]]))
  return [
    // `reed` and `nope` are names that no tool will ever have.
    ...[...called, ...named].filter((name) => !tools.has(name) && name !== "reed" && name !== "nope"),
    ...run.filter((name) => !commands.has(name)).map((name) => `scv ${name}`),
    ...(text.includes("config.toml") && !commands.has("config") ? ["configuration"] : []),
    ...(testCase.id === "tools-schemas" && tools.size < 7 ? ["all seven tools"] : [])
  ]
}

const skipped = []
for (const file of readdirSync(folder, { recursive: true })
  .filter((name) => name.endsWith(".json"))
  .sort()) {
  for (const testCase of [JSON.parse(readFileSync(join(folder, file), "utf8"))].flat()) {
    const missing = [...new Set(reasons(testCase))]
    if (missing.length === 0) continue
    skipped.push(testCase.id)
    console.error(`left out ${testCase.id}: not built yet: ${missing.join(", ")}`)
  }
}
console.log(skipped.join(","))
