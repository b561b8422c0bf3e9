// Bundles `scvd`. What only some daemons need, as the protocol of `/mcp`, is in files beside it that are loaded when needed.
import { chmodSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"

const here = dirname(fileURLToPath(import.meta.url))
const dist = join(here, "dist")
mkdirSync(dist, { recursive: true })
for (const name of readdirSync(dist)) if (/^chunk\./.test(name)) rmSync(join(dist, name))

await build({
  entryPoints: { scvd: join(here, "src/main.ts") },
  outdir: dist,
  chunkNames: "chunk.[hash]",
  bundle: true,
  splitting: true,
  platform: "node",
  target: "node20",
  format: "esm",
  // Some libraries are CommonJS, and require what Node has.
  banner: {
    js: '#!/usr/bin/env node\nimport { createRequire as requireOf } from "node:module"; const require = requireOf(import.meta.url);'
  },
  minify: true,
  legalComments: "linked",
  logLevel: "warning"
})
chmodSync(join(dist, "scvd.js"), 0o755)
writeFileSync(join(dist, "package.json"), '{ "type": "module" }\n')
