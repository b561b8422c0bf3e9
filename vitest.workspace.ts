import { defineWorkspace } from "vitest/config"

const source = { conditions: ["@scv/source", "node", "import", "default"] }

const project = (name: string, root: string, testTimeout = 20_000) => ({
  resolve: source,
  ssr: { resolve: source },
  test: { name, root, include: ["test/**/*.test.ts"], testTimeout }
})

export default defineWorkspace([
  project("core", "packages/core"),
  project("builtins", "packages/builtins"),
  project("config", "packages/config"),
  project("node", "packages/node"),
  // Most of its tests start some processes one after another.
  project("daemon", "apps/daemon", 60_000),
  project("cli", "apps/cli")
])
