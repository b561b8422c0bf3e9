import { type AuditEntry, AuditLog } from "@scv/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** An audit log that is an array. */
export const makeAuditLog = () => {
  const entries: Array<AuditEntry.AuditEntry> = []
  const layer = Layer.succeed(AuditLog.AuditLog, {
    process: { pid: 7, uid: 1000, user: "somebody" },
    record: (entry) =>
      Effect.sync(() => {
        entries.push(entry)
      })
  })
  return { entries, layer }
}
