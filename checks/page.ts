/**
 * The daemon's page in a real browser: it is used as people use it, attacked, flooded, looked at and listened to. The
 * argument names a directory for screenshots. CHROMIUM names the browser; else that of the PATH is used.
 */
/// <reference lib="dom" />
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as http from "node:http"
import * as os from "node:os"
import * as path from "node:path"
import type { Browser, BrowserContext, Page } from "playwright-core"
import { accessibility, isLive, launch, openPage, type Watched } from "./support/browser.ts"
import { type Daemon, startDaemon, wait } from "./support/daemon.ts"

const shots = process.argv[2]
if (shots !== undefined) fs.mkdirSync(shots, { recursive: true })

const faults: Array<string> = []

const expect = (is: boolean, fault: string): void => {
  if (!is) faults.push(fault)
}

/** Waits for a condition, for 20 seconds at most. */
const eventually = async (what: string, is: () => boolean | Promise<boolean>): Promise<void> => {
  const end = performance.now() + 20_000
  while (!(await is())) {
    if (performance.now() > end) throw new Error(`never: ${what}`)
    await wait(20)
  }
}

const root = fs.mkdtempSync(path.join(os.tmpdir(), "scv-page-"))
const [home, user, project] = ["home", "user", "project"].map((name) => path.join(root, name)) as [
  string,
  string,
  string
]
for (const directory of [home, user, project]) fs.mkdirSync(directory)

/** One daemon after the other. What it runs finds no login profile, which could take long. */
const start = (args: ReadonlyArray<string> = []): Promise<Daemon> => startDaemon({ home, args, env: { HOME: user } })
let daemon = await start()

const openSession = async (): Promise<string> =>
  (await daemon.ask("/v1/sessions", { json: { workspace: project } })).session_id

const call = async (session: string, tool: string, input: unknown): Promise<string> =>
  (await daemon.ask(`/v1/sessions/${session}/calls`, { json: { tool, input, detach: true } })).call_id

const bash = (session: string, command: string) => call(session, "bash", { command })

const callOf = (session: string, id: string) => daemon.ask(`/v1/sessions/${session}/calls/${id}`)

const questionsOn = (page: Page, count: number) =>
  eventually(`${count} questions on the page`, async () => (await page.locator("article").count()) === count)

const hasEnded = async (session: string, id: string, status: string): Promise<void> => {
  await eventually(`${id} has ended`, async () => (await callOf(session, id)).state === "ended")
  const { result } = await callOf(session, id)
  expect(result.status === status, `${id} is ${result.status}, not ${status}: ${JSON.stringify(result).slice(0, 200)}`)
}

const approveAll = async (): Promise<void> => {
  const { approvals } = await daemon.ask("/v1/approvals")
  for (const { approval_id } of approvals) {
    await daemon.ask(`/v1/approvals/${approval_id}`, { json: { decision: "approve" } })
  }
}

/** Until a key is an answer to what is shown: the page takes none that comes sooner. */
const settled = (page: Page) =>
  page.evaluate(
    () =>
      new Promise<void>((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve, 350))))
  )

const asked = async (page: Page, count = 1): Promise<void> => {
  await questionsOn(page, count)
  await settled(page)
}

const watched: Watched = { foreign: [], complaints: [] }

const picture = async (page: Page, name: string): Promise<void> => {
  if (shots === undefined) return
  // What comes into view is drawn in the next frame.
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))))
  await page.screenshot({ path: path.join(shots, `${name}.png`) })
}

const widthOf = (page: Page) => page.evaluate(() => document.documentElement.scrollWidth)

/** What every step finds: a page that is signed in, live, and shows no question. */
interface World {
  readonly context: BrowserContext
  readonly page: Page
  readonly session: string
}

type Step = (world: World) => Promise<void>

const painting: Step = async ({ page }) => {
  const paint = () =>
    page.evaluate(
      () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Number.POSITIVE_INFINITY
    )
  const first = await paint()
  const again: Array<number> = []
  for (let count = 0; count < 4; count++) {
    await page.reload()
    await isLive(page)
    again.push(await paint())
  }
  const all = again.map((milliseconds) => milliseconds.toFixed(0)).join(", ")
  console.log(`first paint after ${first.toFixed(0)} ms, and ${all} ms when loaded again`)
  expect(Math.min(first, ...again) < 500, "the first paint takes longer than 500 ms")
}

