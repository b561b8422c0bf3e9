// Bundles `scv` into two files, without and with the daemon's client, and beside each keeps V8's code cache of what one call executes, which halves the start.
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
  entryPoints: { "scv.bundle": join(here, "src/main.ts"), "scv.remote.bundle": join(here, "src/remoteMain.ts") },
  outdir: dist,
  outExtension: { ".js": ".cjs" },
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
const keepCache = (bundle, args, expected) => {
  const cache = join(dist, `${bundle}.cache.${process.version}-${process.arch}`)
  rmSync(cache, { force: true })
  const warmUp = `
    process.argv.splice(1, 0, ${JSON.stringify(command)})
    const { script } = require(${JSON.stringify(command)})
    process.on("exit", () => require("node:fs").writeFileSync(${JSON.stringify(cache)}, script.createCachedData()))`
  const { status } = spawnSync(process.execPath, ["-e", warmUp, "--", ...args], {
    stdio: ["ignore", "ignore", "inherit"],
    env: { ...process.env, SCV_HOME: join(workspace, "home") }
  })
  if (status !== expected) throw new Error(`the bundled command does not run: exit code ${status}`)
}

const workspace = mkdtempSync(join(tmpdir(), "scv-build-"))
try {
  writeFileSync(join(workspace, "a"), "a")
  keepCache("scv", ["call", "read", '{"path":"a"}', "--workspace", workspace], 0)
  // No daemon runs there, so it says that none does.
  keepCache("scv.remote", ["daemon", "status"], 1)
} finally {
  rmSync(workspace, { recursive: true, force: true })
}
