// Runs every command of the README's `sh` blocks, but the tests themselves, in this folder and in their order.
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"

const readme = readFileSync("README.md", "utf8")
const commands = [...readme.matchAll(/^```sh\n(.*?)^```$/gms)]
  .flatMap(([, block]) => block.split("\n"))
  .map((line) => line.trim())
  .filter((line) => line !== "" && !line.startsWith("#"))

let bad = 0
for (const command of commands) {
  // `npm ci` and `npm test` are steps of the run itself.
  const rest = command.replace(/^npm ci && /, "")
  if (rest === "npm test" || rest === "npm ci") continue
  const { status, stderr } = spawnSync("bash", ["-c", rest], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] })
  console.log(`${status === 0 ? "ok  " : "FAIL"} ${rest}`)
  if (status !== 0) {
    bad++
    console.log(stderr)
  }
}
if (commands.length === 0) console.log("the README has no commands")
process.exitCode = bad > 0 || commands.length === 0 ? 1 : 0
