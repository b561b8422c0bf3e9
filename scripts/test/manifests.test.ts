import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { expect, it } from "vitest"
import { setVersion } from "../set-version.ts"
import { workspaces } from "../workspaces.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
const all = workspaces(root)
const published = all.filter(({ isPublished }) => isPublished)
const names = all.map(({ manifest }) => manifest.name)
const version: string = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8")).version

/** Every text in a JSON value. */
const texts = (value: unknown): ReadonlyArray<string> =>
  typeof value === "string"
    ? [value]
    : typeof value === "object" && value !== null
      ? Object.values(value).flatMap(texts)
      : []

it("finds the packages", () => {
  expect(names).toEqual(expect.arrayContaining(["@scv/core", "@scv/ai", "scv", "@scv/examples"]))
  expect(published.map(({ manifest }) => manifest.name)).not.toContain("@scv/examples")
})

it.each(all.map(({ folder, manifest }) => [folder, manifest] as const))("%s moves with the others", (_, manifest) => {
  expect(manifest.version).toBe(version)
  for (const section of ["dependencies", "devDependencies", "peerDependencies"]) {
    for (const [name, range] of Object.entries(manifest[section] ?? {})) {
      if (names.includes(name)) expect([name, range]).toEqual([name, version])
    }
  }
})

it.each(published.map(({ folder, manifest }) => [folder, manifest] as const))(
  "%s can be published",
  (folder, manifest) => {
    expect(manifest).toMatchObject({
      description: expect.any(String),
      license: "Apache-2.0",
      type: "module",
      engines: { node: ">=20.20" },
      exports: expect.any(Object)
    })
    // What a manifest names is packed: it is built into dist, and nothing else is.
    for (const pattern of manifest.files) expect(pattern).toMatch(/^!?dist\b/)
    for (const file of texts([manifest.exports, manifest.bin ?? {}]))
      expect(file).toMatch(/^\.\/(dist\/|package\.json$)/)
    // No wildcard, so that no internal file can be reached.
    expect(JSON.stringify(manifest.exports)).not.toContain("*")
    // Effect finds services by identity of their tags and wants to be there once: whoever uses the package brings it.
    expect(manifest.dependencies ?? {}).not.toHaveProperty("effect")
    expect(Object.keys(manifest.scripts)).toEqual(["prepack"])
    expect(fs.readFileSync(path.join(root, folder, "LICENSE"), "utf8")).toBe(
      fs.readFileSync(path.join(root, "LICENSE"), "utf8")
    )
  }
)

it("has the changes of this version on top", () => {
  const [latest] = fs.readFileSync(path.join(root, "CHANGELOG.md"), "utf8").match(/(?<=^## ).*$/m) ?? []
  expect(latest).toBe(version)
})

it("sets the version of all at once, and only one that has its changes written down", () => {
  const copy = fs.mkdtempSync(path.join(os.tmpdir(), "scv-version-"))
  try {
    for (const folder of [".", ...all.map(({ folder }) => folder)]) {
      fs.mkdirSync(path.join(copy, folder), { recursive: true })
      fs.copyFileSync(path.join(root, folder, "package.json"), path.join(copy, folder, "package.json"))
    }
    fs.writeFileSync(path.join(copy, "CHANGELOG.md"), "# Changes\n\n## 9.8.7\n")
    expect(setVersion(copy, "9.8.8")).toMatch(/no section "## 9.8.8"/)
    expect(setVersion(copy, "next")).toBe("expected a version such as 0.2.0, got next")
    expect(workspaces(copy)).toEqual(all)
    expect(setVersion(copy, "9.8.7")).toBeUndefined()
    for (const { folder, manifest } of workspaces(copy)) {
      expect([folder, manifest.version]).toEqual([folder, "9.8.7"])
      for (const name of names) {
        const asked = manifest.dependencies?.[name] ?? manifest.devDependencies?.[name] ?? "9.8.7"
        expect([folder, name, asked]).toEqual([folder, name, "9.8.7"])
      }
    }
    const before = fs.readFileSync(path.join(root, "packages/core/package.json"), "utf8")
    const after = fs.readFileSync(path.join(copy, "packages/core/package.json"), "utf8")
    expect(after).toBe(before.replaceAll(`"${version}"`, '"9.8.7"'))
  } finally {
    fs.rmSync(copy, { recursive: true, force: true })
  }
})