const keys: Step = async ({ page, session }) => {
  const yes = await bash(session, "echo hello")
  await page.locator("article").waitFor()
  await page.evaluate(() => {
    const question = document.querySelector("article")
    question?.focus()
    question?.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true }))
  })
  expect((await page.title()).startsWith("(1) "), "the title does not say that something waits")
  expect((await page.locator("#icon").getAttribute("href")) === "/page/icon-waiting.svg", "the icon does not show it")
  await settled(page)
  expect((await callOf(session, yes)).state === "asking", "a key that was pressed too soon has answered")
  await page.keyboard.press("Escape")
  await page.keyboard.press("a")
  expect((await callOf(session, yes)).state === "asking", "a key has answered a question that had no focus")
  await page.keyboard.press("q")
  await page.keyboard.press("a")
  await hasEnded(session, yes, "completed")
  await questionsOn(page, 0)
  expect((await page.title()) === "SCV", "the title still says that something waits")
  await page.getByText("hello", { exact: true }).waitFor()

  const no = await bash(session, "echo never > never")
  await asked(page)
  await page.keyboard.press("q")
  await page.keyboard.press("r")
  await page.keyboard.type("a bad idea")
  expect((await callOf(session, no)).state === "asking", "the letters of a reason have answered")
  await page.keyboard.press("Enter")
  await page.keyboard.press("d")
  await hasEnded(session, no, "denied")
  expect(JSON.stringify((await callOf(session, no)).result).includes("a bad idea"), "the caller is not told the reason")
  expect(!fs.existsSync(path.join(project, "never")), "what was denied has run")
}

const buttons: Step = async ({ page, session }) => {
  const no = await call(session, "write", { path: "a.txt", content: "one\ntwo\n", mode: "create" })
  await asked(page)
  expect((await page.locator("article .added").allTextContents()).join() === "+one,+two", "a write shows no diff")
  await page.getByLabel("Reason").fill("not today")
  await page.getByRole("button", { name: "Deny" }).click()
  await hasEnded(session, no, "denied")
  expect(JSON.stringify((await callOf(session, no)).result).includes("not today"), "the caller is not told the reason")

  const command = `printf '%s' "two words"`
  const yes = await bash(session, command)
  await asked(page)
  const facts = await page
    .locator("article dt")
    .evaluateAll((names) => names.map((name) => `${name.textContent}: ${name.nextElementSibling?.textContent}`))
  const wanted = ["executable: /bin/bash", `arguments: -lc--${command}`, `directory: ${project}`, "timeout: 120 s"]
  for (const fact of wanted) expect(facts.includes(fact), `the plan does not show ${fact}, but ${facts}`)
  const shown = (await page.locator("article").textContent()) ?? ""
  for (const part of ["process", "as you", command]) {
    expect(shown.includes(part), `the question does not show ${part}`)
  }
  await page.getByRole("button", { name: "Approve" }).click()
  await hasEnded(session, yes, "completed")

  const given = await bash(session, "echo asked")
  await asked(page)
  await page.getByRole("button", { name: "Cancel call" }).click()
  await hasEnded(session, given, "cancelled")
  await questionsOn(page, 0)

  const long = await bash(session, "echo started; sleep 600")
  await asked(page)
  await page.getByRole("button", { name: "Approve" }).click()
  await page.getByText("started", { exact: true }).waitFor()
  await page.getByRole("button", { name: `Cancel ${long}` }).click()
  await hasEnded(session, long, "cancelled")
}

const race: Step = async ({ context, page, session }) => {
  const other = await openPage(daemon, context, watched)
  const raced = await bash(session, "echo raced >> raced")
  await Promise.all([asked(page), asked(other)])
  const approve = await page.locator("article .approve").elementHandle()
  const deny = await other.locator("article .deny").elementHandle()
  await Promise.all([approve, deny].map((button) => button?.evaluate((node) => (node as HTMLElement).click())))
  await Promise.all([questionsOn(page, 0), questionsOn(other, 0)])
  await eventually("it has ended", async () => (await callOf(session, raced)).state === "ended")
  const { result } = await callOf(session, raced)
  const runs = fs.existsSync(path.join(project, "raced")) ? fs.readFileSync(path.join(project, "raced"), "utf8") : ""
  expect(
    (result.status === "completed" && runs === "raced\n") || (result.status === "denied" && runs === ""),
    `two pages disagreed, and it is ${result.status} after ${JSON.stringify(runs)}`
  )
  await other.close()
}

