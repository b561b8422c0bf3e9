/**
 * The daemon's page in a real browser, headless Chromium: approve, deny, cancel, two pages that race, a restart below an
 * open page, hostile and endless output, 200 sessions, accessibility, and how long it takes. The argument names a directory
 * for screenshots. CHROMIUM names the browser; else that of the PATH is used.
 */
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as http from "node:http"
import { createRequire } from "node:module"
import * as os from "node:os"
import * as path from "node:path"
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core"
import { type Daemon, startDaemon, wait } from "./support/daemon.ts"

const shots = process.argv[2]
const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js")

const executable = (): string => {
  const places = [
    process.env.CHROMIUM ?? "",
    ...(process.env.PATH ?? "").split(":").map((place) => path.join(place, "chromium"))
  ]
  const found = places.find((place) => place !== "" && fs.existsSync(place))
  if (found === undefined) throw new Error("there is no chromium: apt-get install chromium, or name one in CHROMIUM")
  return found
}

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

const home = fs.mkdtempSync(path.join(os.tmpdir(), "scv-page-"))
const project = fs.mkdtempSync(path.join(os.tmpdir(), "scv-page-project-"))
let daemon: Daemon = await startDaemon({ home })

const openSession = async (): Promise<string> =>
  (await daemon.ask("/v1/sessions", { json: { workspace: project } })).session_id

const call = async (session: string, tool: string, input: unknown): Promise<string> =>
  (await daemon.ask(`/v1/sessions/${session}/calls`, { json: { tool, input, detach: true } })).call_id

const bash = (session: string, command: string) => call(session, "bash", { command })

const callOf = (session: string, id: string) => daemon.ask(`/v1/sessions/${session}/calls/${id}`)

const asked = (page: Page) => page.locator("article").count()

const waitFor = (page: Page, count: number) =>
  eventually(`${count} questions on the page`, async () => (await asked(page)) === count)

const ended = async (session: string, id: string, status: string): Promise<void> => {
  await eventually(`${id} has ended`, async () => (await callOf(session, id)).state === "ended")
  const { result } = await callOf(session, id)
  expect(result.status === status, `${id} is ${result.status}, not ${status}`)
}

const approveAll = async (): Promise<void> => {
  const { approvals } = await daemon.ask("/v1/approvals")
  for (const { approval_id } of approvals) {
    await daemon.ask(`/v1/approvals/${approval_id}`, { json: { decision: "approve" } })
  }
}

/** Counts the events of a daemon from now on. */
const counter = () => {
  const state = { count: 0 }
  const request = http.get({ socketPath: daemon.socketPath, path: "/v1/events", agent: false }, (response) => {
    response.setEncoding("utf8").on("data", (text: string) => {
      state.count += text.split("id: ").length - 1
    })
    response.on("error", () => {})
  })
  request.on("error", () => {})
  return { state, stop: () => request.destroy() }
}

/** Long enough that a key is an answer to what is shown. */
const settle = () => wait(600)

let isRestarting = false
const foreign: Array<string> = []
const complaints: Array<string> = []

const openPage = async (context: BrowserContext): Promise<Page> => {
  const page = await context.newPage()
  page.setDefaultTimeout(15_000)
  const { url } = await daemon.ask("/v1/page", { json: {} })
  const { origin } = new URL(url)
  page.on("request", (request) => {
    if (!request.url().startsWith(origin)) foreign.push(request.url())
  })
  page.on("console", (message) => {
    if (!isRestarting && (message.type() === "error" || message.type() === "warning")) complaints.push(message.text())
  })
  page.on("pageerror", (error) => complaints.push(error.message))
  await page.goto(url)
  await page.locator("#connection[data-state=live]").waitFor()
  expect(page.url() === `${origin}/`, "the address keeps something of the ticket")
  return page
}

const picture = async (page: Page, name: string): Promise<void> => {
  if (shots !== undefined) await page.screenshot({ path: path.join(shots, `${name}.png`) })
}

const accessible = async (page: Page, what: string): Promise<void> => {
  // Injected by the debugger, so that the page's policy stays as it is.
  await page.evaluate(fs.readFileSync(axe, "utf8"))
  const { violations } = (await page.evaluate("axe.run()")) as {
    violations: ReadonlyArray<{
      id: string
      impact: string
      nodes: ReadonlyArray<{ html: string; failureSummary: string }>
    }>
  }
  for (const { id, impact, nodes } of violations) {
    const where = `${nodes[0]?.html.slice(0, 100)}: ${nodes[0]?.failureSummary.slice(0, 200)}`
    if (impact === "serious" || impact === "critical") faults.push(`${what}: ${id}: ${where}`)
    else console.log(`axe, ${impact}: ${id}`)
  }
}

