// Bundles `scv` into two files, one of them with no more than a call needs, and keeps V8's code cache of what a run of each
// executes beside it, which halves the start.
import { spawnSync } from "node:child_process"
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { licencesOf } from "./licences.mjs"

const here = dirname(fileURLToPath(import.meta.url))
const dist = join(here, "dist")
const command = join(dist, "scv.js")
mkdirSync(dist, { recursive: true })
for (const name of readdirSync(dist)) if (/\.(?:bundle|cache)\./.test(name)) rmSync(join(dist, name))

const { metafile } = await build({
  entryPoints: { "scv.bundle": join(here, "src/main.ts"), "call.bundle": join(here, "src/main.call.ts") },
  outdir: dist,
  outExtension: { ".js": ".cjs" },
  bundle: true,
  platform: "node",
  target: "node20",
  format: "cjs",
  minify: true,
  legalComments: "linked",
  metafile: true,
  logLevel: "warning"
})
writeFileSync(join(dist, "LICENSES.txt"), licencesOf(metafile, process.cwd()))
copyFileSync(join(here, "launcher.cjs"), command)
chmodSync(command, 0o755)
writeFileSync(join(dist, "package.json"), '{ "type": "commonjs" }\n')

// A cache made after a run holds the functions that the run compiled. It fits this version of Node alone.
const makeCache = (name, args, cwd) => {
  const cache = join(dist, `${name}.cache.${process.version}-${process.arch}`)
  const warmUp = `
    process.argv.splice(1, 0, ${JSON.stringify(command)})
    const scripts = require(${JSON.stringify(command)})
    process.on("exit", () => require("node:fs").writeFileSync(${JSON.stringify(cache)}, scripts.${name}.createCachedData()))`
  const run = spawnSync(process.execPath, ["-e", warmUp, "--", ...args], {
    cwd,
    stdio: ["ignore", "ignore", "inherit"]
  })
  if (run.status !== 0) throw new Error(`the bundled command does not run: exit code ${run.status}`)
}
const workspace = mkdtempSync(join(tmpdir(), "scv-build-"))
try {
  writeFileSync(join(workspace, "a"), "a")
  makeCache("call", ["call", "read", '{"path":"a"}'], workspace)
  makeCache("scv", ["tools"], workspace)
} finally {
  rmSync(workspace, { recursive: true, force: true })
}
