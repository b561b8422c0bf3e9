/**
 * Keeps a daemon busy for ten minutes (or as many seconds as the argument says): sessions that come and go, reads,
 * programs, questions answered and left, clients that leave, readers of events that come, drop and get stuck. Its memory
 * and its descriptors must come to rest.
 */
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as http from "node:http"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"

const seconds = Number(process.argv[2] ?? 600)
const home = fs.mkdtempSync(path.join(os.tmpdir(), "scv-soak-"))
fs.writeFileSync(path.join(home, "file"), "content\n")
const socketPath = path.join(home, "state/scvd.sock")
const scvd = fileURLToPath(new URL("../apps/daemon/dist/scvd.js", import.meta.url))
const log = fs.openSync(path.join(home, "log"), "a")
const daemon = spawn(process.execPath, [scvd], { env: { ...process.env, SCV_HOME: home }, stdio: ["ignore", log, log] })

const wait = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

const ask = (method: string, target: string, body?: unknown, leaveAfter?: number): Promise<any> =>
  new Promise((resolve) => {
    const headers = body === undefined ? {} : { "content-type": "application/json" }
    const request = http.request({ socketPath, path: target, method, headers, agent: false }, (response) => {
      let text = ""
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part
      })
      response.on("end", () => resolve({ status: response.statusCode, ...JSON.parse(text) }))
      response.on("error", () => resolve(undefined))
    })
    request.on("error", () => resolve(undefined))
    request.end(body === undefined ? undefined : JSON.stringify(body))
    if (leaveAfter !== undefined) setTimeout(() => request.destroy(), leaveAfter)
  })

const faults: Array<string> = []
const until = Date.now() + seconds * 1000
let rounds = 0

/** One client's life. */
const live = async (): Promise<void> => {
  while (Date.now() < until) {
    const opened = await ask("POST", "/v1/sessions", { workspace: home })
    if (opened?.session_id === undefined) {
      faults.push(`open: ${JSON.stringify(opened)}`)
      return
    }
    const calls = `/v1/sessions/${opened.session_id}/calls`
    for (let i = 0; i < 10; i++) {
      const read = await ask("POST", calls, { tool: "read", input: { path: "file" } })
      if (read?.status !== "completed") faults.push(`read: ${JSON.stringify(read)}`)
    }
    // Left while it waits for an answer, or while it runs.
    await ask("POST", calls, { tool: "bash", input: { command: "sleep 30" } }, Math.random() * 200)
    await ask("POST", calls, { tool: "bash", input: { command: "echo hi; sleep 0.01" }, detach: true })
    await wait(20)
    await ask("DELETE", `/v1/sessions/${opened.session_id}`)
    rounds++
  }
}

/** Approves, denies, or leaves what is asked. */
const answer = async (): Promise<void> => {
  while (Date.now() < until) {
    const { approvals } = (await ask("GET", "/v1/approvals")) ?? { approvals: [] }
    for (const { approval_id } of approvals) {
      const chance = Math.random()
      if (chance < 0.8) {
        await ask("POST", `/v1/approvals/${approval_id}`, { decision: chance < 0.5 ? "approve" : "deny" })
      }
    }
    await wait(20)
  }
}

/** Readers that read, that drop, and that are stuck. */
const listen = async (isStuck: boolean): Promise<void> => {
  while (Date.now() < until) {
    const socket = net.connect(socketPath)
    socket.on("error", () => {})
    socket.write("GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n")
    if (isStuck) socket.pause()
    else socket.resume()
    await wait(isStuck ? 20_000 : Math.random() * 3000)
    socket.destroy()
  }
}

interface Sample {
  readonly resident: number
  readonly descriptors: number
}

const sample = (): Sample => ({
  resident: Number(/^VmRSS:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${daemon.pid}/status`, "utf8"))?.[1]) / 1024,
  descriptors: fs.readdirSync(`/proc/${daemon.pid}/fd`).length
})

const samples: Array<Sample> = []
const watch = async (): Promise<void> => {
  while (Date.now() < until) {
    await wait((seconds * 1000) / 40)
    if (Date.now() < until) samples.push(sample())
  }
}

const least = (of: keyof Sample, part: ReadonlyArray<Sample>): number => Math.min(...part.map((one) => one[of]))

try {
  while ((await ask("GET", "/v1/health")) === undefined) await wait(20)
  const idle = sample()
  await Promise.all([live(), live(), live(), live(), answer(), listen(false), listen(true), watch()])
  while (((await ask("GET", "/v1/health"))?.sessions ?? 0) > 0) await wait(50)
  await wait(3000)
  const end = sample()
  // The first half warms up: heaps grow to their working size, and the events that are kept fill their share.
  const middle = samples.length >> 1
  const [early, late] = [samples.slice(middle, middle + 5), samples.slice(-5)]
  console.log(`${rounds} sessions in ${seconds} s`)
  console.log(`  descriptors: ${idle.descriptors} idle, ${end.descriptors} at rest in the end`)
  console.log(
    `  resident MiB: ${idle.resident.toFixed(0)} idle, ${least("resident", early).toFixed(0)} half way, ${least("resident", late).toFixed(0)} late`
  )
  if (end.descriptors > idle.descriptors + 80) faults.push("descriptors grow")
  if (least("resident", late) > least("resident", early) * 1.25 + 16) faults.push("memory grows")
  if (/ broke|fault of/.test(fs.readFileSync(path.join(home, "log"), "utf8"))) faults.push("the log tells of a fault")
} catch (error) {
  faults.push(String(error))
} finally {
  daemon.kill("SIGTERM")
  const code = await new Promise((resolve) => daemon.once("exit", resolve))
  if (code !== 0) faults.push(`the daemon ended with ${code}`)
  fs.rmSync(home, { recursive: true, force: true })
}
for (const fault of faults.slice(0, 5)) console.log(`FAULT ${fault.slice(0, 300)}`)
process.exitCode = faults.length > 0 ? 1 : 0