const check = async (browser: Browser): Promise<void> => {
  const wide = await browser.newContext({ viewport: { width: 1500, height: 1000 }, colorScheme: "light" })
  const page = await openPage(wide)
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 1e9)
  await page.reload()
  await page.locator("#connection[data-state=live]").waitFor()
  const again = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 1e9)
  console.log(`first paint: ${paint.toFixed(0)} ms, then ${again.toFixed(0)} ms`)
  expect(Math.min(paint, again) < 500, "the first paint takes longer than 500 ms")

  const session = await openSession()

  // By key, and by nothing that comes too soon
  const yes = await bash(session, "echo hello; echo done")
  await page.locator("article").waitFor()
  await page.evaluate(() => {
    const question = document.querySelector("article")
    question?.focus()
    question?.dispatchEvent(new KeyboardEvent("keydown", { key: "a", bubbles: true }))
  })
  await wait(100)
  expect((await callOf(session, yes)).state === "asking", "a key that was pressed too soon has answered")
  expect((await page.title()).startsWith("(1) "), "the title does not say that something waits")
  expect(
    (await page.locator("#icon").getAttribute("href")) === "/page/icon-waiting.svg",
    "the icon does not show that something waits"
  )
  await settle()
  await page.keyboard.press("q")
  await page.keyboard.press("a")
  await ended(session, yes, "completed")
  await waitFor(page, 0)
  expect((await page.title()) === "SCV", "the title says that something waits")
  await page.getByText("hello").first().waitFor()

  // By button, with a reason
  const no = await call(session, "write", { path: "a.txt", content: "one\ntwo\n", mode: "create" })
  await page.locator("article").waitFor()
  await settle()
  await page.getByLabel("Reason").fill("a and d in a reason")
  await page.getByRole("button", { name: "Deny" }).click()
  await ended(session, no, "denied")
  expect(
    JSON.stringify((await callOf(session, no)).result).includes("a and d in a reason"),
    "the caller is not told the reason"
  )

  // Cancelling what runs
  const long = await bash(session, "echo started; sleep 600")
  await page.locator("article").waitFor()
  await settle()
  await page.getByRole("button", { name: "Approve" }).click()
  await page.getByText("started", { exact: true }).waitFor()
  await page.getByRole("button", { name: `Cancel ${long}` }).click()
  await ended(session, long, "cancelled")

  // Two pages, one question
  const other = await openPage(wide)
  const raced = await bash(session, "echo raced >> raced")
  await Promise.all([page.locator("article").waitFor(), other.locator("article").waitFor()])
  await settle()
  await Promise.all([
    page.getByRole("button", { name: "Approve" }).click(),
    other.getByRole("button", { name: "Approve" }).click()
  ])
  await ended(session, raced, "completed")
  await Promise.all([waitFor(page, 0), waitFor(other, 0)])
  expect(fs.readFileSync(path.join(project, "raced"), "utf8") === "raced\n", "one approval has run twice")
  complaints.splice(0, complaints.length, ...complaints.filter((text) => !text.includes("409")))
  await other.close()

  // Hostile text, in the question and in the output
  const markup = `<img src=x onerror="document.title=1"><script>document.title=2</script>`
  const evil = String.raw`head -c 65536 /dev/zero | tr '\0' W; printf '\n${markup}\033[2J\xe2\x80\xaeabc\xe2\x80\x8b\007\n'`
  const width = () => page.evaluate(() => document.documentElement.scrollWidth)
  const before = await width()
  const hostile = await bash(session, `# \u202e<b>bold</b>\u001b[31m ${"x".repeat(5000)}\n${evil}`)
  await page.locator("article").waitFor()
  const shown = (await page.locator("article .box").first().textContent()) ?? ""
  expect(shown.includes(String.raw`\u{202e}<b>bold</b>\x1b[31m`), "what is asked is not shown escaped")
  expect((await width()) === before, "a question has moved the layout")
  await settle()
  await page.getByRole("button", { name: "Approve" }).click()
  await ended(session, hostile, "completed")
  await page.getByText(String.raw`\x1b[2J\u{202e}abc\u{200b}\x07`).first().waitFor()
  expect((await page.locator("main img, main script, main b").count()) === 0, "what is printed has become markup")
  expect((await width()) === before, "what is printed has moved the layout")
  expect(!["1", "2"].includes(await page.title()), "what is printed has run")

  // 1,000 events a second
  const many = await Promise.all(Array.from({ length: 100 }, openSession))
  // A reader of an empty FIFO waits without a process of its own.
  execFileSync("mkfifo", [path.join(project, "empty")])
  const ticking = 'exec 3<>empty; while :; do echo "line $((n++))"; read -t 0.09 -u 3; done'
  const ticks = await Promise.all(many.map((id) => bash(id, ticking)))
  await eventually("all ask", async () => (await daemon.ask("/v1/approvals")).approvals.length === many.length)
  await approveAll()
  await page.locator(".output").filter({ hasText: "line 20" }).nth(99).waitFor()
  const events = counter()
  const busy = (await page.evaluate(async () => {
    const frames: Array<number> = []
    const end = performance.now() + 5000
    let last = performance.now()
    while (last < end) {
      await new Promise(requestAnimationFrame)
      frames.push(performance.now() - last)
      last = performance.now()
    }
    return frames.sort((a, b) => a - b)
  })) as ReadonlyArray<number>
  const perSecond = events.state.count / 5
  events.stop()
  const longest = busy.at(-1)!
  const lines = await page.locator(".output").evaluateAll((boxes) => boxes.map((box) => box.textContent?.length))
  console.log(
    `under ${perSecond.toFixed(0)} events a second: ${(busy.length / 5).toFixed(0)} frames a second, the longest ${longest.toFixed(0)} ms`
  )
  expect(longest < 1000, "a frame under many events takes longer than 1 s")
  expect(
    lines.every((length) => (length ?? 0) < 100_000),
    "the output is not bounded"
  )
  for (const [index, id] of many.entries())
    await daemon.ask(`/v1/sessions/${id}/calls/${ticks[index]}`, { method: "DELETE" })
  await Promise.all(many.map((id, index) => ended(id, ticks[index]!, "cancelled")))

  // 200 sessions
  await Promise.all(Array.from({ length: 200 }, openSession))
  await eventually("200 sessions are listed", async () => (await page.locator(".session").count()) >= 301)
  await page.getByLabel("Filter").fill(session)
  await eventually("one is left", async () => (await page.locator(".session:visible").count()) === 1)
  await page.getByLabel("Filter").fill("")

  // History
  await page.getByLabel("Text").fill("raced >> raced")
  await page.getByRole("button", { name: "Search" }).click()
  await eventually("one record is found", async () => (await page.locator(".record").count()) === 1)
  await page.locator(".record summary").click()
  await page.locator(".record .box").waitFor()

  // What it looks like, and to whom
  fs.writeFileSync(path.join(project, "notes.txt"), "one\ntwo\nthree\n")
  await bash(session, "make test && git push origin main")
  await call(many[0]!, "write", { path: "notes.txt", content: "one\n2\nthree\nfour\n", mode: "replace" })
  await bash(many[1]!, "echo building; for i in $(seq 40); do echo step $i; done; sleep 60")
  await waitFor(page, 3)
  const { approvals } = await daemon.ask("/v1/approvals")
  const building = approvals.find(({ summary }: { summary: string }) => summary.includes("building"))
  await daemon.ask(`/v1/approvals/${building.approval_id}`, { json: { decision: "approve" } })
  await waitFor(page, 2)
  await page.getByText("step 40").first().waitFor()
  await page.getByText("The whole plan").first().click()
  await settle()
  await accessible(page, "light")
  await picture(page, "light")
  await page.emulateMedia({ colorScheme: "dark" })
  await accessible(page, "dark")
  await picture(page, "dark")
  await page.setViewportSize({ width: 360, height: 760 })
  expect((await width()) <= 360, "a phone has to scroll sideways")
  await accessible(page, "phone")
  await picture(page, "phone")
  await page.locator("#sessions-title").scrollIntoViewIfNeeded()
  await page.evaluate(() => document.getElementById("sessions-title")?.scrollIntoView())
  await picture(page, "phone-sessions")
  await page.setViewportSize({ width: 1500, height: 1000 })
  await page.evaluate(() => document.getElementById("sessions-title")?.scrollIntoView())
  await picture(page, "dark-sessions")

  expect(foreign.length === 0, `the page asks elsewhere: ${foreign[0]}`)
  expect(complaints.length === 0, `the console says: ${complaints[0]?.slice(0, 300)}`)

  // A restart below the open page: it says so, lets nothing be answered, and comes back with the next sign-in
  isRestarting = true
  const port = new URL(page.url()).port
  await daemon.stop()
  await page.locator("#connection[data-state=lost]").waitFor()
  expect(
    await page
      .getByRole("button", { name: "Approve" })
      .first()
      .isDisabled()
      .catch(() => true),
    "one can answer nobody"
  )
  await picture(page, "lost")
  daemon = await startDaemon({ home, args: ["--listen", `127.0.0.1:${port}`] })
  await page.getByText("signed out").waitFor()
  const { url } = await daemon.ask("/v1/page", { json: {} })
  const fresh = await wide.newPage()
  await fresh.goto(url)
  await page.locator("#connection[data-state=live]").waitFor()
  await waitFor(page, 0)
  await eventually("the old sessions are gone", async () => (await page.locator(".session").count()) === 0)
}

const browser = await chromium.launch({ executablePath: executable(), args: ["--no-sandbox"] })
try {
  await check(browser)
} catch (error) {
  faults.push(String(error).slice(0, 600))
  for (const context of browser.contexts()) for (const page of context.pages()) await picture(page, "fault")
} finally {
  await browser.close()
  await daemon.stop()
  for (const directory of [home, project]) fs.rmSync(directory, { recursive: true, force: true })
}
for (const fault of faults.slice(0, 8)) console.log(`FAULT ${fault}`)
process.exitCode = faults.length > 0 ? 1 : 0
