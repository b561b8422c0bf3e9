// What the page does: it follows the daemon's events and shows what there is.
import { ask } from "./api.js"
import { search } from "./history.js"
import { questions } from "./questions.js"
import { sessions } from "./sessions.js"
import { follow } from "./stream.js"
import { inline } from "./text.js"

const connection = document.getElementById("connection")
const icon = document.getElementById("icon")
const notify = document.getElementById("notify")

let isLive = false

const show = (id) => (text) => {
  const node = document.getElementById(id)
  node.textContent = inline(text)
  node.title = node.textContent
}

const say = show("said")

const notifyOf = ({ approval_id, tool, workspace }) => {
  if (!("Notification" in window) || Notification.permission !== "granted" || document.hasFocus()) return
  const options = { body: inline(workspace), tag: approval_id, icon: "/page/icon-waiting.svg" }
  const notification = new Notification(`${inline(tool)} waits for your answer`, options)
  notification.addEventListener("click", () => window.focus())
}

const asked = questions({
  say,
  announce: show("announcer"),
  isLive: () => isLive,
  onNew: notifyOf,
  onCount: (count) => {
    document.title = count === 0 ? "SCV" : `(${count}) waiting: SCV`
    const href = count === 0 ? "/page/icon.svg" : "/page/icon-waiting.svg"
    if (icon.getAttribute("href") !== href) icon.href = href
  }
})

const running = sessions({ say })

const setLive = (state, text) => {
  isLive = state === "live"
  connection.dataset.state = state
  if (connection.textContent !== text) connection.textContent = text
  asked.enable()
}

/** Asks for the questions, once more if that was asked for meanwhile. */
let isAsking = false
let isStale = false
const refresh = async () => {
  isStale = true
  if (isAsking) return
  isAsking = true
  try {
    while (isStale) {
      isStale = false
      asked.replace((await ask("/v1/approvals")).approvals)
    }
  } catch ({ message }) {
    say(message)
  } finally {
    isAsking = false
  }
}

const load = async () => {
  void refresh()
  try {
    await running.replace((await ask("/v1/sessions")).sessions)
  } catch ({ message }) {
    say(message)
  }
}

let hasSearched = false

const onEvent = (event) => {
  switch (event.event) {
    case "connected":
      setLive("live", "live")
      void load()
      if (!hasSearched) void search()
      hasSearched = true
      return
    case "gap":
    case "end":
      return
    case "session_opened":
      running.add(event)
      return
    case "session_closed":
      running.remove(event.session_id)
      return
    case "approval_requested":
      running.take(event)
      void refresh()
      return
    case "approval_resolved":
      asked.remove(event.approval_id)
      say(`${event.decision === "approve" ? "Approved" : "Denied"}: ${event.approval_id}, by ${event.by}`)
      return
    default:
      if (event.event === "completed") asked.endOf(event.id)
      running.take(event)
  }
}

if ("Notification" in window && Notification.permission === "default") {
  notify.hidden = false
  notify.addEventListener("click", async () => {
    notify.hidden = (await Notification.requestPermission()) !== "default"
  })
}

void follow({
  onEvent,
  onLost: (why) => setLive("lost", `not live: ${why}; trying again`)
})
