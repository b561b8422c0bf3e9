// Runs every command of the README's `sh` blocks, but the tests themselves, in this folder and in their order.
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"

const readme = readFileSync("README.md", "utf8")
const commands = [...readme.matchAll(/^```sh\n(.*?)^```$/gms)]
  .flatMap(([, block]) => block.split("\n"))
  .map((line) => line.trim())
  .filter((line) => line !== "" && !line.startsWith("#"))

// What the README says that the first command prints is what it prints.
const promised = /^```json\n(.*?)\n```$/ms.exec(readme)?.[1]

let bad = 0
for (const command of commands) {
  // `npm ci` and `npm test` are steps of the run itself.
  const rest = command.replace(/^npm ci && /, "")
  if (rest === "npm test" || rest === "npm ci") continue
  const run = spawnSync("bash", ["-c", rest], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] })
  const isAsPromised = !rest.startsWith("npm start") || run.stdout.trimEnd().endsWith(`\n${promised}`)
  const isGood = run.status === 0 && isAsPromised
  console.log(`${isGood ? "ok  " : "FAIL"} ${rest}`)
  if (isGood) continue
  bad++
  console.log(isAsPromised ? run.stderr : `prints something else than the README says:\n${run.stdout}`)
}
if (commands.length === 0) console.log("the README has no commands")
process.exitCode = bad > 0 || commands.length === 0 ? 1 : 0
