import type { AuditEntry } from "@scv/core"

/** An entry whose line is a little longer than the given padding. */
export const endEntry = (
  session: string,
  serial: number,
  padding = 0,
  time = "2025-01-31T12:00:00.000Z"
): AuditEntry.AuditEntry => ({
  v: 1,
  entry: "end",
  time,
  session,
  serial,
  status: "failed",
  error: { kind: "io", message: "x".repeat(padding) },
  duration_ms: 0
})
