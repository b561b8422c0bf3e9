// The record of all calls, with a search.
import { ask } from "./api.js"
import { badge, box, disclosure, element, inline, json } from "./text.js"

const form = document.getElementById("search")
const said = document.getElementById("history-said")
const list = document.getElementById("record-list")

const durationOf = (milliseconds) => {
  if (milliseconds === undefined) return ""
  return milliseconds < 10_000 ? `${milliseconds} ms` : `${Math.round(milliseconds / 1000)} s`
}

const decisionOf = ({ decision }) =>
  decision === undefined ? "" : `${decision.decision === "approve" ? "approved" : "denied"} by ${decision.by}`

const rowOf = (record) => {
  const details = disclosure("", () => box("the record, as JSON", json(record)))
  details.className = "record"
  details
    .querySelector("summary")
    .append(
      element(
        "span",
        { className: "row" },
        element("span", {}, record.time === undefined ? "" : new Date(record.time).toLocaleString()),
        badge(record.status),
        element("span", {}, record.tool ?? ""),
        element("span", { className: "id" }, `${record.session}/${record.serial}`),
        element("span", { className: "quiet" }, durationOf(record.duration_ms)),
        element("span", { className: "quiet" }, decisionOf(record))
      )
    )
  return details
}

/** Searches for what the form says, and shows it. */
export const search = async () => {
  const wanted = [...new FormData(form)]
    .map(([name, value]) => [name, value.trim()])
    .filter(([, value]) => value !== "")
  said.textContent = "searching"
  try {
    const { records } = await ask(`/v1/audit?${new URLSearchParams([...wanted, ["limit", "100"]])}`)
    list.replaceChildren(...records.map(rowOf))
    said.textContent =
      records.length === 0 ? "Nothing is recorded that fits." : `The last ${records.length} that fit, newest first.`
  } catch ({ message }) {
    said.textContent = inline(message)
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault()
  void search()
})
