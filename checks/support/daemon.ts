/** A built daemon in a home of its own, and requests to it. */
import { type ChildProcess, spawn } from "node:child_process"
import * as fs from "node:fs"
import * as http from "node:http"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"

const scvd = fileURLToPath(new URL("../../apps/daemon/dist/scvd.js", import.meta.url))

// biome-ignore lint/suspicious/noExplicitAny: a check that looks at the wrong place fails
export type Loose = any

export interface Request {
  readonly method?: string
  readonly json?: unknown
  readonly agent?: http.Agent
  /** Milliseconds after which the client leaves. */
  readonly leaveAfter?: number
}

export interface Daemon {
  /** A directory with a `file` in it. */
  readonly workspace: string
  readonly socketPath: string
  readonly log: () => string
  /** The body of the answer with its HTTP status; undefined where the connection broke. */
  readonly ask: (target: string, request?: Request) => Promise<Loose>
  readonly residentMiB: () => number
  readonly descriptors: () => number
  /** Stops it in good order, removes all of it, and gives its exit code. */
  readonly stop: () => Promise<number | null>
}

export const wait = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

const ask =
  (socketPath: string) =>
  (target: string, { agent, json, leaveAfter, method }: Request = {}): Promise<Loose> =>
    new Promise((resolve) => {
      const body = json === undefined ? undefined : JSON.stringify(json)
      const request = http.request(
        {
          socketPath,
          path: target,
          method: method ?? (body === undefined ? "GET" : "POST"),
          headers: body === undefined ? {} : { "content-type": "application/json" },
          agent: agent ?? false
        },
        (response) => {
          let text = ""
          response.setEncoding("utf8").on("data", (part: string) => {
            text += part
          })
          response.on("end", () => resolve({ http: response.statusCode, ...JSON.parse(text) }))
          response.on("error", () => resolve(undefined))
        }
      )
      request.on("error", () => resolve(undefined))
      request.end(body)
      if (leaveAfter !== undefined) setTimeout(() => request.destroy(), leaveAfter)
    })

/** Starts one and waits until it answers. A home that is given stays when it stops. */
export const startDaemon = async (
  options: { readonly home?: string; readonly args?: ReadonlyArray<string>; readonly env?: NodeJS.ProcessEnv } = {}
): Promise<Daemon> => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), "scv-check-"))
  const home = options.home ?? path.join(root, "home")
  const workspace = path.join(root, "workspace")
  for (const directory of [home, workspace]) fs.mkdirSync(directory, { recursive: true })
  fs.writeFileSync(path.join(workspace, "file"), "content\n")
  const log = path.join(home, "log")
  const fd = fs.openSync(log, "a")
  const child: ChildProcess = spawn(process.execPath, [scvd, ...(options.args ?? [])], {
    env: { ...process.env, ...options.env, SCV_HOME: home },
    stdio: ["ignore", fd, fd]
  })
  fs.closeSync(fd)
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve))
  const socketPath = path.join(home, "state/scvd.sock")
  const daemon: Daemon = {
    workspace,
    socketPath,
    log: () => fs.readFileSync(log, "utf8"),
    ask: ask(socketPath),
    residentMiB: () =>
      Number(/^VmRSS:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1]) / 1024,
    descriptors: () => fs.readdirSync(`/proc/${child.pid}/fd`).length,
    stop: async () => {
      child.kill("SIGTERM")
      const code = await ended
      fs.rmSync(root, { recursive: true, force: true })
      return code
    }
  }
  while ((await daemon.ask("/v1/health")) === undefined) {
    if (child.exitCode !== null) throw new Error(`the daemon does not start: ${daemon.log()}`)
    await wait(20)
  }
  return daemon
}
