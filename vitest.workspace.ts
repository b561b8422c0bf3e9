import { defineWorkspace } from "vitest/config"

const source = { conditions: ["@scv/source", "node", "import", "default"] }

/** For what hangs, in milliseconds. It says nothing of speed: a machine may be busy with a lot else. */
const testTimeout = 60_000

const project = (name: string, root: string) => ({
  resolve: source,
  ssr: { resolve: source },
  test: { name, root, include: ["test/**/*.test.ts"], testTimeout }
})

export default defineWorkspace([
  project("core", "packages/core"),
  project("builtins", "packages/builtins"),
  project("agents", "packages/agents"),
  project("config", "packages/config"),
  project("node", "packages/node"),
  project("daemon", "apps/daemon"),
  project("mcp", "packages/mcp"),
  project("cli", "apps/cli")
])
