/**
 * Keeps a daemon busy for ten minutes (or as many seconds as the argument says): sessions that come and go, reads,
 * programs, questions answered and left, clients that leave, readers of events that come, drop and get stuck. Its memory
 * and its descriptors must come to rest.
 */
import * as net from "node:net"
import { startDaemon, wait } from "./support/daemon.ts"

const seconds = Number(process.argv[2] ?? 600)
const daemon = await startDaemon()
const faults: Array<string> = []
const until = Date.now() + seconds * 1000
let rounds = 0

/** One client's life. */
const live = async (): Promise<void> => {
  while (Date.now() < until) {
    const opened = await daemon.ask("/v1/sessions", { json: { workspace: daemon.workspace } })
    if (opened?.session_id === undefined) {
      faults.push(`open: ${JSON.stringify(opened)}`)
      return
    }
    const calls = `/v1/sessions/${opened.session_id}/calls`
    for (let i = 0; i < 10; i++) {
      const read = await daemon.ask(calls, { json: { tool: "read", input: { path: "file" } } })
      if (read?.status !== "completed") faults.push(`read: ${JSON.stringify(read)}`)
    }
    // Left while it waits for an answer, or while it runs.
    await daemon.ask(calls, { json: { tool: "bash", input: { command: "sleep 30" } }, leaveAfter: Math.random() * 200 })
    await daemon.ask(calls, { json: { tool: "bash", input: { command: "echo hi; sleep 0.01" }, detach: true } })
    await wait(20)
    await daemon.ask(`/v1/sessions/${opened.session_id}`, { method: "DELETE" })
    rounds++
  }
}

/** Approves, denies, or leaves what is asked. */
const answer = async (): Promise<void> => {
  while (Date.now() < until) {
    const { approvals } = (await daemon.ask("/v1/approvals")) ?? { approvals: [] }
    for (const { approval_id } of approvals) {
      const chance = Math.random()
      const decision = chance < 0.5 ? "approve" : "deny"
      if (chance < 0.8) await daemon.ask(`/v1/approvals/${approval_id}`, { json: { decision } })
    }
    await wait(20)
  }
}

/** Readers that read and drop, or that are stuck. */
const listen = async (isStuck: boolean): Promise<void> => {
  while (Date.now() < until) {
    const socket = net.connect(daemon.socketPath)
    socket.on("error", () => {})
    socket.write("GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n")
    if (isStuck) socket.pause()
    else socket.resume()
    await wait(Math.min(isStuck ? 20_000 : Math.random() * 3000, Math.max(0, until - Date.now())))
    socket.destroy()
  }
}

const resident: Array<number> = []
const watch = async (): Promise<void> => {
  while (Date.now() < until) {
    await wait((seconds * 1000) / 40)
    resident.push(daemon.residentMiB())
  }
}

const descriptorsIdle = daemon.descriptors()
await Promise.all([live(), live(), live(), live(), answer(), listen(false), listen(true), watch()])
const left = await daemon.ask("/v1/health")
if (left.sessions > 0 || left.approvals > 0) faults.push(`left: ${JSON.stringify(left)}`)
await wait(3000)
const descriptors = daemon.descriptors()
// The first half warms up: the heap grows to its working size, and the events that are kept fill their share.
const half = resident.length >> 1
const early = Math.min(...resident.slice(half, half + 5))
const late = Math.min(...resident.slice(-5))
console.log(`${rounds} sessions in ${seconds} s`)
console.log(`  resident: ${early.toFixed(0)} MiB half way, ${late.toFixed(0)} MiB late`)
console.log(`  descriptors: ${descriptorsIdle} before, ${descriptors} after`)
// Some FIFOs are made ahead, for programs to come.
if (descriptors > descriptorsIdle + 80) faults.push("descriptors grow")
if (late > early * 1.25 + 16) faults.push("memory grows")
if (/ broke|fault of/.test(daemon.log())) faults.push(`the log tells of a fault: ${daemon.log().slice(0, 300)}`)
const code = await daemon.stop()
if (code !== 0) faults.push(`the daemon ended with ${code}`)
for (const fault of faults.slice(0, 5)) console.log(`FAULT ${fault.slice(0, 300)}`)
process.exitCode = faults.length > 0 ? 1 : 0
