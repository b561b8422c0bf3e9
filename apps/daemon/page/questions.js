// The questions that wait: each with its whole plan, and the answer to it.
import { ask, path } from "./api.js"
import { badge, box, disclosure, element, inline, json, lines, timeOf } from "./text.js"

/** A key or click sooner after a question has come up, or has moved, was not meant for it. In milliseconds. */
const tooSoon = 300

const list = document.getElementById("question-list")
const title = document.getElementById("questions-title")

/** What to know of a plan at a glance, where it has that. */
const factsOf = ({ approval_id, call_id, digest, expires_at, plan, session_id, workspace }) => {
  const p = typeof plan === "object" && plan !== null ? plan : {}
  const texts = (value) => (Array.isArray(value) ? element("ol", { start: 0 }, ...value.map(argument)) : undefined)
  const argument = (value) => {
    const item = element("li")
    item.textContent = lines(value)
    return item
  }
  return [
    ["executable", p.program],
    ["arguments", texts(p.args)],
    ["file", p.location ?? p.path],
    ["directory", p.directory?.path ?? workspace],
    ["timeout", p.timeout_seconds === undefined ? undefined : `${p.timeout_seconds} s`],
    ["workspace", workspace],
    ["session, call", `${session_id}, ${call_id}`],
    ["question", approval_id],
    ["digest", digest],
    ["denied at", expires_at === undefined ? undefined : `${timeOf(expires_at)}, if nobody answers`]
  ].filter(([, value]) => value !== undefined)
}

const factList = (question) =>
  element(
    "dl",
    {},
    ...factsOf(question).flatMap(([name, value]) => [
      element("dt", {}, name),
      element("dd", {}, typeof value === "object" ? value : String(value))
    ])
  )

const summaryBox = ({ summary, tool }) => {
  if (tool !== "write") return box("what would be done", lines(summary))
  const made = box("what would be done, with the change", "")
  const colours = { "+": "added", "-": "removed" }
  for (const line of lines(summary).split("\n")) {
    const span = element("span", { className: colours[/^ {4}\| ([+-])/.exec(line)?.[1]] ?? "" })
    span.textContent = `${line}\n`
    made.append(span)
  }
  return made
}

/**
 * `say` shows a line, `announce` reads one out, `isLive` tells whether what is shown is current; `onCount` takes how many
 * wait, and `onNew` each that has come up.
 */
export const questions = ({ announce, isLive, onCount, onNew, say }) => {
  const open = new Map()
  const settled = new Set()
  let movedAt = 0

  const isMeant = (entry, event) =>
    isLive() && !entry.isSending && event.timeStamp - Math.max(entry.shownAt, movedAt) >= tooSoon

  const counted = () => {
    document.getElementById("no-questions").hidden = open.size > 0
    document.getElementById("keys").hidden = open.size === 0
    title.textContent = open.size === 0 ? "Waiting for you" : `Waiting for you: ${open.size}`
    onCount(open.size)
  }

  const remove = (id) => {
    settled.add(id)
    const entry = open.get(id)
    if (entry === undefined) return
    open.delete(id)
    const hadFocus = entry.node.contains(document.activeElement)
    const next = entry.node.nextElementSibling ?? entry.node.previousElementSibling ?? title
    entry.node.remove()
    movedAt = performance.now()
    if (hadFocus) next.focus()
    counted()
  }

  const send = async (entry, what, request) => {
    entry.isSending = true
    enable(entry)
    try {
      await request()
      say(what)
    } catch ({ message, status }) {
      say(message)
      // Somebody was faster, or it has ended.
      if (status === 409 || status === 404) remove(entry.id)
    } finally {
      entry.isSending = false
      enable(entry)
    }
  }

  const decide = async (entry, decision) => {
    const reason = entry.reason.value.trim()
    const body = { decision, ...(reason === "" ? {} : { reason }) }
    await send(entry, `${decision === "approve" ? "Approved" : "Denied"}: ${entry.name}`, async () => {
      await ask(path("approvals", entry.id), { method: "POST", body })
      remove(entry.id)
    })
  }

  const enable = ({ buttons, isSending }) => {
    for (const button of buttons) button.disabled = isSending || !isLive()
  }

  const onKey = (entry, event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.repeat) return
    if (event.key === "Escape") {
      if (event.target === entry.node) entry.node.blur()
      else entry.node.focus()
      return
    }
    const decision = { a: "approve", d: "deny" }[event.key]
    if (decision === undefined || event.target.matches("input")) return
    event.preventDefault()
    if (isMeant(entry, event)) void decide(entry, decision)
  }

  const button = (entry, properties, label, act) => {
    const made = element("button", { type: "button", ...properties }, label)
    made.addEventListener("click", (event) => {
      if (isMeant(entry, event)) act()
    })
    return made
  }

  const add = (question) => {
    const id = question.approval_id
    if (open.has(id) || settled.has(id)) return
    const name = `${inline(question.tool)} (${inline(id)})`
    const titleId = `question-${open.size}-${Math.random().toString(36).slice(2)}`
    const node = element("article", { tabIndex: 0 })
    node.setAttribute("aria-labelledby", titleId)
    const reason = element("input", { maxLength: 1000, autocomplete: "off" })
    const entry = {
      id,
      callId: question.call_id,
      name,
      node,
      reason,
      buttons: [],
      isSending: false,
      shownAt: Number.POSITIVE_INFINITY
    }
    entry.buttons = [
      button(entry, { className: "approve" }, "Approve", () => decide(entry, "approve")),
      button(entry, { className: "deny" }, "Deny", () => decide(entry, "deny")),
      button(entry, {}, "Cancel the call", () =>
        send(entry, `Cancelled: ${name}`, () =>
          ask(path("sessions", question.session_id, "calls", question.call_id), { method: "DELETE" })
        )
      )
    ]
    node.append(
      element(
        "div",
        { className: "head" },
        element("h3", { id: titleId, className: "name" }, `${inline(question.tool)} asks`),
        badge(question.risk)
      ),
      summaryBox(question),
      factList(question),
      disclosure("The whole plan", () => box("the whole plan, as JSON", json(question.plan), "plan")),
      element(
        "div",
        { className: "answer" },
        element("label", {}, "Reason (the caller is told) ", reason),
        ...entry.buttons
      )
    )
    node.addEventListener("keydown", (event) => onKey(entry, event))
    open.set(id, entry)
    enable(entry)
    list.append(node)
    // From the moment in which it can be seen.
    requestAnimationFrame(() =>
      requestAnimationFrame((now) => {
        entry.shownAt = now
      })
    )
    announce(`A question waits: ${inline(question.tool)}, risk ${question.risk}, in ${inline(question.workspace)}`)
    onNew(question)
    counted()
  }

  document.addEventListener("keydown", (event) => {
    if (event.key !== "q" || event.ctrlKey || event.altKey || event.metaKey || event.target.matches("input")) return
    list.firstElementChild?.focus()
  })

  return {
    add,
    remove,
    /** Takes the whole list: what is not in it waits no more. */
    replace: (asked) => {
      const ids = new Set(asked.map(({ approval_id }) => approval_id))
      for (const id of [...open.keys()]) if (!ids.has(id)) remove(id)
      asked.forEach(add)
      counted()
    },
    /** A call has ended, and with it the question that it had. */
    endOf: (callId) => {
      for (const { callId: of, id } of [...open.values()]) if (of === callId) remove(id)
    },
    enable: () => open.forEach(enable)
  }
}
