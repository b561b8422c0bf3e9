/** What all sessions on this machine share. */
import * as path from "node:path"
import {
  type CallTag,
  type Digest,
  Directory,
  type Executables,
  type Home,
  type PrivateDirectories,
  type ProcessSpawner,
  type ServerEnvironment
} from "@scv/core"
import {
  NodeAuditLog,
  NodeCallTag,
  NodeDigest,
  NodeDirectory,
  NodeExecutables,
  NodeHome,
  NodePrivateDirectories,
  NodeProcessSpawner,
  NodeServerEnvironment
} from "@scv/node"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Configuration from "./Configuration.ts"

export type Machine =
  | CallTag.CallTag
  | Digest
  | Directory.Directories
  | Executables.Executables
  | Home.Home
  | PrivateDirectories.PrivateDirectories
  | ProcessSpawner.ProcessSpawner
  | ServerEnvironment
  | NodeAuditLog.AuditFiles

/** This machine's directories; says so where they are not contained against a race. */
export const directories: Layer.Layer<Directory.Directories> = Layer.tap(NodeDirectory.layer(), (context) => {
  const { containment } = Context.get(context, Directory.Directories)
  return containment === "portable"
    ? Effect.logWarning("paths are contained by name only here, not against a race; scv doctor says why")
    : Effect.void
})

/** Where the audit log is. */
export const auditDirectory = (): string => path.join(Configuration.home(), "state/audit")

/** This machine, with SCV's own directory where the environment says. One of it serves any number of sessions. */
export const layer: Layer.Layer<Machine> = Layer.suspend(() =>
  Layer.mergeAll(
    directories,
    NodeAuditLog.layer(auditDirectory()),
    NodeCallTag.layer,
    NodeDigest.layer,
    NodeHome.layer(Configuration.home(), Configuration.files()),
    NodePrivateDirectories.layer,
    NodeProcessSpawner.layer({ records: path.join(Configuration.home(), "state/processes") }),
    Layer.provideMerge(NodeExecutables.layer, NodeServerEnvironment.layer)
  )
)
