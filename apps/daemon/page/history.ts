/** The record of all calls, with a search. */
import type { Approval, AuditTrail } from "@scv/core"
import { ask, messageOf } from "./api.ts"
import { badge, box, byId, disclosure, element, facts } from "./dom.ts"
import { errorOf, ofRecord } from "./gist.ts"
import { inline, json, momentOf, spanOf } from "./text.ts"

/** Records that are asked for at first, and each time that more are wanted; the API gives no more than the last. */
const pages = [50, 200, 1000]

const form = byId("search", HTMLFormElement)
const said = byId("history-said", HTMLElement)
const list = byId("record-list", HTMLElement)
const more = byId("history-more", HTMLButtonElement)
const newer = byId("history-new", HTMLButtonElement)

const decided = ({ by, decision }: Approval.Decision): string =>
  `${decision === "approve" ? "approved" : "denied"} by ${by}`

const detailsOf = (record: AuditTrail.AuditRecord): Node => {
  const { decision, digest, risk, surface, time, workspace } = record
  const rows: ReadonlyArray<readonly [string, string | undefined]> = [
    ["call", record.call_id],
    ["session", record.session],
    ["workspace", workspace],
    ["at", time === undefined ? undefined : new Date(time).toLocaleString()],
    ["by way of", surface],
    ["risk", risk?.replaceAll("_", " ")],
    ["decision", decision === undefined ? undefined : decided(decision)],
    ["reason", decision?.reason],
    ["error", errorOf(record)],
    ["digest", digest]
  ]
  return element(
    "div",
    {},
    facts(rows.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))),
    box("the record, as JSON", json(record))
  )
}

const rowOf = (record: AuditTrail.AuditRecord): HTMLElement => {
  const { decision, duration_ms, status, time, tool = "" } = record
  const gist = ofRecord(record)
  const row = element(
    "span",
    { className: "row" },
    badge(status),
    element("strong", {}, tool),
    element("span", { className: "gist", title: inline(gist) }, gist),
    element("span", { className: "decision" }, decision?.decision === "approve" ? "approved" : ""),
    element("span", { className: "span" }, duration_ms === undefined ? "" : spanOf(duration_ms)),
    element("time", { dateTime: time ?? "" }, time === undefined ? "" : momentOf(time))
  )
  const made = disclosure(row, () => detailsOf(record))
  made.className = "record"
  return made
}

/** `describe` takes what calls did, in a line. */
export const history = ({ describe }: { readonly describe: (callId: string, gist: string) => void }) => {
  let page = 0
  let searched = 0

  const search = async (): Promise<void> => {
    const turn = ++searched
    const wanted = [...new FormData(form)].flatMap(([name, value]) =>
      typeof value === "string" && value.trim() !== "" ? [[name, value.trim()]] : []
    )
    const limit = pages[page] ?? 0
    newer.hidden = true
    try {
      const query = new URLSearchParams([...wanted, ["limit", String(limit)]])
      const { records } = await ask<{ readonly records: ReadonlyArray<AuditTrail.AuditRecord> }>(`/v1/audit?${query}`)
      // A later search was faster.
      if (turn !== searched) return
      list.replaceChildren(...records.map(rowOf))
      for (const record of records) if (record.call_id !== undefined) describe(record.call_id, ofRecord(record))
      more.hidden = records.length < limit || page === pages.length - 1
      const nothing = wanted.length === 0 ? "No call is recorded yet." : "No recorded call matches."
      const calls = records.length === 1 ? "call" : `${records.length} calls`
      const some =
        wanted.length === 0 ? `The last ${calls}, newest first.` : `The last ${calls} that fit, newest first.`
      said.textContent = records.length === 0 ? nothing : some
    } catch (error) {
      if (turn === searched) said.textContent = inline(messageOf(error))
    }
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

  return {
    /** Searches for what the form says, and shows it. */
    search,
    /** Tells that a call has ended, which the list does not show yet. */
    hasNewer: (): void => {
      newer.hidden = false
    }
  }
}
