// The sessions with their queues, and the output of their calls as it comes.
import { ask, path } from "./api.js"
import { badge, box, disclosure, element, inline, json, lines, output, timeOf } from "./text.js"

/** Ended calls that are shown of a session. */
const maxEnded = 10

const order = ["waiting", "asking", "running", "ended"]

const list = document.getElementById("session-list")
const count = document.getElementById("session-count")
const none = document.getElementById("no-sessions")
const filter = document.getElementById("session-filter")
const busyOnly = document.getElementById("busy-only")

/** `say` shows a line. */
export const sessions = ({ say }) => {
  const open = new Map()
  let isDue = false

  const liveOf = ({ calls }) => [...calls.values()].filter(({ state }) => state !== "ended")

  const stateOf = (session) => {
    const live = liveOf(session)
    const number = (wanted) => live.filter(({ state }) => state === wanted).length
    const parts = ["asking", "running", "waiting"].map((state) => [number(state), state]).filter(([n]) => n > 0)
    return parts.length === 0 ? "idle" : parts.map(([n, state]) => `${n} ${state}`).join(", ")
  }

  const isWanted = (session) => {
    const wanted = filter.value.trim().toLowerCase()
    return (
      `${session.id} ${session.workspace}`.toLowerCase().includes(wanted) &&
      (!busyOnly.checked || liveOf(session).length > 0)
    )
  }

  const draw = () => {
    isDue = false
    let shown = 0
    for (const session of open.values()) {
      const isBusy = liveOf(session).length > 0
      session.stateNode.textContent = stateOf(session)
      if (isBusy && !session.isTouched) session.node.open = true
      session.node.hidden = !isWanted(session)
      if (!session.node.hidden) shown++
    }
    count.textContent = shown === open.size ? `${open.size}` : `${shown} of ${open.size}`
    none.hidden = open.size > 0
  }

  const later = () => {
    if (isDue) return
    isDue = true
    requestAnimationFrame(draw)
  }

  for (const input of [filter, busyOnly]) input.addEventListener("input", later)

  const add = ({ opened_at, policy, session_id, workspace }) => {
    const known = open.get(session_id)
    if (known !== undefined) return known
    const stateNode = element("span", { className: "quiet" }, "idle")
    const callsNode = element("div")
    const noCalls = element("p", { className: "quiet" }, "No call yet.")
    callsNode.append(noCalls)
    const summary = element(
      "summary",
      {},
      element(
        "span",
        { className: "row" },
        element("span", { className: "id" }, session_id),
        element("span", {}, workspace ?? ""),
        element("span", { className: "quiet" }, policy ?? ""),
        stateNode
      )
    )
    const about = opened_at === undefined ? [] : [element("p", { className: "quiet" }, `opened ${timeOf(opened_at)}`)]
    const node = element("details", { className: "session" }, summary, ...about, callsNode)
    const session = {
      id: session_id,
      workspace: workspace ?? "",
      node,
      stateNode,
      callsNode,
      noCalls,
      calls: new Map(),
      isTouched: false
    }
    summary.addEventListener("click", () => {
      session.isTouched = true
    })
    node.addEventListener(
      "toggle",
      () => {
        if (node.open) void load(session)
      },
      { once: true }
    )
    open.set(session_id, session)
    list.prepend(node)
    later()
    return session
  }

  const remove = (id) => {
    open.get(id)?.node.remove()
    open.delete(id)
    later()
  }

  const callOf = (session, id, tool) => {
    const known = session.calls.get(id)
    if (known !== undefined) return known
    const stateNode = badge("waiting")
    const cancel = element("button", { type: "button" }, "Cancel")
    cancel.setAttribute("aria-label", `Cancel ${inline(id)}`)
    const line = element(
      "div",
      { className: "line" },
      element("span", { className: "id" }, id),
      element("span", { className: "name" }, tool ?? ""),
      stateNode,
      cancel
    )
    const node = element("div", { className: "call" }, line)
    const call = { id, node, stateNode, cancel, output: undefined, state: "waiting" }
    cancel.addEventListener("click", async () => {
      try {
        await ask(path("sessions", session.id, "calls", id), { method: "DELETE" })
        say(`Cancelling ${inline(id)}; once more ends at once what is left of it`)
      } catch ({ message }) {
        say(message)
      }
    })
    session.calls.set(id, call)
    session.noCalls.hidden = true
    session.callsNode.prepend(node)
    return call
  }

  const move = (call, state, word = state) => {
    // A list may be older than an event that came before it.
    if (order.indexOf(state) <= order.indexOf(call.state)) return false
    call.state = state
    const fresh = badge(word)
    call.stateNode.replaceWith(fresh)
    call.stateNode = fresh
    return true
  }

  const outputOf = (call) => {
    if (call.output === undefined) {
      call.output = output(`output of ${call.id}`)
      call.node.append(call.output.node)
    }
    return call.output
  }

  const end = (session, call, { error, result, status }) => {
    if (!move(call, "ended", status)) return
    const hadFocus = document.activeElement === call.cancel
    call.cancel.remove()
    if (hadFocus) session.node.querySelector("summary").focus()
    // Live output leaves out what came too fast, and all of a call that was over at once.
    if (typeof result?.output === "string" && result.output !== "") outputOf(call).replace(result.output)
    if (error !== undefined) {
      const why = element("p", { className: "name" })
      why.textContent = lines(`${error.kind}: ${error.message}`)
      call.node.append(why)
    }
    call.node.append(
      disclosure("Answer", async () => {
        try {
          const { result } = await ask(path("sessions", session.id, "calls", call.id))
          return box(`the answer of ${call.id}`, json(result ?? null))
        } catch ({ message }) {
          return element("p", {}, message)
        }
      })
    )
    const ended = [...session.calls.values()].filter(({ state }) => state === "ended")
    for (const old of ended.slice(0, Math.max(0, ended.length - maxEnded))) {
      old.node.remove()
      session.calls.delete(old.id)
    }
  }

  const load = async (session) => {
    const { calls } = await ask(path("sessions", session.id, "calls")).catch(() => ({ calls: [] }))
    const ended = calls.filter(({ state }) => state === "ended").slice(-maxEnded)
    for (const { call_id, state, status, tool } of calls) {
      if (state === "ended" && !ended.some((kept) => kept.call_id === call_id)) continue
      const call = callOf(session, call_id, tool)
      if (state === "ended") end(session, call, { status: status ?? "ended" })
      else move(call, state)
    }
    later()
  }

  return {
    add,
    remove,
    /** Takes the whole list, and asks for the calls of those that have some. */
    replace: async (infos) => {
      const ids = new Set(infos.map(({ session_id }) => session_id))
      for (const id of [...open.keys()]) if (!ids.has(id)) remove(id)
      const known = infos.map((info) => [add(info), info])
      later()
      for (const [session, { live }] of known) if (live.length > 0 || liveOf(session).length > 0) await load(session)
    },
    /** Takes an event of a call. */
    take: (event) => {
      const session = open.get(event.session_id) ?? add({ session_id: event.session_id })
      const call = callOf(session, event.id, event.tool)
      if (event.event === "approval_requested") move(call, "asking")
      else if (event.event === "started") move(call, "running")
      else if (event.event === "completed") end(session, call, event.result)
      else if (event.event === "progress") {
        outputOf(call).add(event.text)
        return
      }
      later()
    }
  }
}
