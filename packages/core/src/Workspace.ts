import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Directories, type Directory, type DirectoryError } from "./Directory.ts"

/** The directory that a session works in. */
export class Workspace extends Context.Tag("@scv/core/Workspace")<Workspace, Directory>() {}

/** The workspace at an absolute path, open as long as the layer is. */
export const layer = (path: string): Layer.Layer<Workspace, DirectoryError, Directories> =>
  Layer.scoped(
    Workspace,
    Effect.flatMap(Directories, (directories) => directories.open(path))
  )
