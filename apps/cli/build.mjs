// Bundles `scv` into one file and, beside it, keeps V8's code cache of what one call executes, which halves the start.
import { spawnSync } from "node:child_process"
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"

const here = dirname(fileURLToPath(import.meta.url))
const dist = join(here, "dist")
const command = join(dist, "scv.js")
mkdirSync(dist, { recursive: true })

await build({
  entryPoints: [join(here, "src/main.ts")],
  outfile: join(dist, "scv.bundle.cjs"),
  bundle: true,
  platform: "node",
  target: "node20",
  format: "cjs",
  conditions: ["@scv/source"],
  minify: true,
  legalComments: "linked",
  logLevel: "warning"
})
copyFileSync(join(here, "launcher.cjs"), command)
chmodSync(command, 0o755)
writeFileSync(join(dist, "package.json"), '{ "type": "commonjs" }\n')

// A cache made after a run holds the functions that the run compiled. It fits this version of Node alone.
const cache = join(dist, `scv.cache.${process.version}-${process.arch}`)
rmSync(cache, { force: true })
const workspace = mkdtempSync(join(tmpdir(), "scv-build-"))
try {
  writeFileSync(join(workspace, "a"), "a")
  const warmUp = `
    process.argv.splice(1, 0, ${JSON.stringify(command)})
    const { script } = require(${JSON.stringify(command)})
    process.on("exit", () => require("node:fs").writeFileSync(${JSON.stringify(cache)}, script.createCachedData()))`
  const args = ["-e", warmUp, "--", "call", "read", '{"path":"a"}', "--workspace", workspace]
  const run = spawnSync(process.execPath, args, { stdio: ["ignore", "ignore", "inherit"] })
  if (run.status !== 0) throw new Error(`the bundled command does not run: exit code ${run.status}`)
} finally {
  rmSync(workspace, { recursive: true, force: true })
}
