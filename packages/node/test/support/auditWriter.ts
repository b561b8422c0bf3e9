/** Appends entries to an audit log as fast as it can, once its stdin ends: DIRECTORY SESSION COUNT MAX_BYTES. */
import { NodeAuditLog } from "@scv/node"
import * as Effect from "effect/Effect"
import { endEntry } from "./auditEntries.ts"

const [directory = "", session = "", count = "", maxBytes = ""] = process.argv.slice(2)

const main = Effect.gen(function* () {
  const { log } = yield* NodeAuditLog.AuditFiles
  const { record } = log({ maxBytes: Number(maxBytes), keepDays: 1 })
  yield* Effect.async<void>((resume) => {
    process.stdin.once("end", () => resume(Effect.void)).resume()
    process.stdout.write("ready\n")
  })
  for (let serial = 1; serial <= Number(count); serial++) yield* record(endEntry(session, serial, serial % 700))
})

await Effect.runPromise(Effect.provide(main, NodeAuditLog.layer(directory)))
