import * as fs from "node:fs"
import * as path from "node:path"
import { Home } from "@scv/core"
import * as Layer from "effect/Layer"

/** A path with the links of the part that exists followed. */
const resolved = (absolute: string): string => {
  try {
    return fs.realpathSync.native(absolute)
  } catch {
    const parent = path.dirname(absolute)
    return parent === absolute ? absolute : path.join(resolved(parent), path.basename(absolute))
  }
}

/** SCV's own directory at an absolute path; it need not exist. */
export const layer = (absolute: string): Layer.Layer<Home.Home> =>
  Layer.sync(Home.Home, () => ({ path: resolved(absolute) }))
