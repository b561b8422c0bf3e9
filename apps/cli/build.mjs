// Bundles `scv` into three files, so that each run loads what it needs: one for a call, one with the protocol of `scv mcp`,
// one for the rest. Beside each it keeps V8's code cache of what a run of it executes, which halves the start.
import { spawnSync } from "node:child_process"
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { builtinModules } from "./builtinModules.mjs"
import { licencesOf } from "./licences.mjs"

const here = dirname(fileURLToPath(import.meta.url))
const dist = join(here, "dist")
const command = join(dist, "scv.js")
mkdirSync(dist, { recursive: true })
for (const name of readdirSync(dist)) if (/\.(?:bundle|cache)\./.test(name)) rmSync(join(dist, name))

// Effect asks for both while it loads, and Node makes them then, which takes longer than all that a call does with them.
// What needs one of them imports it: node:perf_hooks has the former.
const unasked = { performance: "undefined", "process.stdout": "undefined" }

const bundle = (entryPoints, options = {}) =>
  build({
    entryPoints,
    ...options,
    outdir: dist,
    outExtension: { ".js": ".cjs" },
    bundle: true,
    platform: "node",
    target: "node20",
    format: "cjs",
    minify: true,
    legalComments: "linked",
    metafile: true,
    write: false,
    plugins: [builtinModules],
    logLevel: "warning"
  })
const main = join(here, "src/main.ts")
const bundles = [
  await bundle({ "call.bundle": join(here, "src/main.call.ts") }, { define: unasked }),
  await bundle({ "scv.bundle": main }, { external: ["@scv/mcp"] }),
  await bundle({ "mcp.bundle": main })
]
const inputs = Object.assign({}, ...bundles.map(({ metafile }) => metafile.inputs))
writeFileSync(join(dist, "LICENSES.txt"), licencesOf({ inputs }, process.cwd()))
copyFileSync(join(here, "launcher.cjs"), command)
chmodSync(command, 0o755)
writeFileSync(join(dist, "package.json"), '{ "type": "commonjs" }\n')

// A cache made after a run holds the functions that the run compiled. It fits this version of Node alone.
const makeCache = (name, args, cwd, input = "") => {
  const cache = join(dist, `${name}.cache.${process.version}-${process.arch}`)
  const warmUp = `
    process.argv.splice(1, 0, ${JSON.stringify(command)})
    const scripts = require(${JSON.stringify(command)})
    process.on("exit", () => require("node:fs").writeFileSync(${JSON.stringify(cache)}, scripts.${name}.createCachedData()))`
  const run = spawnSync(process.execPath, ["-e", warmUp, "--", ...args], {
    cwd,
    input,
    stdio: ["pipe", "ignore", "inherit"]
  })
  if (run.status !== 0) throw new Error(`the bundled command does not run: exit code ${run.status}`)
}

const request = (id, method, params) => `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`
const conversation = [
  request(1, "initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "build", version: "1" }
  }),
  request(2, "tools/list"),
  request(3, "tools/call", { name: "read", arguments: { path: "a" } })
].join("")

const workspace = mkdtempSync(join(tmpdir(), "scv-build-"))
try {
  writeFileSync(join(workspace, "a"), "a")
  makeCache("call", ["call", "read", '{"path":"a"}'], workspace)
  makeCache("scv", ["tools"], workspace)
  makeCache("mcp", ["mcp"], workspace, conversation)
} finally {
  rmSync(workspace, { recursive: true, force: true })
}
