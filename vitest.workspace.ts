import { fileURLToPath } from "node:url"
import { defineWorkspace } from "vitest/config"

const packages = fileURLToPath(new URL("packages", import.meta.url))

// As `paths` in tsconfig.base.json: our own packages are used from their sources.
const alias = [
  { find: /^@scv\/([a-z]+)$/, replacement: `${packages}/$1/src/index.ts` },
  { find: /^@scv\/([a-z]+)\/([a-z]+)$/, replacement: `${packages}/$1/src/$2.ts` }
]

/** For what hangs, in milliseconds. It says nothing of speed: a machine may be busy with a lot else. */
const testTimeout = 60_000

const project = (name: string, root: string, setupFiles: Array<string> = []) => ({
  resolve: { alias },
  test: { name, root, include: ["test/**/*.test.ts"], setupFiles, testTimeout }
})

export default defineWorkspace([
  project("core", "packages/core"),
  project("builtins", "packages/builtins"),
  project("agents", "packages/agents"),
  project("ai", "packages/ai"),
  project("config", "packages/config"),
  project("node", "packages/node"),
  project("protocol", "packages/protocol"),
  project("mcp", "packages/mcp"),
  project("runtime", "packages/runtime"),
  project("daemon", "apps/daemon"),
  project("cli", "apps/cli", ["test/support/setup.ts"]),
  project("examples", "examples"),
  project("scripts", "scripts")
])
