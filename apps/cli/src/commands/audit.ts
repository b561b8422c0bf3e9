import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { AuditTrail, Display, ToolStatus } from "@scv/core"
import { NodeAuditLog } from "@scv/node"
import { Machine, Unusable } from "@scv/runtime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { Stdio } from "../Stdio.ts"
import * as options from "./options.ts"

const text = (name: string, pseudoName: string, description: string) =>
  Options.text(name).pipe(Options.withPseudoName(pseudoName), Options.withDescription(description))

const session = text("session", "ID", "only calls of this session").pipe(Options.optional)

const tool = text("tool", "NAME", "only calls of this tool").pipe(Options.optional)

const isDay = (given: string): boolean => {
  const time = Date.parse(`${given}T00:00:00Z`)
  return /^\d{4}-\d{2}-\d{2}$/.test(given) && !Number.isNaN(time) && new Date(time).toISOString().startsWith(given)
}

const day = text("day", "YYYY-MM-DD", "only calls that came in on this day, by local time").pipe(
  Options.mapEffect((given) =>
    isDay(given)
      ? Effect.succeed(given)
      : Effect.fail(options.invalid("day", "a day of the calendar, YYYY-MM-DD", given))
  ),
  Options.optional
)

const statuses: ReadonlyArray<AuditTrail.AuditStatus> = [...ToolStatus.literals, "unfinished"]

const isStatus = (given: string): given is AuditTrail.AuditStatus => statuses.some((status) => status === given)

const status = text("status", "STATUS", statuses.join(", ")).pipe(
  Options.mapEffect((given) =>
    isStatus(given)
      ? Effect.succeed(given)
      : Effect.fail(options.invalid("status", `one of ${statuses.join(", ")}`, given))
  ),
  Options.optional
)

const twoDigits = (value: number): string => String(value).padStart(2, "0")

const dayOf = (date: Date): string =>
  `${date.getFullYear()}-${twoDigits(date.getMonth() + 1)}-${twoDigits(date.getDate())}`

const timeOf = (date: Date): string => [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(":")

interface Filter {
  readonly session: Option.Option<string>
  readonly tool: Option.Option<string>
  readonly day: Option.Option<string>
  readonly status: Option.Option<AuditTrail.AuditStatus>
}

const admits =
  (filter: Filter) =>
  (record: AuditTrail.AuditRecord): boolean => {
    const day = record.time === undefined ? undefined : dayOf(new Date(record.time))
    const is = <A>(wanted: Option.Option<A>, found: A | undefined) => Option.isNone(wanted) || wanted.value === found
    return (
      is(filter.session, record.session) &&
      is(filter.tool, record.tool) &&
      is(filter.status, record.status) &&
      is(filter.day, day)
    )
  }

const durationOf = (milliseconds: number | undefined): string => {
  if (milliseconds === undefined) return "-"
  return milliseconds < 10_000 ? `${milliseconds} ms` : `${Math.round(milliseconds / 1000)} s`
}

const decisionOf = ({ decision }: AuditTrail.AuditRecord): string => {
  if (decision === undefined) return "-"
  return `${decision.decision === "approve" ? "approved" : "denied"} by ${decision.by}`
}

/** What a line shows last: why a call has no result, or else its plan and what is known of a bad end. */
const detailOf = ({ error, plan, result, status }: AuditTrail.AuditRecord): string => {
  const shown = plan === undefined ? "" : Display.bounded(JSON.stringify(plan), 120)
  if (error !== undefined) return `${error.kind}: ${Display.bounded(error.message, 160)}  ${shown}`
  if (status === "completed" || result === undefined) return shown
  return `${Display.bounded(JSON.stringify(result), 80)}  ${shown}`
}

const rowOf = (record: AuditTrail.AuditRecord): string => {
  const date = record.time === undefined ? undefined : new Date(record.time)
  const columns = [
    date === undefined ? "-".padEnd(19) : `${dayOf(date)} ${timeOf(date)}`,
    record.status.padEnd(10),
    Display.inline(record.tool ?? "-").padEnd(10),
    `${Display.inline(record.session)}/${record.serial}`,
    durationOf(record.duration_ms).padStart(7),
    Display.inline(decisionOf(record)),
    detailOf(record)
  ]
  return `${columns.join("  ").trimEnd()}\n`
}

/** The day before or after one: files go by UTC, which is another day somewhere. */
const dayBefore = (day: string): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) - 86_400_000).toISOString().slice(0, 10)

/** The most bytes of entries that calls without an end take up. */
const maxOpen = 64 * 1024 * 1024

/** `scv audit`: the record of all calls. */
export const audit = Command.make("audit", { json: options.json, session, tool, day, status }, ({ json, ...filter }) =>
  Effect.gen(function* () {
    const stdio = yield* Stdio
    const directory = Machine.auditDirectory()
    const { end, push } = AuditTrail.joiner(maxOpen)
    let lines = 0
    let torn = 0
    const show = json ? (record: AuditTrail.AuditRecord) => `${Display.json(JSON.stringify(record))}\n` : rowOf
    const records = Stream.concat(
      Stream.mapConcat(
        NodeAuditLog.read(directory, Option.getOrUndefined(Option.map(filter.day, dayBefore))),
        (line) => {
          lines++
          if (line.isTorn) torn++
          return line.entry === undefined ? [] : push(line.entry, line.bytes)
        }
      ),
      Stream.suspend(() => Stream.fromIterable(end()))
    )
    const printed = Stream.runForEachChunk(Stream.filter(records, admits(filter)), (chunk) =>
      stdio.out(Array.from(chunk, show).join(""))
    )
    yield* Effect.raceFirst(printed, stdio.readerGone).pipe(
      Effect.mapError(({ detail, path }) => new Unusable({ kind: "config", message: `${path}: ${detail}` }))
    )
    if (torn > 0)
      yield* stdio.err(`scv: ${torn} lines of the audit log are broken or of another version, and left out\n`)
    if (lines === 0) yield* stdio.err(`scv: nothing is recorded in ${Display.inline(directory)}\n`)
  })
).pipe(Command.withDescription("Shows the record of all calls: who asked, what was decided, and what became of it."))
