// Bundles `scvd` into one file, with the page in it.
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"

const here = dirname(fileURLToPath(import.meta.url))
const dist = join(here, "dist")
mkdirSync(dist, { recursive: true })

const page = await build({
  entryPoints: [join(here, "page/page.ts")],
  bundle: true,
  write: false,
  platform: "browser",
  target: "es2022",
  format: "esm",
  minify: true,
  logLevel: "warning"
})

const read = (name) => [name, readFileSync(join(here, "page", name), "utf8")]
const files = Object.fromEntries([
  ...["index.html", "style.css", "icon.svg", "icon-waiting.svg"].map(read),
  ["page.js", page.outputFiles[0].text]
])

await build({
  entryPoints: [join(here, "src/main.ts")],
  outfile: join(dist, "scvd.js"),
  bundle: true,
  define: { PAGE_FILES: JSON.stringify(files) },
  platform: "node",
  target: "node20",
  format: "cjs",
  banner: { js: "#!/usr/bin/env node" },
  minify: true,
  legalComments: "linked",
  logLevel: "warning"
})
chmodSync(join(dist, "scvd.js"), 0o755)
writeFileSync(join(dist, "package.json"), '{ "type": "commonjs" }\n')