const markup = `<img src=x onerror="document.title=1"></script><script>document.title=2</script><a href="javascript:document.title=3">x</a>`
const escapes = String.raw`\x1b[2J\u{202e}abc\u{200b}\x07`

const hostile: Step = async ({ page, session }) => {
  const before = await widthOf(page)
  const evil = String.raw`head -c 65536 /dev/zero | tr '\0' W; printf '\n%s\033[2J\xe2\x80\xaeabc\xe2\x80\x8b\007\n' '${markup}'`
  const id = await bash(session, `# \u202e<b>bold</b>\u001b[31m ${"x".repeat(5000)}\n#${markup}\n${evil}`)
  await asked(page)
  const shown = (await page.locator("article .box").first().textContent()) ?? ""
  expect(shown.includes(String.raw`\u{202e}<b>bold</b>\x1b[31m`), "what is asked is not shown escaped")
  expect(shown.includes(markup), "what is asked is not shown whole")
  expect((await widthOf(page)) === before, "a question has moved the layout")
  await page.getByText("Whole plan").click()
  await page.locator("article .plan").first().waitFor()
  await page.getByRole("button", { name: "Approve" }).click()
  await hasEnded(session, id, "completed")
  await page.getByText(escapes).first().waitFor()

  // As long as a line gets
  const line = await bash(session, `: ${"x".repeat(120_000)}`)
  await asked(page)
  const height = await page.locator("article").evaluate((node) => node.scrollHeight)
  expect(height < 1500, `a long command is ${height} pixels high`)
  expect((await widthOf(page)) === before, "a long command has moved the layout")
  await page.getByRole("button", { name: "Deny" }).click()
  await hasEnded(session, line, "denied")

  // A directory with such a name
  const odd = path.join(project, "d\u202e\u001b[31m<b>x")
  fs.mkdirSync(odd)
  const there = (await daemon.ask("/v1/sessions", { json: { workspace: odd } })).session_id
  await page.locator(".session").filter({ hasText: String.raw`d\u{202e}\x1b[31m<b>x` }).waitFor({ state: "attached" })
  await daemon.ask(`/v1/sessions/${there}`, { method: "DELETE" })
  fs.rmdirSync(odd)

  // As large as a plan gets, and a name of a file that poses as a row of the summary
  const name = "a\n  risk: read_only\u202e<b>"
  const large = await call(session, "write", { path: name, content: "<b>\u001b[31m\n".repeat(60_000), mode: "create" })
  await asked(page)
  await page.getByText("Whole plan").click()
  await page.locator("article .plan").nth(1).waitFor()
  await picture(page, "large-plan")
  const tall = await page.locator("article").evaluate((node) => node.scrollHeight)
  expect(tall < 3000, `a large plan is ${tall} pixels high`)
  const facts = (await page.locator("article .how > dl dt").allTextContents()).join()
  expect(!facts.includes("risk"), "a name of a file poses as a row of the plan")
  expect((await widthOf(page)) === before, "a large plan has moved the layout")
  await page.getByRole("button", { name: "Deny" }).click()
  await hasEnded(session, large, "denied")

  const made = await page.evaluate(() => {
    try {
      document.createElement("div").innerHTML = "<b>"
      return true
    } catch {
      return false
    }
  })
  expect(!made, "the page's policy lets text become markup")
  watched.complaints.splice(
    0,
    watched.complaints.length,
    ...watched.complaints.filter((text) => !text.includes("TrustedHTML"))
  )
  expect((await page.locator("main :is(img, script, b, a, iframe)").count()) === 0, "what is shown has become markup")
  expect((await widthOf(page)) === before, "what is printed has moved the layout")
  expect(!/[123]/.test(await page.title()), "what is shown has run")
}

