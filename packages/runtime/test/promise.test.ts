import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { InputSchema, Tool } from "@scv/core"
import { OpenError, type OpenOptions, open, type PromiseSession, type Question } from "@scv/runtime/promise"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { afterEach, beforeEach, expect, it } from "vitest"

let directory: string
const opened: Array<PromiseSession> = []

beforeEach(() => {
  directory = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "scv-promise-")))
  process.env.SCV_HOME = `${directory}/.scv`
})

afterEach(async () => {
  for (const session of opened.splice(0)) await session.close()
  fs.rmSync(directory, { recursive: true, force: true })
})

const openHere = async (options: Partial<OpenOptions> = {}) => {
  const session = await open({ workspace: directory, ...options })
  opened.push(session)
  return session
}

const waitForFile = async (name: string): Promise<string> => {
  const file = path.join(directory, name)
  while (!fs.existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 20))
  return fs.readFileSync(file, "utf8").trim()
}

/** Says in `pid` who it is, and then lasts. */
const lasting = { command: "echo $$ > pid.new; mv pid.new pid; exec sleep 300" }

it("calls tools, and answers every end with an envelope", async () => {
  fs.writeFileSync(`${directory}/a.txt`, "hello")
  const scv = await openHere()
  expect(scv.workspace).toBe(directory)
  expect(scv.tools.find(({ name }) => name === "read")).toMatchObject({ risk: "read_only", available: true })
  expect(await scv.call("read", { path: "a.txt" })).toMatchObject({ status: "completed", result: { content: "hello" } })
  expect(await scv.call("read", { path: "b.txt" })).toMatchObject({ status: "failed", error: { kind: "not_found" } })
  expect(await scv.call("read", undefined)).toMatchObject({ status: "invalid", error: { kind: "invalid_input" } })
  expect(await scv.call("reed", {})).toMatchObject({ status: "invalid", error: { kind: "unknown_tool" } })
})

it("asks `approve` with the plan, and says no where there is none", async () => {
  const questions: Array<Question> = []
  const scv = await openHere({
    approve: async (question) => {
      questions.push(question)
      return questions.length === 1 ? true : { decision: "deny", reason: "once is enough" }
    }
  })
  const run = { command: "echo hi" }
  expect(await scv.call("bash", run)).toMatchObject({ status: "completed", result: { output: "hi\n" } })
  expect(await scv.call("bash", run)).toMatchObject({ error: { message: "bash was denied: once is enough" } })
  expect(questions[0]).toMatchObject({ tool: "bash", risk: "process", workspace: directory })
  const silent = await openHere()
  expect(await silent.call("bash", run)).toMatchObject({ status: "denied" })
})

it("calls a tool of somebody else's, asks about it, and releases it on abort", async () => {
  let isReleased = false
  const controller = new AbortController()
  const shout = Tool.make({
    name: "shout",
    description: "Says it loudly, or for ever.",
    risk: "process",
    input: InputSchema.struct({ word: InputSchema.required(InputSchema.nonEmpty, "what to shout") }),
    plan: Schema.Struct({ word: Schema.String }),
    output: Schema.Struct({ shouted: Schema.String }),
    prepare: ({ word }) => Effect.succeed({ summary: `shout ${word}`, plan: { word: word.toUpperCase() } }),
    run: ({ word }) => {
      if (word !== "ALWAYS") return Effect.succeed({ shouted: word })
      return Effect.onInterrupt(
        Effect.zipRight(
          Effect.sync(() => controller.abort()),
          Effect.never
        ),
        () => Effect.sync(() => (isReleased = true))
      )
    }
  })
  const plans: Array<unknown> = []
  const scv = await openHere({
    tools: [shout],
    approve: ({ plan }) => {
      plans.push(plan)
      return true
    }
  })
  expect(scv.tools.at(-1)).toMatchObject({ name: "shout", risk: "process", available: true })
  expect(await scv.call("shout", { word: "hi" })).toMatchObject({ status: "completed", result: { shouted: "HI" } })
  expect(await scv.call("shout", { wrod: "hi" })).toMatchObject({ status: "invalid" })
  const { signal } = controller
  expect(await scv.call("shout", { word: "always" }, { signal })).toMatchObject({ status: "cancelled" })
  expect(isReleased).toBe(true)
  expect(plans).toEqual([{ word: "HI" }, { word: "ALWAYS" }])
  await expect(openHere({ tools: [shout, shout] })).rejects.toMatchObject({
    kind: "config",
    message: expect.stringContaining('there is already a tool named "shout"')
  })
})

