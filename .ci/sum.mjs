// Prints how many tests a log says have passed and failed: vitest's `Tests` line, and lines `N passed, N failed`.
import { readFileSync } from "node:fs"

const escape = String.fromCharCode(27)
const log = readFileSync(process.argv[2], "utf8").replaceAll(new RegExp(`${escape}\\[[0-9;]*m`, "g"), "")
let passed = 0
let failed = 0
for (const line of log.split("\n")) {
  if (!/^ *Tests +\d|^\d+ passed, \d+ failed/.test(line)) continue
  passed += Number(/(\d+) passed/.exec(line)?.[1] ?? 0)
  failed += Number(/(\d+) failed/.exec(line)?.[1] ?? 0)
}
console.log(passed, failed)