/** Notes what is notified of. As text: what the compiler makes of a class runs in Node alone. */
const recorder = `
  window.given = []
  const Real = Notification
  window.Notification = class extends Real {
    constructor(title, options) {
      super(title, options)
      given.push(title + ": " + options.body)
    }
  }
  document.hasFocus = () => false
`

const notifying: Step = async ({ context, session }) => {
  const page = await openPage(daemon, context, watched)
  await page.addInitScript({ content: recorder })
  await page.reload()
  await isLive(page)
  expect(await page.getByRole("button", { name: "Notify me" }).isVisible(), "it does not offer to notify")
  await context.grantPermissions(["notifications"])
  await page.reload()
  await isLive(page)
  expect(await page.getByRole("button", { name: "Notify me" }).isHidden(), "it offers to notify where it may already")
  const id = await bash(session, "echo notified")
  await asked(page)
  const given = await page.evaluate(() => (window as unknown as { given: ReadonlyArray<string> }).given)
  expect(given.join() === `bash waits for your answer: ${project}`, `it notifies by ${JSON.stringify(given)}`)
  await page.getByRole("button", { name: "Deny" }).click()
  await hasEnded(session, id, "denied")
  await page.close()
}

/** How long the frames of a page take, in milliseconds and sorted, for five seconds; and its tasks over 50. */
const frames = (
  page: Page
): Promise<{ readonly frames: ReadonlyArray<number>; readonly tasks: ReadonlyArray<number> }> =>
  page.evaluate(async () => {
    const frames: Array<number> = []
    const tasks: Array<number> = []
    const observer = new PerformanceObserver((list) => {
      for (const { duration } of list.getEntries()) tasks.push(duration)
    })
    observer.observe({ type: "longtask" })
    const end = performance.now() + 5000
    let last = performance.now()
    while (last < end) {
      await new Promise(requestAnimationFrame)
      frames.push(performance.now() - last)
      last = performance.now()
    }
    observer.disconnect()
    return { frames: frames.sort((a, b) => a - b), tasks: tasks.sort((a, b) => a - b) }
  })

/**
 * Lets a page have events that no daemon here is quick enough for, in between those that it has. As text: what the
 * compiler makes of it runs in Node alone.
 */
const flood = `
  const real = fetch
  window.fetch = async (input, init) => {
    const response = await real(input, init)
    if (input !== "/v1/events" || !response.ok) return response
    const encoder = new TextEncoder()
    const body = response.body.pipeThrough(new TransformStream({
      start: (controller) => {
        window.flood = (sessions, perSecond, seconds) => {
          const start = performance.now()
          let sent = 0
          const emit = (event) => controller.enqueue(encoder.encode("data: " + JSON.stringify(event) + "\\n\\n"))
          for (const session_id of sessions) {
            emit({ event: "started", id: session_id + "-1", session_id, tool: "bash", risk: "process", seq: 1 })
          }
          const timer = setInterval(() => {
            const due = Math.min(seconds, (performance.now() - start) / 1000) * perSecond
            for (; sent < due; sent++) {
              const session_id = sessions[sent % sessions.length]
              const text = "line " + Math.floor(sent / sessions.length) + " \\u001b[32mof what is printed\\u001b[0m\\n"
              emit({ event: "progress", id: session_id + "-1", session_id, text, seq: sent + 2 })
            }
            if (sent >= perSecond * seconds) clearInterval(timer)
          }, 10)
        }
      }
    }))
    return new Response(body, { status: response.status, headers: response.headers })
  }
`

const smooth = async (page: Page, sessions: ReadonlyArray<string>, what: string): Promise<void> => {
  const perSecond = 1000
  const seconds = 5
  await page.evaluate(`flood(${JSON.stringify(sessions)}, ${perSecond}, ${seconds})`)
  const { frames: all, tasks } = await frames(page)
  const longest = all.at(-1) ?? Number.POSITIVE_INFINITY
  const median = all[Math.floor(all.length / 2)] ?? Number.POSITIVE_INFINITY
  console.log(
    `${what}, ${perSecond} events a second: ${(all.length / seconds).toFixed(0)} frames a second, half of them within ` +
      `${median.toFixed(0)} ms, the longest ${longest.toFixed(0)} ms; ${tasks.length} tasks over 50 ms, the longest ` +
      `${(tasks.at(-1) ?? 0).toFixed(0)} ms`
  )
  expect(longest < 1000, `${what}, a frame under many events takes longer than 1 s`)
  const last = `line ${(perSecond * seconds) / sessions.length - 1} `
  await page.locator(".output:visible").first().filter({ hasText: last }).waitFor()
}

