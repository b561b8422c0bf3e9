/** The sessions with their queues, and the output of their calls as it comes. */
import type { AuditTrail } from "@scv/core"
import type { CallInfo, CallState, CallSummary, Happening, SessionInfo } from "@scv/protocol"
import { ask, messageOf, path } from "./api.ts"
import { badge, box, byId, disclosure, element } from "./dom.ts"
import { ofRecord } from "./gist.ts"
import { type Output, output } from "./output.ts"
import { inline, json, lines, spanOf, timeOf } from "./text.ts"

/** Ended calls that are shown of a session. */
const maxEnded = 10

/** Sessions that open by themselves when something runs in them. */
const maxUnfolded = 6

/** Sessions without a call that are shown beside the busy ones, and how many idle ones need no disclosure. */
const maxRecent = 4
const maxPlain = 12

/** Calls of which it is known what they do. */
const maxGists = 2000

const order: ReadonlyArray<CallState> = ["waiting", "asking", "running", "ended"]

const activeList = byId("active-list", HTMLElement)
const idle = byId("idle", HTMLDetailsElement)
const idleList = byId("idle-list", HTMLElement)
const idleCount = byId("idle-count", HTMLElement)
const count = byId("session-count", HTMLElement)
const none = byId("no-sessions", HTMLElement)
const filter = byId("session-filter", HTMLInputElement)
const busyOnly = byId("busy-only", HTMLInputElement)

/** `waiting` would be taken for what waits for a person. */
const words = { asking: "asking", running: "running", waiting: "queued" }

interface Call {
  readonly id: string
  readonly node: HTMLElement
  readonly details: HTMLDetailsElement
  readonly summary: HTMLElement
  readonly gist: HTMLElement
  readonly clock: HTMLElement
  readonly cancel: HTMLButtonElement
  badge: HTMLElement
  output: Output | undefined
  state: CallState
  startedAt: number | undefined
}

interface Session {
  readonly id: string
  readonly workspace: string
  readonly node: HTMLDetailsElement
  readonly summary: HTMLElement
  readonly stateNode: HTMLElement
  readonly callsNode: HTMLElement
  readonly noCalls: HTMLElement
  readonly calls: Map<string, Call>
  /** Whether somebody has opened or closed it by hand. */
  isTouched: boolean
  /** When something last happened in it. */
  usedAt: number
}

/** What an end tells: all of the envelope, or that it has come alone. */
interface End {
  readonly status: string
  readonly error?: { readonly kind: string; readonly message: string }
  readonly result?: unknown
}

/** A field of a result, where that has such a text. */
const textIn = (result: unknown, name: string): string => {
  const value = typeof result === "object" && result !== null ? new Map(Object.entries(result)).get(name) : undefined
  return typeof value === "string" ? value : ""
}

/** A path by its last name, and where that is. */
const folder = (workspace: string): HTMLElement => {
  const at = workspace.lastIndexOf("/")
  return element(
    "span",
    { className: "folder", title: inline(workspace) },
    element("strong", {}, workspace.slice(at + 1) || "/"),
    element("span", { className: "quiet" }, workspace.slice(0, Math.max(at, 0)))
  )
}

