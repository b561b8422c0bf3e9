/** The record of calls, kept as `scv` keeps it. */
import * as path from "node:path"
import { AuditLog } from "@scv/core"
import { NodeAuditLog } from "@scv/node"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** A log below a directory. */
export const auditLogIn = (directory: string): Layer.Layer<AuditLog.AuditLog> =>
  Layer.effect(
    AuditLog.AuditLog,
    Effect.map(NodeAuditLog.AuditFiles, ({ log }) => log({ maxBytes: 128 * 1024 * 1024, keepDays: 90 }))
  ).pipe(Layer.provide(NodeAuditLog.layer(path.join(directory, "audit"))))