/** Calls that print, ten times a second each, all at once: as fast as the daemon hands output on. */
const printing: Step = async ({ page, session }) => {
  const many = await Promise.all(Array.from({ length: 20 }, openSession))
  // A reader of an empty FIFO waits without a process of its own.
  execFileSync("mkfifo", [path.join(project, "empty")])
  const ticking = 'exec 3<>empty; while :; do echo "line $((n++))"; read -t 0.09 -u 3; done'
  const ticks = await Promise.all(many.map((id) => bash(id, ticking)))
  await questionsOn(page, many.length)
  await picture(page, "many-questions")
  await approveAll()
  await questionsOn(page, 0)
  await page.evaluate(() => {
    for (const details of document.querySelectorAll("#active-list details")) details.setAttribute("open", "")
  })
  const last = page.getByLabel(`output of ${ticks.at(-1)}`)
  // It moves, as what is above comes to be drawn.
  await eventually("the output of the last one is drawn", async () => {
    await last.scrollIntoViewIfNeeded()
    return (await last.textContent())?.includes("line 40") === true
  })
  const text = ((await last.textContent()) ?? "").trimEnd().split("\n").slice(-20)
  const from = Number(text[0]?.slice("line ".length))
  expect(text.join() === text.map((_, index) => `line ${from + index}`).join(), `live output is garbled: ${text}`)
  const isAtEnd = await last.evaluate((node) => node.scrollTop + node.clientHeight >= node.scrollHeight - 40)
  expect(isAtEnd, "the end of live output is not what is shown")
  await picture(page, "printing")
  for (const [index, id] of many.entries()) {
    await daemon.ask(`/v1/sessions/${id}/calls/${ticks[index]}`, { method: "DELETE" })
  }
  await Promise.all(many.map((id, index) => hasEnded(id, ticks[index] ?? "", "cancelled")))
  // One that was over before anybody looked is told whole.
  const quick = await bash(session, "seq 20000")
  await asked(page)
  await page.evaluate(() => scrollTo({ top: 0, behavior: "instant" }))
  await page.getByRole("button", { name: "Approve" }).click()
  await hasEnded(session, quick, "completed")
  await page.getByLabel(`output of ${quick}`).filter({ hasText: "20000" }).waitFor()
}

const flooding: Step = async ({ context }) => {
  const many = await Promise.all(Array.from({ length: 100 }, openSession))
  const page = await openPage(daemon, context, watched)
  await page.addInitScript({ content: flood })
  await page.reload()
  await isLive(page)
  await eventually("the sessions are listed", async () => (await page.locator(".session").count()) > many.length)
  await smooth(page, many, "with a few sessions unfolded")
  await page.evaluate(() => {
    for (const details of document.querySelectorAll("#active-list details")) details.setAttribute("open", "")
  })
  await smooth(page, many, "with all 100 unfolded")
  await smooth(page, many.slice(0, 1), "by one call")
  await picture(page, "flood")
  const lengths = await page.locator(".output").evaluateAll((boxes) => boxes.map((box) => box.textContent?.length ?? 0))
  expect(
    lengths.every((length) => length < 100_000),
    "the output is not bounded"
  )
  await page.close()
}

const listing: Step = async ({ page, session }) => {
  const { sessions } = await daemon.ask("/v1/sessions")
  await Promise.all(Array.from({ length: 200 - sessions.length }, openSession))
  await eventually("200 sessions are listed", async () => (await page.locator(".session").count()) === 200)
  await page.reload()
  await isLive(page)
  await eventually("200 sessions are listed again", async () => (await page.locator(".session").count()) === 200)
  await page.locator("#idle > summary").click()
  await page.getByLabel("Filter").fill(session)
  await eventually("one is left", async () => (await page.locator(".session:visible").count()) === 1)
  await page.getByLabel("Filter").fill("")
}