/** `say` shows a line. */
export const sessions = ({ say }: { readonly say: (text: string) => void }) => {
  const open = new Map<string, Session>()
  const sessionOf = new WeakMap<Element, Session>()
  const gists = new Map<string, string>()
  let isDue = false

  const liveOf = ({ calls }: Session) => [...calls.values()].filter(({ state }) => state !== "ended")

  const isBusy = ({ calls }: Session): boolean => [...calls.values()].some(({ state }) => state !== "ended")

  const isQuiet = (node: Element): boolean => {
    const session = sessionOf.get(node)
    return session !== undefined && !isBusy(session)
  }

  const unfolded = () => [...open.values()].filter(({ node }) => node.open && node.parentElement === activeList).length

  const stateOf = (session: Session): { readonly state: string; readonly text: string } => {
    const live = liveOf(session)
    const number = (wanted: CallState) => live.filter(({ state }) => state === wanted).length
    const parts = (["asking", "running", "waiting"] as const)
      .map((state) => [number(state), state] as const)
      .filter(([n]) => n > 0)
    if (parts.length === 0) return { state: "idle", text: "idle" }
    return {
      state: parts[0]?.[1] ?? "idle",
      text: parts.map(([n, state]) => (n === 1 ? words[state] : `${n} ${words[state]}`)).join(", ")
    }
  }

  const isWanted = (session: Session): boolean => {
    const wanted = filter.value.trim().toLowerCase()
    return `${session.id} ${session.workspace}`.toLowerCase().includes(wanted) && (!busyOnly.checked || isBusy(session))
  }

  /** Where a session stands: busy ones first, in the order in which they came, then those that were just now. */
  const arrange = (session: Session): void => {
    const { node } = session
    if (!isBusy(session)) return
    const above = node.previousElementSibling
    const stands = node.parentElement === activeList && (above === null || !isQuiet(above))
    if (stands || node.contains(document.activeElement)) return
    const quiet = [...activeList.children].filter(isQuiet)
    // What somebody has unfolded or is at stays as it is.
    const free = quiet
      .flatMap((other) => sessionOf.get(other) ?? [])
      .filter((other) => !other.isTouched && !other.node.contains(document.activeElement))
      .sort((a, b) => b.usedAt - a.usedAt)
    for (const { node } of free) node.open = false
    for (const { node } of free.slice(maxRecent)) idleList.prepend(node)
    activeList.insertBefore(node, [...activeList.children].find(isQuiet) ?? null)
  }

  const draw = (): void => {
    isDue = false
    let shown = 0
    let shownIdle = 0
    for (const session of open.values()) {
      const { state, text } = stateOf(session)
      if (session.stateNode.textContent !== text) {
        session.stateNode.textContent = text
        session.stateNode.dataset.state = state
      }
      arrange(session)
      if (state !== "idle" && !session.isTouched && !session.node.open && unfolded() < maxUnfolded) {
        session.node.open = true
      }
      const isShown = isWanted(session)
      session.node.hidden = !isShown
      if (isShown) shown++
      if (isShown && session.node.parentElement === idleList) shownIdle++
    }
    count.textContent = shown === open.size ? `${open.size}` : `${shown} of ${open.size}`
    idleCount.textContent = `${shownIdle}`
    idle.hidden = shownIdle === 0
    if (shownIdle > 0 && shownIdle <= maxPlain && filter.value !== "") idle.open = true
    none.hidden = open.size > 0
  }

  const later = (): void => {
    if (isDue) return
    isDue = true
    requestAnimationFrame(draw)
  }

  for (const input of [filter, busyOnly]) input.addEventListener("input", later)

  const add = ({ opened_at, policy, session_id, workspace = "" }: Partial<SessionInfo> & { session_id: string }) => {
    const known = open.get(session_id)
    if (known !== undefined) return known
    const stateNode = element("span", { className: "state" }, "idle")
    stateNode.dataset.state = "idle"
    const noCalls = element("p", { className: "quiet" }, "No call yet.")
    const callsNode = element("div", {}, noCalls)
    const summary = element(
      "summary",
      { className: "line" },
      element(
        "span",
        { className: "row" },
        stateNode,
        folder(workspace),
        element("span", { className: "id" }, session_id)
      )
    )
    const about = [
      workspace,
      policy === undefined ? "" : `policy ${policy}`,
      opened_at === undefined ? "" : `opened ${timeOf(opened_at)}`
    ].filter((part) => part !== "")
    const node = element(
      "details",
      { className: "session" },
      summary,
      element("p", { className: "about" }, ...about.map((part) => element("span", {}, part))),
      callsNode
    )
    const session: Session = {
      id: session_id,
      workspace,
      node,
      summary,
      stateNode,
      callsNode,
      noCalls,
      calls: new Map(),
      isTouched: false,
      usedAt: opened_at === undefined ? Date.now() : Date.parse(opened_at)
    }
    summary.addEventListener("click", () => {
      session.isTouched = true
    })
    node.addEventListener(
      "toggle",
      () => {
        if (node.open) void load(session).then(() => recall(session))
      },
      { once: true }
    )
    open.set(session_id, session)
    sessionOf.set(node, session)
    idleList.prepend(node)
    if (open.size === 1) idle.open = true
    later()
    return session
  }

  const remove = (id: string): void => {
    open.get(id)?.node.remove()
    open.delete(id)
    later()
  }

  const callOf = (session: Session, id: string, tool: string): Call => {
    const known = session.calls.get(id)
    if (known !== undefined) return known
    const state = badge("queued")
    const cancel = element("button", { type: "button", className: "plain small" }, "Cancel")
    cancel.setAttribute("aria-label", `Cancel ${inline(id)}`)
    const gist = element("span", { className: "gist" }, gists.get(id) ?? "")
    const clock = element("span", { className: "span" })
    const summary = element(
      "summary",
      { className: "line" },
      element(
        "span",
        { className: "row" },
        state,
        element("strong", {}, tool),
        gist,
        clock,
        element("span", { className: "id" }, id.slice(id.lastIndexOf("-")).replace("-", "#"))
      )
    )
    const details = element("details", {}, summary)
    const node = element("div", { className: "call live" }, details, cancel)
    const call: Call = {
      id,
      node,
      details,
      summary,
      gist,
      clock,
      cancel,
      badge: state,
      output: undefined,
      state: "waiting",
      startedAt: undefined
    }
    cancel.addEventListener("click", async () => {
      try {
        await ask(path("sessions", session.id, "calls", id), { method: "DELETE" })
        say(`Cancelling ${inline(id)}; once more ends at once what is left of it`)
      } catch (error) {
        say(messageOf(error))
      }
    })
    session.calls.set(id, call)
    session.noCalls.hidden = true
    session.callsNode.prepend(node)
    return call
  }

  /** False where that is old: a list may be older than an event that came before it. */
  const move = (session: Session, call: Call, state: CallState, word: string = state): boolean => {
    if (order.indexOf(state) <= order.indexOf(call.state)) return false
    session.usedAt = Date.now()
    call.state = state
    const fresh = badge(word)
    call.badge.replaceWith(fresh)
    call.badge = fresh
    return true
  }

  const outputOf = (call: Call): Output => {
    if (call.output === undefined) {
      call.output = output(`output of ${call.id}`)
      call.details.append(call.output.node)
      call.details.open = true
    }
    return call.output
  }

  const answered = new WeakSet<Call>()

  /** Shows the whole envelope of a call that has ended and is opened. */
  const showAnswer = async (session: Session, call: Call): Promise<void> => {
    if (!call.details.open || answered.has(call)) return
    answered.add(call)
    try {
      const { result } = await ask<CallInfo>(path("sessions", session.id, "calls", call.id))
      const printed = textIn(result?.result, "output")
      if (call.output === undefined && printed !== "") outputOf(call).replace(printed)
      call.details.append(disclosure("Answer as JSON", () => box(`the answer of ${call.id}`, json(result ?? null))))
    } catch (error) {
      answered.delete(call)
      say(messageOf(error))
    }
  }

  const end = (session: Session, call: Call, { error, result, status }: End): void => {
    if (!move(session, call, "ended", status)) return
    const hadFocus = document.activeElement === call.cancel
    call.cancel.remove()
    call.node.classList.remove("live")
    if (hadFocus) call.summary.focus()
    call.clock.textContent = call.startedAt === undefined ? "" : spanOf(Date.now() - call.startedAt)
    // Who was not asked about it has not been told what it does.
    if (call.gist.textContent === "") call.gist.textContent = inline(textIn(result, "path") || textIn(result, "name"))
    // Live output leaves out what came too fast, and all of a call that was over at once.
    const printed = textIn(result, "output")
    if (printed !== "") outputOf(call).replace(printed)
    if (error !== undefined) {
      const why = element("p", { className: "error" })
      why.textContent = lines(`${error.kind}: ${error.message}`)
      call.details.append(why)
      call.details.open = true
    }
    call.details.addEventListener("toggle", () => void showAnswer(session, call))
    // What is new is what is looked at.
    for (const other of session.calls.values()) {
      if (other !== call && other.state === "ended" && result !== undefined) other.details.open = false
    }
    const ended = [...session.calls.values()].filter(({ state }) => state === "ended")
    for (const old of ended.slice(0, Math.max(0, ended.length - maxEnded))) {
      old.node.remove()
      session.calls.delete(old.id)
    }
  }

  const start = (call: Call): void => {
    call.startedAt = Date.now()
  }

  setInterval(() => {
    for (const session of open.values()) {
      if (!session.node.open) continue
      for (const { clock, startedAt, state } of session.calls.values()) {
        if (state === "running" && startedAt !== undefined) {
          clock.textContent = spanOf(Math.round((Date.now() - startedAt) / 1000) * 1000)
        }
      }
    }
  }, 1000)

  /** Takes what a call does, in a line. */
  const describe = (id: string, gist: string): void => {
    gists.set(id, gist)
    for (const oldest of gists.keys()) {
      if (gists.size <= maxGists) break
      gists.delete(oldest)
    }
    for (const { calls } of open.values()) {
      const known = calls.get(id)
      if (known?.gist.textContent === "") known.gist.textContent = inline(gist)
    }
  }

  /** Asks the record what the calls of a session did, where that is not known. */
  const recall = async (session: Session): Promise<void> => {
    if ([...session.calls.values()].every(({ gist }) => gist.textContent !== "")) return
    const query = new URLSearchParams({ session: session.id, limit: "20" })
    const none: { readonly records: ReadonlyArray<AuditTrail.AuditRecord> } = { records: [] }
    const { records } = await ask<typeof none>(`/v1/audit?${query}`).catch(() => none)
    for (const record of records) if (record.call_id !== undefined) describe(record.call_id, ofRecord(record))
  }

  const load = async (session: Session): Promise<void> => {
    const none: { readonly calls: ReadonlyArray<CallSummary> } = { calls: [] }
    const { calls } = await ask<typeof none>(path("sessions", session.id, "calls")).catch(() => none)
    const ended = calls.filter(({ state }) => state === "ended").slice(-maxEnded)
    for (const summary of calls) {
      const { call_id, state, status, tool } = summary
      if (state === "ended" && !ended.includes(summary)) continue
      const call = callOf(session, call_id, tool)
      if (state === "ended") end(session, call, { status: status ?? "ended" })
      else move(session, call, state)
    }
    later()
  }

  return {
    add,
    remove,
    describe,
    /** Takes the whole list, and asks for the calls of those that have some. */
    replace: async (infos: ReadonlyArray<SessionInfo>): Promise<void> => {
      const ids = new Set(infos.map(({ session_id }) => session_id))
      for (const id of [...open.keys()]) if (!ids.has(id)) remove(id)
      const known = infos.map((info) => [add(info), info] as const)
      if (infos.length <= maxPlain) idle.open = true
      later()
      for (const [session, { live }] of known) if (live.length > 0 || isBusy(session)) await load(session)
    },
    /** Takes an event of a call. */
    take: (event: Extract<Happening, { readonly id: string }>): void => {
      const session = open.get(event.session_id) ?? add({ session_id: event.session_id })
      const tool = "tool" in event ? event.tool : event.event === "completed" ? event.result.tool : ""
      const call = callOf(session, event.id, tool)
      if (event.event === "approval_requested") move(session, call, "asking")
      else if (event.event === "started") {
        if (move(session, call, "running")) start(call)
      } else if (event.event === "completed") end(session, call, event.result)
      else if (event.event === "progress") {
        outputOf(call).add(event.text)
        return
      }
      later()
    }
  }
}
