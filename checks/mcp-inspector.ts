/**
 * The command line of the protocol's inspector lists and calls every tool of `scv mcp`, here and in the daemon. The
 * agents are scripts that stand in for them. Needs npm's registry the first time, and `npm run build`.
 */
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"

// The newest that runs on Node 20.
const inspector = "@modelcontextprotocol/inspector@0.15.0"

const scv = fileURLToPath(new URL("../apps/cli/dist/scv.js", import.meta.url))
const place = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "scv-inspector-")))

const at = (...names: ReadonlyArray<string>): string => {
  const directory = path.join(place, ...names)
  fs.mkdirSync(directory, { recursive: true })
  return directory
}

const workspace = at("workspace")
fs.writeFileSync(path.join(workspace, "a"), "from the file\n")
fs.writeFileSync(
  path.join(at("workspace/.agents/skills/hello"), "SKILL.md"),
  "---\nname: hello\ndescription: Says hello.\n---\nHello.\n"
)
for (const agent of ["claude", "codex", "pi"]) {
  fs.writeFileSync(path.join(at("bin"), agent), `#!/bin/sh\necho ${agent} was asked\n`, { mode: 0o755 })
}

const env = {
  ...process.env,
  HOME: at("home"),
  SCV_HOME: path.join(place, "scv"),
  PATH: `${at("bin")}:${process.env.PATH}`,
  // Where npm keeps what it has, whatever HOME is.
  npm_config_cache: process.env.npm_config_cache ?? path.join(os.homedir(), ".npm")
}

const run = (program: string, ...args: ReadonlyArray<string>): string => {
  const { error, status, stderr, stdout } = spawnSync(program, args, {
    cwd: place,
    env,
    encoding: "utf8",
    timeout: 120_000
  })
  if (error !== undefined) throw error
  if (status !== 0) throw new Error(`exit code ${status}: ${(stdout + stderr).slice(-1000)}`)
  return stdout
}

const inspect = (server: ReadonlyArray<string>, method: string, ...args: ReadonlyArray<string>) =>
  JSON.parse(run("npx", "-y", inspector, "--cli", ...server, "--method", method, ...args))

/** What each tool is called with, and a text of its answer. */
const calls: Record<string, readonly [input: Readonly<Record<string, string>>, answer: string]> = {
  read: [{ path: "a" }, "from the file"],
  write: [{ path: "b", content: "new", mode: "create" }, '"created":true'],
  bash: [{ command: "cat a b", timeout_seconds: "60" }, "from the file\\nnew"],
  agent_claude: [{ prompt: "say" }, "claude was asked"],
  agent_codex: [{ prompt: "say" }, "codex was asked"],
  agent_pi: [{ prompt: "say" }, "pi was asked"],
  read_skill: [{ name: "hello" }, "Hello."]
}

let faults = 0
const check = (name: string, judge: () => string | undefined): void => {
  let fault: string | undefined
  try {
    fault = judge()
  } catch (error) {
    fault = String(error)
  }
  console.log(`${fault === undefined ? "ok  " : "FAIL"} ${name}${fault === undefined ? "" : `\n     ${fault}`}`)
  if (fault !== undefined) faults++
}

const namesFault = (server: ReadonlyArray<string>): string | undefined => {
  const { tools }: { readonly tools: ReadonlyArray<{ readonly name: string }> } = inspect(server, "tools/list")
  const names = tools.map(({ name }) => name)
  return names.sort().join() === Object.keys(calls).sort().join() ? undefined : `listed ${names.join(", ")}`
}

const callFault = (server: ReadonlyArray<string>, tool: string): string | undefined => {
  const [input, text] = calls[tool]!
  const given = Object.entries(input).flatMap(([name, value]) => ["--tool-arg", `${name}=${value}`])
  const { structuredContent } = inspect(server, "tools/call", "--tool-name", tool, ...given)
  const said = JSON.stringify(structuredContent)
  return structuredContent?.status === "completed" && said.includes(text) ? undefined : `answered ${said}`
}

try {
  const stdio = [process.execPath, scv, "mcp", "--yes", "--workspace", workspace]
  check("stdio: tools/list", () => namesFault(stdio))
  for (const tool of Object.keys(calls)) check(`stdio: tools/call ${tool}`, () => callFault(stdio, tool))
  run(process.execPath, scv, "daemon", "start")
  try {
    const bridge = [...stdio, "--daemon"]
    check("the bridge to the daemon: tools/list", () => namesFault(bridge))
    check("the bridge to the daemon: tools/call bash", () => callFault(bridge, "bash"))
  } finally {
    run(process.execPath, scv, "daemon", "stop")
  }
} finally {
  fs.rmSync(place, { recursive: true, force: true })
}
process.exitCode = faults === 0 ? 0 : 1