const searching: Step = async ({ page }) => {
  await page.getByLabel("Text").fill("raced >> raced")
  await page.keyboard.press("Enter")
  await eventually("one record is found", async () => (await page.locator(".record").count()) === 1)
  await page.locator(".record summary").click()
  await page.locator(".record .box").waitFor()
  await picture(page, "record")
  expect((await page.locator(".record .box").textContent())?.includes("raced") === true, "a record is not shown")
  await page.getByLabel("Text").fill("")
  await page.getByLabel("Tool").fill("write")
  await page.getByRole("button", { name: "Search" }).click()
  await eventually("two writes are found", async () => (await page.locator(".record").count()) === 2)
  await page.getByLabel("Tool").fill("")
  await page.getByRole("button", { name: "Search" }).click()
}

const looking: Step = async ({ page, session }) => {
  fs.writeFileSync(path.join(project, "notes.txt"), "# Notes\n\none\ntwo\nthree\nfour\nfive\n")
  const [one, two, three] = [await openSession(), await openSession(), await openSession()]
  const building = await bash(two, 'for i in $(seq 60); do echo "[$i/60] compiling module $i"; done; sleep 300')
  await asked(page)
  await approveAll()
  await page.getByText("[60/60] compiling").first().waitFor()
  await bash(one, "make test && git push origin main")
  await call(three, "write", {
    path: "notes.txt",
    content: "# Notes\n\none\n2\nthree\nfour\nfive\nsix\n",
    mode: "replace"
  })
  await bash(
    session,
    "npm ci\nnpm test -- --coverage\nfor host in web1 web2 web3; do\n  rsync -a --delete dist/ deploy@$host:/srv/www/\ndone"
  )
  await asked(page, 3)

  const views = [
    { name: "light", width: 1440, height: 1000, colorScheme: "light" },
    { name: "dark", width: 1440, height: 1000, colorScheme: "dark" },
    { name: "wide", width: 2200, height: 1200, colorScheme: "light" },
    { name: "tablet", width: 820, height: 1100, colorScheme: "light" },
    { name: "phone", width: 360, height: 740, colorScheme: "light" },
    { name: "phone-dark", width: 360, height: 740, colorScheme: "dark" },
    { name: "narrow", width: 320, height: 640, colorScheme: "light" }
  ] as const
  for (const { colorScheme, height, name, width } of views) {
    await page.setViewportSize({ width, height })
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" })
    await page.evaluate(() => scrollTo({ top: 0, behavior: "instant" }))
    expect((await widthOf(page)) <= width, `${name}: it scrolls sideways`)
    // It looks at each of 200 sessions; what differs are the colours and the place of things.
    const found = ["light", "dark", "phone"].includes(name) ? await accessibility(page) : []
    for (const violation of found) {
      if (/^(serious|critical)/.test(violation)) faults.push(`${name}: axe: ${violation}`)
      else console.log(`${name}: axe: ${violation}`)
    }
    await picture(page, name)
    for (const place of ["sessions", "history", "diff"]) {
      await page.evaluate((id) => {
        const found = document.getElementById(id) ?? document.querySelector(`article:has(.${id})`)
        found?.scrollIntoView()
      }, place)
      await picture(page, `${name}-${place}`)
    }
  }
  await page.setViewportSize({ width: 1440, height: 1000 })
  await page.emulateMedia({ colorScheme: "light" })
  await page.evaluate(() => scrollTo({ top: 0, behavior: "instant" }))
  for (const { approval_id } of (await daemon.ask("/v1/approvals")).approvals) {
    await daemon.ask(`/v1/approvals/${approval_id}`, { json: { decision: "deny" } })
  }
  await questionsOn(page, 0)
  await picture(page, "nothing-waits")
  await daemon.ask(`/v1/sessions/${two}/calls/${building}`, { method: "DELETE" })
  await hasEnded(two, building, "cancelled")
}

const isLost = (page: Page, why: string) => page.locator("#lost").filter({ hasText: why }).waitFor()

