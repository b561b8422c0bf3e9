/** The entries of the audit log, joined into one record a call. */
import type { Decision } from "./Approval.ts"
import type { AuditEntry, ProcessIdentity } from "./AuditEntry.ts"
import type { ToolStatus } from "./ToolError.ts"

type Of<Name extends AuditEntry["entry"]> = Extract<AuditEntry, { readonly entry: Name }>

/** How a call ended; `unfinished` where no end is recorded: it still runs, or its process was killed. */
export type AuditStatus = ToolStatus | "unfinished"

/** What is known of a call. What its first entry tells is missing where that is not kept any more. */
export interface AuditRecord
  extends Partial<Pick<Of<"start">, "call_id" | "tool" | "surface" | "workspace" | "policy" | "assume_yes">>,
    Partial<ProcessIdentity>,
    Partial<Pick<Of<"plan">, "risk" | "plan" | "digest">>,
    Partial<Pick<Of<"end">, "error" | "result" | "duration_ms">> {
  /** When it came in: ISO 8601, UTC. */
  readonly time?: string
  readonly session: string
  readonly serial: number
  readonly decision?: Decision
  readonly status: AuditStatus
}

interface Open {
  record: AuditRecord
  bytes: number
}

const withEntry = (record: AuditRecord, entry: AuditEntry): AuditRecord => {
  if (entry.entry === "start") {
    const { entry: _, v: __, ...start } = entry
    return { ...start, ...record }
  }
  if (entry.entry === "plan") {
    // Another plan takes the place of the first, and what was decided about that one is void.
    const { decision: _, ...rest } = record
    const { decision, digest, plan, risk } = entry
    return { ...rest, risk, plan, digest, ...(decision === undefined ? {} : { decision }) }
  }
  if (entry.entry === "decision") return { ...record, decision: entry.decision }
  const { duration_ms, error, result, status } = entry
  return {
    ...record,
    ...(error === undefined ? {} : { error }),
    ...(result === undefined ? {} : { result }),
    duration_ms,
    status
  }
}

/**
 * Joins entries, given in the order of the log. Calls that have not ended are kept until they do; where they come to more
 * than `maxBytes` of entries, the oldest of them are given up as unfinished.
 */
export const joiner = (maxBytes: number) => {
  const open = new Map<string, Open>()
  let held = 0

  const take = (key: string, call: Open): AuditRecord => {
    open.delete(key)
    held -= call.bytes
    return call.record
  }

  return {
    /** Takes an entry of so many bytes; gives the records that are complete with it, or given up. */
    push: (entry: AuditEntry, bytes: number): ReadonlyArray<AuditRecord> => {
      const { serial, session } = entry
      const key = `${serial} ${session}`
      const call = open.get(key) ?? { record: { session, serial, status: "unfinished" }, bytes: 0 }
      call.record = withEntry(call.record, entry)
      call.bytes += bytes
      held += bytes
      open.set(key, call)
      if (entry.entry === "end") return [take(key, call)]
      const givenUp: Array<AuditRecord> = []
      for (const [oldest, older] of open) {
        if (held <= maxBytes) break
        givenUp.push(take(oldest, older))
      }
      return givenUp
    },
    /** The calls without an end, oldest first. */
    end: (): ReadonlyArray<AuditRecord> => {
      const left = [...open.values()].map(({ record }) => record)
      open.clear()
      held = 0
      return left
    }
  }
}
