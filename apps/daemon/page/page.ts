/** What the page does: it follows the daemon's events and shows what there is. */
import type { Event, PendingApproval, SessionInfo } from "@scv/protocol"
import { ask, messageOf, Refusal } from "./api.ts"
import { byId } from "./dom.ts"
import { ofSummary } from "./gist.ts"
import { history } from "./history.ts"
import { questions } from "./questions.ts"
import { sessions } from "./sessions.ts"
import { follow, type Lost } from "./stream.ts"
import { inline } from "./text.ts"

const connection = byId("connection", HTMLElement)
const lost = byId("lost", HTMLElement)
const lostWhy = byId("lost-why", HTMLElement)
const icon = byId("icon", HTMLLinkElement)
const notify = byId("notify", HTMLButtonElement)
const said = byId("said", HTMLElement)
const announcer = byId("announcer", HTMLElement)
const toQuestions = byId("to-questions", HTMLElement)
const waitingCount = byId("waiting-count", HTMLElement)

/** Milliseconds for which a line stays. */
const saidFor = 6000

let isLive = false
let saying: ReturnType<typeof setTimeout> | undefined

const say = (text: string): void => {
  said.textContent = inline(text)
  clearTimeout(saying)
  saying = setTimeout(() => {
    said.textContent = ""
  }, saidFor)
}

/** Tells of a request that was refused; that nobody answers is told already, or will be in a moment. */
const complain = (error: unknown): void => {
  if (!(error instanceof Refusal && error.status === 0)) say(messageOf(error))
}

const canNotify = "Notification" in window

const notifyOf = ({ approval_id, tool, workspace }: PendingApproval): void => {
  if (!canNotify || Notification.permission !== "granted" || document.hasFocus()) return
  const options = { body: inline(workspace), tag: approval_id, icon: "/page/icon-waiting.svg" }
  try {
    const notification = new Notification(`${inline(tool)} waits for your answer`, options)
    notification.addEventListener("click", () => window.focus())
  } catch {
    // Some phones only allow it to a service worker.
  }
}

const onCount = (count: number): void => {
  document.title = count === 0 ? "SCV" : `(${count}) waiting: SCV`
  waitingCount.textContent = count === 0 ? "" : String(count)
  toQuestions.classList.toggle("waiting", count > 0)
  const href = count === 0 ? "/page/icon.svg" : "/page/icon-waiting.svg"
  if (icon.getAttribute("href") !== href) icon.href = href
}

const asked = questions({
  say,
  announce: (text) => {
    announcer.textContent = inline(text)
  },
  isLive: () => isLive,
  onNew: notifyOf,
  onCount
})

const running = sessions({ say })

const recorded = history({ describe: running.describe })

const reasons: Record<Lost, string> = {
  silent: "The daemon does not answer. This page goes on by itself when it does.",
  ended: "The daemon has ended the connection. This page connects again by itself.",
  refused: "The daemon takes no more readers. This page tries again by itself.",
  another: "Something else answers at this address, and is told nothing. This page waits for the daemon.",
  "signed out":
    "This browser is signed out. Run scv daemon open and open the address that it prints; this page then goes on by itself."
}

const setLive = (why: Lost | undefined): void => {
  isLive = why === undefined
  connection.dataset.state = isLive ? "live" : "lost"
  connection.textContent = isLive ? "live" : "not live"
  document.body.classList.toggle("stale", !isLive)
  lost.hidden = isLive
  const text = why === undefined ? "" : reasons[why]
  if (lostWhy.textContent !== text) lostWhy.textContent = text
  asked.enable()
}

let isAsking = false
let isStale = false

/** Asks for the questions, once more if that was asked for meanwhile. */
const refresh = async (): Promise<void> => {
  isStale = true
  if (isAsking) return
  isAsking = true
  try {
    while (isStale) {
      isStale = false
      const { approvals } = await ask<{ readonly approvals: ReadonlyArray<PendingApproval> }>("/v1/approvals")
      for (const { call_id, summary } of approvals) running.describe(call_id, ofSummary(summary))
      asked.replace(approvals)
    }
  } catch (error) {
    complain(error)
  } finally {
    isAsking = false
  }
}

const load = async (): Promise<void> => {
  void refresh()
  try {
    const { sessions } = await ask<{ readonly sessions: ReadonlyArray<SessionInfo> }>("/v1/sessions")
    await running.replace(sessions)
  } catch (error) {
    complain(error)
  }
}

const onEvent = (event: Event): void => {
  switch (event.event) {
    case "connected":
      setLive(undefined)
      void load()
      void recorded.search()
      return
    case "gap":
    case "end":
      return
    case "session_opened":
      running.add({ ...event, opened_at: new Date().toISOString() })
      return
    case "session_closed":
      running.remove(event.session_id)
      return
    case "approval_requested":
      running.describe(event.id, ofSummary(event.summary))
      running.take(event)
      void refresh()
      return
    case "approval_resolved":
      asked.remove(event.approval_id)
      say(`${event.decision === "approve" ? "Approved" : "Denied"}: ${event.approval_id}, by ${event.by}`)
      return
    case "completed":
      asked.endOf(event.id)
      running.take(event)
      recorded.hasNewer()
      return
    default:
      running.take(event)
  }
}

if (canNotify && Notification.permission === "default") {
  notify.hidden = false
  notify.addEventListener("click", async () => {
    notify.hidden = (await Notification.requestPermission()) !== "default"
  })
}

/** Milliseconds between two requests at least: a browser that asks for nothing for a day is signed out. */
const alive = 60 * 60 * 1000

setInterval(() => void ask("/v1/health").catch(complain), alive)

void follow({ onEvent, onLost: setLive })
