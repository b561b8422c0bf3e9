/** Moves the version of all packages together, and what they ask of each other. Run: npm run set-version 0.2.0 */
import { spawnSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { workspaces } from "./workspaces.ts"

/** Sets the version in every manifest below a root. Gives what is wrong with the version, having done nothing. */
export const setVersion = (root: string, version: string | undefined): string | undefined => {
  if (version === undefined || !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version)) {
    return `expected a version such as 0.2.0, got ${version ?? "nothing"}`
  }
  if (!readFileSync(join(root, "CHANGELOG.md"), "utf8").includes(`\n## ${version}\n`)) {
    return `CHANGELOG.md has no section "## ${version}": say there what changed`
  }
  const all = workspaces(root)
  for (const folder of [".", ...all.map(({ folder }) => folder)]) {
    const file = join(root, folder, "package.json")
    // Textually, so that the format stays.
    let text = readFileSync(file, "utf8").replace(/^( {2}"version": )".*"/m, `$1"${version}"`)
    for (const { manifest } of all) {
      text = text.replaceAll(new RegExp(`^( {4}"${manifest.name}": )".*"`, "gm"), `$1"${version}"`)
    }
    writeFileSync(file, text)
  }
  return undefined
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const fault = setVersion(process.cwd(), process.argv[2])
  if (fault !== undefined) console.error(fault)
  else spawnSync("npm", ["install", "--package-lock-only", "--ignore-scripts"], { stdio: "inherit" })
  process.exitCode = fault === undefined ? 0 : 2
}
