import { defineWorkspace } from "vitest/config"

const source = { conditions: ["@scv/source", "node", "import", "default"] }

const project = (name: string, root: string, setupFiles: ReadonlyArray<string> = []) => ({
  resolve: source,
  ssr: { resolve: source },
  test: { name, root, include: ["test/**/*.test.ts"], setupFiles: [...setupFiles], testTimeout: 20_000 }
})

export default defineWorkspace([
  project("core", "packages/core"),
  project("builtins", "packages/builtins"),
  project("config", "packages/config"),
  project("node", "packages/node"),
  project("cli", "apps/cli", ["test/support/setup.ts"])
])
