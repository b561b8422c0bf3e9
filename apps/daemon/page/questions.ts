/** The questions that wait: each with its whole plan, and the answer to it. */
import type { PendingApproval } from "@scv/protocol"
import { ask, messageOf, path, Refusal } from "./api.ts"
import { badge, byId, element } from "./dom.ts"
import { view } from "./plan.ts"
import { inline } from "./text.ts"

/** A key or click sooner after a question has come up, or has moved, was not meant for it. In milliseconds. */
const tooSoon = 300

/** What a risk means for whoever decides. */
const meanings: Record<string, string> = {
  read_only: "reads, and changes nothing",
  filesystem: "changes or reads files",
  process: "runs a program as you",
  delegate: "hands over to another agent, which asks nobody here"
}

const list = byId("question-list", HTMLElement)
const title = byId("questions-title", HTMLElement)
const keys = byId("keys", HTMLElement)

interface Entry {
  readonly id: string
  readonly callId: string
  readonly name: string
  readonly node: HTMLElement
  readonly left: HTMLElement
  readonly reason: HTMLInputElement
  readonly expiresAt: number
  buttons: ReadonlyArray<HTMLButtonElement>
  isSending: boolean
  /** From when on it can be seen, on the clock of events. */
  shownAt: number
}

interface Surroundings {
  /** Shows a line. */
  readonly say: (text: string) => void
  /** Reads a line out at once. */
  readonly announce: (text: string) => void
  /** Whether what is shown is current. */
  readonly isLive: () => boolean
  readonly onCount: (count: number) => void
  readonly onNew: (question: PendingApproval) => void
}

const leftOf = (milliseconds: number): string => {
  if (milliseconds < 60_000) return `${Math.max(0, Math.ceil(milliseconds / 1000))} s left`
  return `${Math.floor(milliseconds / 60_000)} min left`
}

const isField = (target: EventTarget | null): boolean => target instanceof Element && target.matches("input")

const hasModifier = ({ altKey, ctrlKey, metaKey, repeat }: KeyboardEvent): boolean =>
  altKey || ctrlKey || metaKey || repeat

