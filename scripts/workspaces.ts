/** The packages of this repository, wherever its manifest says that they are. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"

// biome-ignore lint/suspicious/noExplicitAny: a manifest is any JSON
export type Manifest = any

export interface Workspace {
  /** Relative to the root. */
  readonly folder: string
  readonly manifest: Manifest
  readonly isPublished: boolean
}

const readManifest = (file: string): Manifest => JSON.parse(readFileSync(file, "utf8"))

/** Every workspace below a root. */
export const workspaces = (root: string): ReadonlyArray<Workspace> =>
  (readManifest(join(root, "package.json")).workspaces as ReadonlyArray<string>)
    .flatMap((pattern) =>
      pattern.endsWith("/*")
        ? readdirSync(join(root, dirname(pattern))).map((name) => join(dirname(pattern), name))
        : [pattern]
    )
    .filter((folder) => existsSync(join(root, folder, "package.json")))
    .sort()
    .map((folder) => {
      const manifest = readManifest(join(root, folder, "package.json"))
      return { folder, manifest, isPublished: manifest.private !== true }
    })
