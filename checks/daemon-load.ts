/**
 * A daemon under load on loopback: 200 sessions at once, 10,000 reads through 50 connections (or as many as the first
 * argument says), how long a small read takes beside an empty endpoint, what an idle session holds, and how soon a
 * question is to be seen.
 */
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as http from "node:http"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"

const reads = Number(process.argv[2] ?? 10_000)
const connections = 50
const sessions = 200

const home = fs.mkdtempSync(path.join(os.tmpdir(), "scv-load-"))
fs.writeFileSync(path.join(home, "file"), "content\n")
const socketPath = path.join(home, "state/scvd.sock")
const scvd = fileURLToPath(new URL("../apps/daemon/dist/scvd.js", import.meta.url))
const daemon = spawn(process.execPath, [scvd], { env: { ...process.env, SCV_HOME: home }, stdio: "ignore" })

const agent = new http.Agent({ keepAlive: true, maxSockets: connections })

const ask = (target: string, body?: unknown, through: http.Agent | false = agent): Promise<any> =>
  new Promise((resolve, reject) => {
    const request = http.request(
      {
        socketPath,
        path: target,
        method: body === undefined ? "GET" : "POST",
        headers: body === undefined ? {} : { "content-type": "application/json" },
        agent: through
      },
      (response) => {
        let text = ""
        response.setEncoding("utf8").on("data", (part: string) => {
          text += part
        })
        response.on("end", () =>
          response.statusCode === 200 ? resolve(JSON.parse(text)) : reject(new Error(`${target}: ${text.slice(0, 200)}`))
        )
      }
    )
    request.on("error", reject)
    request.end(body === undefined ? undefined : JSON.stringify(body))
  })

const up = async (): Promise<void> => {
  for (;;) {
    try {
      await ask("/v1/health", undefined, false)
      return
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}

const quantile = (times: ReadonlyArray<number>, q: number): string => {
  const ascending = [...times].sort((a, b) => a - b)
  return `${ascending[Math.min(ascending.length - 1, Math.floor(q * ascending.length))]!.toFixed(1)} ms`
}

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

const residentKiB = (): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${daemon.pid}/status`, "utf8"))?.[1])

const faults: Array<string> = []
const expect = (is: boolean, fault: string): void => {
  if (!is) faults.push(fault)
}

try {
  await up()
  const open = async (): Promise<string> => (await ask("/v1/sessions", { workspace: home })).session_id
  const read = async (session: string): Promise<void> => {
    const answer = await ask(`/v1/sessions/${session}/calls`, { tool: "read", input: { path: "file" } })
    expect(answer.status === "completed", `a read: ${JSON.stringify(answer).slice(0, 200)}`)
  }

  const own = await Promise.all(Array.from({ length: connections }, open))
  await inParallel(500, connections, (index) => read(own[index % connections]!))
  const started = performance.now()
  const times = await inParallel(reads, connections, (index) => read(own[index % connections]!))
  const seconds = (performance.now() - started) / 1000
  const empty = await inParallel(2000, connections, async () => {
    await ask("/v1/health")
  })
  console.log(`${reads} reads, ${connections} connections: ${Math.round(reads / seconds)} a second`)
  console.log(`  read   p50 ${quantile(times, 0.5)}, p99 ${quantile(times, 0.99)}`)
  console.log(`  health p50 ${quantile(empty, 0.5)}, p99 ${quantile(empty, 0.99)}`)
  const alone = await inParallel(500, 1, () => read(own[0]!))
  const emptyAlone = await inParallel(500, 1, async () => {
    await ask("/v1/health")
  })
  console.log(`one at a time: read p99 ${quantile(alone, 0.99)}, health p99 ${quantile(emptyAlone, 0.99)}`)

  const before = residentKiB()
  const many = await Promise.all(Array.from({ length: sessions }, open))
  const after = residentKiB()
  console.log(`an idle session: ${((after - before) / sessions).toFixed(1)} KiB (resident, ${sessions} of them)`)
  await Promise.all(many.map((session) => read(session)))
  const { sessions: listed } = await ask("/v1/sessions")
  expect(listed.length === sessions + connections, `${listed.length} sessions listed`)

  const [asking] = many
  const seen: Array<number> = []
  for (let round = 0; round < 20; round++) {
    const at = performance.now()
    const input = { path: `new-${round}`, content: "x", mode: "create" }
    const call = ask(`/v1/sessions/${asking}/calls`, { tool: "write", input })
    for (;;) {
      const { approvals } = await ask("/v1/approvals", undefined, false)
      if (approvals.length > 0) {
        seen.push(performance.now() - at)
        await ask(`/v1/approvals/${approvals[0].approval_id}`, { decision: "deny" }, false)
        break
      }
    }
    await call
  }
  console.log(`a question is seen after: p50 ${quantile(seen, 0.5)}, most ${quantile(seen, 1)}`)
  expect(Math.max(...seen) < 1000, "a question was not seen within a second")

  const { pid } = daemon
  const descriptors = fs.readdirSync(`/proc/${pid}/fd`).length
  console.log(`resident: ${Math.round(residentKiB() / 1024)} MiB, ${descriptors} descriptors`)
} catch (error) {
  faults.push(String(error))
} finally {
  agent.destroy()
  daemon.kill("SIGTERM")
  const code = await new Promise((resolve) => daemon.once("exit", resolve))
  expect(code === 0, `the daemon ended with ${code}`)
  fs.rmSync(home, { recursive: true, force: true })
}
for (const fault of faults.slice(0, 5)) console.log(`FAULT ${fault}`)
process.exitCode = faults.length > 0 ? 1 : 0
