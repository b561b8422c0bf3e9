/**
 * A daemon under load on loopback: 200 sessions with calls at once, 10,000 reads (or as many as the argument says) through
 * 50 connections, how long a small read takes beside an empty endpoint, what an idle session holds, and how soon a
 * question is to be seen.
 */
import * as http from "node:http"
import { startDaemon } from "./support/daemon.ts"

const reads = Number(process.argv[2] ?? 10_000)
const connections = 50
const sessions = 200

const agent = new http.Agent({ keepAlive: true, maxSockets: connections })
const daemon = await startDaemon()
const faults: Array<string> = []

const expect = (is: boolean, fault: string): void => {
  if (!is) faults.push(fault)
}

const quantile = (times: ReadonlyArray<number>, q: number): number => {
  const ascending = [...times].sort((a, b) => a - b)
  return ascending[Math.min(ascending.length - 1, Math.floor(q * ascending.length))]!
}

const shown = (times: ReadonlyArray<number>): string =>
  `p50 ${quantile(times, 0.5).toFixed(1)} ms, p99 ${quantile(times, 0.99).toFixed(1)} ms`

/** Runs jobs, `width` at a time, and gives how long each took. */
const inParallel = async (count: number, width: number, job: (index: number) => Promise<void>) => {
  const times: Array<number> = []
  let next = 0
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (let index = next++; index < count; index = next++) {
        const start = performance.now()
        await job(index)
        times.push(performance.now() - start)
      }
    })
  )
  return times
}

const open = async (): Promise<string> =>
  (await daemon.ask("/v1/sessions", { json: { workspace: daemon.workspace }, agent })).session_id

const read = async (session: string): Promise<void> => {
  const json = { tool: "read", input: { path: "file" } }
  const answer = await daemon.ask(`/v1/sessions/${session}/calls`, { json, agent })
  expect(answer?.status === "completed", `a read: ${JSON.stringify(answer)?.slice(0, 200)}`)
}

const health = async (): Promise<void> => {
  expect((await daemon.ask("/v1/health", { agent }))?.status === "ok", "no health")
}

/** From the submission of a call to the moment in which its question is in the list. */
const asked = async (session: string, path: string): Promise<number> => {
  const start = performance.now()
  const json = { tool: "write", input: { path, content: "x", mode: "create" } }
  const call = daemon.ask(`/v1/sessions/${session}/calls`, { json })
  for (;;) {
    const { approvals } = await daemon.ask("/v1/approvals")
    if (approvals.length === 0) continue
    const seen = performance.now() - start
    await daemon.ask(`/v1/approvals/${approvals[0].approval_id}`, { json: { decision: "deny" } })
    await call
    return seen
  }
}

const own = await Promise.all(Array.from({ length: connections }, open))
await inParallel(500, connections, (index) => read(own[index % connections]!))
const started = performance.now()
const busy = await inParallel(reads, connections, (index) => read(own[index % connections]!))
const seconds = (performance.now() - started) / 1000
console.log(
  `${reads} reads through ${connections} connections: ${Math.round(reads / seconds)} a second, ${shown(busy)}`
)
console.log(`  an empty endpoint: ${shown(await inParallel(2000, connections, health))}`)
console.log(`one at a time: a read ${shown(await inParallel(300, 1, () => read(own[0]!)))}`)
console.log(`  an empty endpoint: ${shown(await inParallel(300, 1, health))}`)

const before = daemon.residentMiB()
const many = await Promise.all(Array.from({ length: sessions }, open))
const held = ((daemon.residentMiB() - before) * 1024) / sessions
console.log(`an idle session: ${held.toFixed(0)} KiB (resident, of ${sessions})`)
await Promise.all(many.map(read))
const { sessions: listed } = await daemon.ask("/v1/sessions")
expect(listed.length === sessions + connections, `${listed.length} sessions are listed`)

const seen: Array<number> = []
for (let round = 0; round < 20; round++) seen.push(await asked(many[0]!, `new-${round}`))
console.log(`a question is seen: ${shown(seen)}`)
expect(quantile(seen, 0.5) < 100, "a question is not seen within 100 ms")

console.log(`resident: ${daemon.residentMiB().toFixed(0)} MiB, ${daemon.descriptors()} descriptors`)
agent.destroy()
const code = await daemon.stop()
expect(code === 0, `the daemon ended with ${code}`)
for (const fault of faults.slice(0, 5)) console.log(`FAULT ${fault}`)
process.exitCode = faults.length > 0 ? 1 : 0