export const questions = ({ announce, isLive, onCount, onNew, say }: Surroundings) => {
  const open = new Map<string, Entry>()
  const settled = new Set<string>()
  let movedAt = 0

  const isMeant = (entry: Entry, event: Event): boolean =>
    isLive() && !entry.isSending && event.timeStamp - Math.max(entry.shownAt, movedAt) >= tooSoon

  const counted = (): void => {
    const { size } = open
    keys.hidden = size === 0
    title.textContent =
      size === 0
        ? "Nothing waits for you"
        : size === 1
          ? "One question waits for you"
          : `${size} questions wait for you`
    title.parentElement?.classList.toggle("waiting", size > 0)
    onCount(size)
  }

  const enable = ({ buttons, isSending }: Entry): void => {
    for (const button of buttons) button.disabled = isSending || !isLive()
  }

  const remove = (id: string): void => {
    settled.add(id)
    const entry = open.get(id)
    if (entry === undefined) return
    open.delete(id)
    const hadFocus = entry.node.contains(document.activeElement)
    const next = entry.node.nextElementSibling ?? entry.node.previousElementSibling ?? title
    entry.node.remove()
    movedAt = performance.now()
    if (hadFocus && next instanceof HTMLElement) next.focus()
    counted()
  }

  const send = async (entry: Entry, what: string, request: () => Promise<unknown>): Promise<void> => {
    entry.isSending = true
    enable(entry)
    try {
      await request()
      say(what)
    } catch (error) {
      say(messageOf(error))
      // Somebody was faster, or it has ended.
      if (error instanceof Refusal && (error.status === 409 || error.status === 404)) remove(entry.id)
    } finally {
      entry.isSending = false
      enable(entry)
    }
  }

  const decide = (entry: Entry, decision: "approve" | "deny"): Promise<void> => {
    const reason = entry.reason.value.trim()
    const body = { decision, ...(reason === "" ? {} : { reason }) }
    return send(entry, `${decision === "approve" ? "Approved" : "Denied"}: ${entry.name}`, async () => {
      await ask(path("approvals", entry.id), { body })
      remove(entry.id)
    })
  }

  const onKey = (entry: Entry, event: KeyboardEvent): void => {
    if (hasModifier(event)) return
    if (isField(event.target)) {
      if (event.key !== "Escape" && event.key !== "Enter") return
      event.preventDefault()
      entry.node.focus()
      return
    }
    if (event.key === "Escape") entry.node.blur()
    else if (event.key === "r") entry.reason.focus()
    else if ((event.key === "a" || event.key === "d") && isMeant(entry, event)) {
      void decide(entry, event.key === "a" ? "approve" : "deny")
    } else return
    event.preventDefault()
  }

  const button = (entry: Entry, className: string, label: string, key: string | undefined, act: () => void) => {
    const hint = key === undefined ? [] : [element("kbd", {}, key)]
    for (const node of hint) node.setAttribute("aria-hidden", "true")
    const made = element("button", { type: "button", className }, label, ...hint)
    made.addEventListener("click", (event) => {
      if (isMeant(entry, event)) act()
    })
    return made
  }

  const add = (question: PendingApproval): void => {
    const { approval_id: id, call_id, expires_at, risk, session_id, tool, workspace } = question
    if (open.has(id) || settled.has(id)) return
    const titleId = `question-${inline(id)}`
    const node = element("article", { tabIndex: 0, className: `question ${risk}` })
    node.setAttribute("aria-labelledby", titleId)
    const reason = element("input", {
      maxLength: 1000,
      autocomplete: "off",
      placeholder: "optional; the agent is told"
    })
    const left = element("span", { className: "left", title: "Nobody's answer counts as a no." })
    const entry: Entry = {
      id,
      callId: call_id,
      name: `${inline(tool)} (${inline(id)})`,
      node,
      left,
      reason,
      expiresAt: Date.parse(expires_at),
      buttons: [],
      isSending: false,
      shownAt: Number.POSITIVE_INFINITY
    }
    const cancel = () =>
      send(entry, `Cancelled: ${entry.name}`, () =>
        ask(path("sessions", session_id, "calls", call_id), { method: "DELETE" })
      )
    entry.buttons = [
      button(entry, "approve", "Approve", "a", () => void decide(entry, "approve")),
      button(entry, "deny", "Deny", "d", () => void decide(entry, "deny")),
      button(entry, "plain", "Cancel call", undefined, () => void cancel())
    ]
    node.append(
      element(
        "div",
        { className: "head" },
        element("h3", { id: titleId }, tool),
        element("span", { className: "where" }, `in ${workspace.slice(workspace.lastIndexOf("/") + 1) || "/"}`),
        badge(risk),
        element("span", { className: "meaning" }, meanings[risk] ?? ""),
        left
      ),
      ...view(question),
      element(
        "div",
        { className: "answer" },
        element("label", { className: "field wide" }, element("span", {}, "Reason"), reason),
        ...entry.buttons
      )
    )
    node.addEventListener("keydown", (event) => onKey(entry, event))
    open.set(id, entry)
    enable(entry)
    count(entry)
    list.append(node)
    // From the moment in which it can be seen.
    requestAnimationFrame(() =>
      requestAnimationFrame((now) => {
        entry.shownAt = now
      })
    )
    announce(`A question waits: ${inline(tool)}, risk ${risk}, in ${inline(workspace)}`)
    onNew(question)
    counted()
  }

  const count = ({ expiresAt, left }: Entry): void => {
    const milliseconds = expiresAt - Date.now()
    const text = Number.isNaN(milliseconds) ? "" : leftOf(milliseconds)
    if (left.textContent !== text) left.textContent = text
    left.classList.toggle("soon", milliseconds < 60_000)
  }

  setInterval(() => open.forEach(count), 1000)

  const goToNext = (): void => {
    const nodes = [...open.values()].map(({ node }) => node)
    const at = nodes.findIndex((node) => node.contains(document.activeElement))
    nodes[(at + 1) % nodes.length]?.focus()
  }

  document.addEventListener("keydown", (event) => {
    if (event.key !== "q" || hasModifier(event) || isField(event.target)) return
    event.preventDefault()
    goToNext()
  })

  return {
    remove,
    /** Takes the whole list: what is not in it waits no more. */
    replace: (asked: ReadonlyArray<PendingApproval>): void => {
      const ids = new Set(asked.map(({ approval_id }) => approval_id))
      for (const id of [...open.keys()]) if (!ids.has(id)) remove(id)
      // Only a list that is older than an answer has what was answered.
      for (const id of settled) if (!ids.has(id)) settled.delete(id)
      asked.forEach(add)
      counted()
    },
    /** A call has ended, and with it the question that it had. */
    endOf: (ended: string): void => {
      for (const { callId, id } of [...open.values()]) if (callId === ended) remove(id)
    },
    enable: (): void => open.forEach(enable)
  }
}
