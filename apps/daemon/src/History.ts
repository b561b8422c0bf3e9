/** The record of all calls, searched. */
import { AuditTrail } from "@scv/core"
import { NodeAuditLog } from "@scv/node"
import { Failure } from "@scv/protocol"
import { Machine } from "@scv/runtime"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Bounds from "./Bounds.ts"
import { Ring } from "./Ring.ts"

export interface Query {
  readonly session?: string
  readonly tool?: string
  /** Looked for anywhere in the record, whatever its case. */
  readonly text?: string
  readonly limit?: number
}

const admits = ({ session, text, tool }: Query) => {
  const wanted = text?.toLowerCase() ?? ""
  return (record: AuditTrail.AuditRecord): boolean =>
    (session === undefined || record.session === session) &&
    (tool === undefined || record.tool === tool) &&
    (wanted === "" || JSON.stringify(record).toLowerCase().includes(wanted))
}

// Each reads the whole log.
const oneAtATime = Effect.unsafeMakeSemaphore(1).withPermits(1)

/** The last records that a query admits, newest first, in bounded memory. Fails with `internal` where a file cannot be read. */
export const search = (query: Query): Effect.Effect<ReadonlyArray<AuditTrail.AuditRecord>, Failure> =>
  Effect.gen(function* () {
    const { end, push } = AuditTrail.joiner(Bounds.openRecordBytes)
    const isWanted = admits(query)
    const found = new Ring<AuditTrail.AuditRecord>({ ...Bounds.history, events: query.limit ?? 100 })
    const take = (records: ReadonlyArray<AuditTrail.AuditRecord>): void => {
      for (const record of records) if (isWanted(record)) found.push(record, JSON.stringify(record).length)
    }
    yield* Stream.runForEach(NodeAuditLog.read(Machine.auditDirectory()), ({ bytes, entry }) =>
      Effect.sync(() => take(entry === undefined ? [] : push(entry, bytes)))
    ).pipe(
      Effect.mapError(
        ({ detail, path }) =>
          new Failure({ kind: "internal", message: `the record cannot be read: ${path}: ${detail}` })
      )
    )
    take(end())
    return [...found].reverse()
  }).pipe(oneAtATime)