it.each([
  ["throws", () => Promise.reject(new Error("no network")), /`approve` failed: no network/],
  ["gives no answer", () => undefined as unknown as boolean, /`approve` failed/],
  ["gives another word", () => "yes" as unknown as boolean, /was denied/]
])("takes it for a no when `approve` %s", async (_, approve, message) => {
  const scv = await openHere({ approve })
  const answer = await scv.call("bash", { command: "echo hi" })
  expect(answer.status).toBe("denied")
  expect(answer.error?.message).toMatch(message)
})

it("cancels on abort, and answers after the release", async () => {
  const scv = await openHere({ approve: () => true })
  const controller = new AbortController()
  const call = scv.call("bash", lasting, { signal: controller.signal })
  const pid = await waitForFile("pid")
  controller.abort()
  expect(await call).toMatchObject({ status: "cancelled", error: { kind: "cancelled" } })
  expect(fs.existsSync(`/proc/${pid}`)).toBe(false)
  const aborted = await scv.call("read", { path: "pid" }, { signal: AbortSignal.abort() })
  expect(aborted.status).toBe("cancelled")
})

it("aborts an open question with its call", async () => {
  const controller = new AbortController()
  const scv = await openHere({
    approve: (_, { signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => {
          fs.writeFileSync(`${directory}/moot`, "")
          reject(signal.reason)
        })
        controller.abort()
      })
  })
  const answer = await scv.call("bash", { command: "echo hi" }, { signal: controller.signal })
  expect(answer.status).toBe("cancelled")
  expect(fs.existsSync(`${directory}/moot`)).toBe(true)
})

it("leaves nothing when it is closed, however often", async () => {
  const scv = await openHere({ approve: () => true })
  const running = scv.call("bash", lasting)
  const waiting = scv.call("read", { path: "pid" })
  const pid = await waitForFile("pid")
  await Promise.all([scv.close(), scv.close()])
  expect(fs.existsSync(`/proc/${pid}`)).toBe(false)
  expect((await running).status).toBe("cancelled")
  expect((await waiting).status).toBe("cancelled")
  expect(await scv.call("read", { path: "pid" })).toMatchObject({
    status: "cancelled",
    error: { message: "the session has ended" }
  })
})

it.each<[string, Record<string, unknown>, OpenError["kind"], RegExp]>([
  ["a workspace that is not there", { workspace: "/nonexistent" }, "invalid_input", /^workspace: \/nonexistent/],
  ["no workspace", { workspace: undefined }, "invalid_input", /^workspace: expected a directory/],
  ["a policy that there is not", { policy: "sometimes" }, "invalid_input", /^policy: expected on-risk.*got sometimes/],
  ["tools that are none", { tools: ["read"] }, "invalid_input", /^tools: expected a list of what Tool.make gives/],
  ["an `approve` that is no function", { approve: true }, "invalid_input", /^approve: expected a function/]
])("refuses %s", async (_, options, kind, message) => {
  const refused = await open({ workspace: directory, ...options } as OpenOptions).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(OpenError)
  expect(refused).toMatchObject({ kind, message: expect.stringMatching(message) })
})

it("refuses a configuration that is no good", async () => {
  fs.mkdirSync(`${directory}/.scv`)
  fs.writeFileSync(`${directory}/.scv/config.toml`, "[tools]\nmax_read_bites = 1\n")
  await expect(openHere()).rejects.toMatchObject({ kind: "config", message: expect.stringContaining("max_read_bites") })
})

it("lets the process end once it is closed, and keeps its stdout clean", () => {
  const root = fileURLToPath(new URL("../../..", import.meta.url))
  const script = fileURLToPath(new URL("support/script.ts", import.meta.url))
  const run = spawnSync("npx", ["tsx", script, directory], { cwd: root, encoding: "utf8", timeout: 60_000 })
  expect(run.stderr).toBe("")
  expect(run.stdout).toBe("completed\nclosed\n")
  expect(run.status).toBe(0)
}, 70_000)
