/** What a call does, in one line. */
import type { AuditTrail } from "@scv/core"
import { parse } from "./summary.ts"

/** As many lines as there are, in one. */
const flat = (text: string): string => text.split("\n").join(" ⏎ ").slice(0, 400)

/** Of a question: its command, or else the title of its summary. */
export const ofSummary = (text: string): string => {
  const { rows, title } = parse(text)
  return flat(rows.find(({ label }) => label === "command")?.value ?? title)
}

/** What went wrong with a recorded call. */
export const errorOf = ({ error }: AuditTrail.AuditRecord): string | undefined =>
  typeof error === "object" && error !== null && "message" in error ? String(error.message) : undefined

/** Of a recorded call: the file that it is about, or the last of its arguments. */
export const ofRecord = (record: AuditTrail.AuditRecord): string => {
  const { plan } = record
  const fields: Readonly<Record<string, unknown>> = typeof plan === "object" && plan !== null ? { ...plan } : {}
  const args = Array.isArray(fields.args) ? fields.args : []
  const told = [fields.location, fields.path, args.at(-1), fields.name].find((value) => typeof value === "string")
  return flat(typeof told === "string" ? told : (errorOf(record) ?? ""))
}
