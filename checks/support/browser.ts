/** Debian's Chromium, headless, and pages of a daemon in it. */
import * as fs from "node:fs"
import * as path from "node:path"
import axe from "axe-core"
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core"
import type { Daemon } from "./daemon.ts"

const executable = (): string => {
  const places = [
    process.env.CHROMIUM ?? "",
    ...(process.env.PATH ?? "").split(":").map((place) => path.join(place, "chromium"))
  ]
  const found = places.find((place) => place !== "" && fs.existsSync(place))
  if (found === undefined) throw new Error("there is no chromium: apt-get install chromium, or name one in CHROMIUM")
  return found
}

/** Its sandbox needs what a container has not; it sees no page but the daemon's. */
export const launch = (): Promise<Browser> =>
  chromium.launch({ executablePath: executable(), args: ["--no-sandbox", "--disable-dev-shm-usage"] })

/** What pages did that they may not. */
export interface Watched {
  /** Requests to another origin. */
  readonly foreign: Array<string>
  /** What the console said, but for requests that were refused or came to nobody. */
  readonly complaints: Array<string>
}

const isExpected = (text: string): boolean =>
  /^Failed to load resource: (?:net::ERR_|the server responded with a status of (?:401|409) )/.test(text)

/** Opens the page by a one-time address, and waits until it is live. */
export const openPage = async (daemon: Daemon, context: BrowserContext, watched: Watched): Promise<Page> => {
  const page = await context.newPage()
  page.setDefaultTimeout(15_000)
  const { url } = await daemon.ask("/v1/page", { json: {} })
  const { origin } = new URL(url)
  page.on("request", (request) => {
    if (!request.url().startsWith(`${origin}/`)) watched.foreign.push(request.url())
  })
  page.on("console", (message) => {
    const isBad = message.type() === "error" || message.type() === "warning"
    if (isBad && !isExpected(message.text())) watched.complaints.push(message.text())
  })
  page.on("pageerror", (error) => watched.complaints.push(error.message))
  await page.goto(url)
  await isLive(page)
  if (page.url() !== `${origin}/`) throw new Error("the address keeps something of the ticket")
  return page
}

export const isLive = (page: Page): Promise<void> => page.locator("#connection[data-state=live]").waitFor()

interface Violation {
  readonly id: string
  readonly impact: string
  readonly nodes: ReadonlyArray<{ readonly html: string; readonly failureSummary: string }>
}

/** What axe finds, a line each. */
export const accessibility = async (page: Page): Promise<ReadonlyArray<string>> => {
  // Put in by the debugger, so that the page's policy stays as it is.
  await page.evaluate(axe.source)
  const { violations } = (await page.evaluate("axe.run()")) as { violations: ReadonlyArray<Violation> }
  return violations.map(
    ({ id, impact, nodes }) =>
      `${impact}: ${id}: ${nodes[0]?.html.slice(0, 100)}: ${nodes[0]?.failureSummary.replace(/\s+/g, " ").slice(0, 200)}`
  )
}