const restarting: Step = async ({ page, session }) => {
  await bash(session, "echo unanswered")
  await asked(page)
  const { port } = new URL(page.url())
  await daemon.stop()
  await isLost(page, "does not answer")
  const answerable = await page.locator("article .approve:enabled").count()
  expect(answerable === 0, "one can answer a daemon that is gone")
  await picture(page, "lost")

  // Whoever takes the port meanwhile gets no cookie.
  const heads: Array<http.IncomingHttpHeaders> = []
  const impostor = http.createServer((request, response) => {
    heads.push(request.headers)
    response.end("data: {}\n\n")
  })
  await new Promise<void>((resolve) => impostor.listen({ host: "127.0.0.1", port: Number(port) }, resolve))
  await isLost(page, "Something else answers")
  expect(heads.length > 0, "the impostor was not asked")
  expect(
    heads.every(({ cookie }) => cookie === undefined),
    "an impostor got the cookie"
  )
  impostor.closeAllConnections()
  await new Promise((resolve) => impostor.close(resolve))

  daemon = await start()
  await isLive(page)
  await questionsOn(page, 0)
  await eventually("the sessions of before are gone", async () => (await page.locator(".session").count()) === 0)
  const next = await openSession()
  const yes = await bash(next, "echo again")
  await asked(page)
  await page.getByRole("button", { name: "Approve" }).click()
  await hasEnded(next, yes, "completed")
}

const signingOut: Step = async ({ context, page }) => {
  await daemon.stop()
  fs.rmSync(path.join(home, "state/browsers"))
  daemon = await start(["--listen", `127.0.0.1:${new URL(page.url()).port}`])
  // The key is a new one: it is another daemon as far as the page can know.
  await isLost(page, "Something else answers")
  await page.reload()
  expect(
    ((await page.locator("body").textContent()) ?? "").includes("scv daemon open"),
    "it does not say how to sign in"
  )
  const other = await openPage(daemon, context, watched)
  await page.reload()
  await isLive(page)
  await context.clearCookies()
  await daemon.stop()
  daemon = await start()
  await isLost(page, "signed out")
  await picture(page, "signed-out")
  await other.close()
}

const steps: ReadonlyArray<readonly [name: string, seconds: number, step: Step]> = [
  ["painting", 30, painting],
  ["keys", 60, keys],
  ["buttons", 60, buttons],
  ["race", 60, race],
  ["hostile text", 90, hostile],
  ["notifying", 60, notifying],
  ["printing", 120, printing],
  ["flooding", 120, flooding],
  ["200 sessions", 60, listing],
  ["history", 60, searching],
  ["looking", 180, looking],
  ["restarting", 90, restarting],
  ["signing out", 90, signingOut]
]

const within = <A>(seconds: number, run: Promise<A>): Promise<A> => {
  let timer: ReturnType<typeof setTimeout>
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`takes longer than ${seconds} s`)), seconds * 1000)
  })
  return Promise.race([run, late]).finally(() => clearTimeout(timer))
}

const check = async (browser: Browser): Promise<void> => {
  const context = await browser.newContext({ viewport: { width: 1440, height: 1000 }, colorScheme: "light" })
  const page = await openPage(daemon, context, watched)
  const world = { context, page, session: await openSession() }
  for (const [name, seconds, step] of steps) {
    const began = performance.now()
    try {
      await within(seconds, step(world))
    } catch (error) {
      faults.push(`${name}: ${String(error).split("\n").slice(0, 4).join(" ").slice(0, 400)}`)
      await picture(page, "fault")
      return
    }
    console.log(`${name}: ${((performance.now() - began) / 1000).toFixed(1)} s`)
  }
  expect(watched.foreign.length === 0, `the page asks elsewhere: ${watched.foreign[0]}`)
  expect(watched.complaints.length === 0, `the console says: ${watched.complaints[0]?.slice(0, 300)}`)
}

try {
  const browser = await launch()
  try {
    await check(browser)
  } finally {
    await browser.close()
  }
} catch (error) {
  faults.push(String(error).slice(0, 600))
} finally {
  await daemon.stop()
  fs.rmSync(root, { recursive: true, force: true })
}
for (const fault of faults.slice(0, 12)) console.log(`FAULT ${fault}`)
process.exitCode = faults.length > 0 ? 1 : 0
