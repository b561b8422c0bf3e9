/** The record of all calls, with a search. */
import type { AuditTrail } from "@scv/core"
import { ask, messageOf } from "./api.ts"
import { badge, box, byId, disclosure, element, facts } from "./dom.ts"
import { inline, json, lines, momentOf, spanOf } from "./text.ts"

/** Records that are asked for at first, and each time that more are wanted; the API gives no more than the last. */
const pages = [50, 200, 1000]

const form = byId("search", HTMLFormElement)
const said = byId("history-said", HTMLElement)
const list = byId("record-list", HTMLElement)
const more = byId("history-more", HTMLButtonElement)
const newer = byId("history-new", HTMLButtonElement)

const decisionOf = ({ decision }: AuditTrail.AuditRecord): string =>
  decision === undefined ? "" : decision.decision === "approve" ? "approved" : "denied"

/** What a call did, in a line: the file that it is about, or the last of its arguments. */
const gistOf = ({ error, plan }: AuditTrail.AuditRecord): string => {
  const fields: Readonly<Record<string, unknown>> = typeof plan === "object" && plan !== null ? { ...plan } : {}
  const args = Array.isArray(fields.args) ? fields.args : []
  const told = [fields.location, fields.path, args.at(-1), fields.name].find((value) => typeof value === "string")
  if (typeof told === "string") return told.split("\n").join(" ⏎ ")
  return typeof error === "object" && error !== null && "message" in error ? String(error.message) : ""
}

const reasonOf = ({ error }: AuditTrail.AuditRecord): string | undefined =>
  typeof error === "object" && error !== null && "message" in error ? String(error.message) : undefined

const detailsOf = (record: AuditTrail.AuditRecord): Node => {
  const { decision, risk, workspace } = record
  const rows: ReadonlyArray<readonly [string, string | undefined]> = [
    ["call", record.call_id],
    ["session", record.session],
    ["workspace", workspace],
    ["risk", risk?.replaceAll("_", " ")],
    ["decision", decision === undefined ? undefined : `${decisionOf(record)} by ${decision.by}`],
    ["reason", decision?.reason],
    ["error", reasonOf(record)],
    ["digest", record.digest]
  ]
  return element(
    "div",
    {},
    facts(rows.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))),
    box("the record, as JSON", json(record))
  )
}

const rowOf = (record: AuditTrail.AuditRecord): HTMLElement => {
  const { duration_ms, status, time, tool = "" } = record
  const decision = decisionOf(record)
  const row = element(
    "span",
    { className: "row" },
    badge(status),
    element("strong", {}, tool),
    element("span", { className: "gist", title: lines(gistOf(record)).slice(0, 400) }, gistOf(record).slice(0, 300)),
    element("span", { className: `decision ${decision}` }, decision),
    element("span", { className: "clock" }, duration_ms === undefined ? "" : spanOf(duration_ms)),
    element("time", { className: "clock", dateTime: time ?? "" }, time === undefined ? "" : momentOf(time))
  )
  const made = disclosure(row, () => detailsOf(record))
  made.className = "record"
  return made
}

let page = 0
let searched = 0

/** Searches for what the form says, and shows it. */
export const search = async (): Promise<void> => {
  const turn = ++searched
  const wanted = [...new FormData(form)].flatMap(([name, value]) =>
    typeof value === "string" && value.trim() !== "" ? [[name, value.trim()]] : []
  )
  const limit = pages[page] ?? 1000
  newer.hidden = true
  try {
    const query = new URLSearchParams([...wanted, ["limit", String(limit)]])
    const { records } = await ask<{ readonly records: ReadonlyArray<AuditTrail.AuditRecord> }>(`/v1/audit?${query}`)
    // A later search was faster.
    if (turn !== searched) return
    list.replaceChildren(...records.map(rowOf))
    more.hidden = records.length < limit || page === pages.length - 1
    const fits = wanted.length === 0 ? "" : " that match"
    said.textContent =
      records.length === 0
        ? wanted.length === 0
          ? "No call is recorded yet."
          : "No recorded call matches."
        : `The last ${records.length} calls${fits}, newest first.`
  } catch (error) {
    if (turn === searched) said.textContent = inline(messageOf(error))
  }
}

/** Tells that a call has ended, which the list does not show yet. */
export const hasNewer = (): void => {
  newer.hidden = false
}

form.addEventListener("submit", (event) => {
  event.preventDefault()
  page = 0
  void search()
})

newer.addEventListener("click", () => void search())

more.addEventListener("click", () => {
  page = Math.min(page + 1, pages.length - 1)
  void search()
})
