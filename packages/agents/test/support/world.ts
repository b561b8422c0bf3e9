import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { type AgentSetting, AgentSettings, AgentTool, agents } from "@scv/agents"
import { Approval, AuditLog, CallTag, Limits, ServerEnvironment, Session, ToolRegistry, Workspace } from "@scv/core"
import {
  NodeCallTag,
  NodeDigest,
  NodeDirectory,
  NodeExecutables,
  NodeHome,
  NodePrivateDirectories,
  NodeProcessSpawner
} from "@scv/node"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"

export type Variables = Readonly<Record<string, string>>

export interface Options {
  /** The script that stands for every agent. Run by bash, which is never a freshly written file. */
  readonly fake?: string
  /** Settings on top of those that run the script, by agent. */
  readonly settings?: Readonly<Record<string, AgentSetting>>
  readonly maxDelegationDepth?: number
  /** Variables of the server. Default: PATH and a mark by which the processes of this world are known. */
  readonly environment?: Variables
  readonly limits?: Partial<Limits.LimitValues>
  readonly containment?: "descriptors" | "portable"
  readonly assumeYes?: boolean
}

/** A directory for as long as the scope is open. */
export const temporary = Effect.acquireRelease(
  Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "scv-agents-")))),
  (made) => Effect.sync(() => fs.rmSync(made, { recursive: true, force: true }))
)

/** A workspace, a home of SCV, a home of the user, and a session of all agents, of which each is the same script. */
export const makeWorld = ({
  assumeYes = true,
  containment,
  environment = {},
  fake = 'printf "%s\\n" "$@"',
  limits,
  maxDelegationDepth = 2,
  settings = {}
}: Options = {}) =>
  Effect.gen(function* () {
    const base = yield* temporary
    const at = (...names: ReadonlyArray<string>) => path.join(base, ...names)
    for (const name of ["workspace", "user"]) fs.mkdirSync(at(name))
    fs.writeFileSync(at("fake.sh"), fake)
    const server = { PATH: "/usr/bin:/bin", HOME: at("user"), WORLD: base, ...environment }
    const machine = Layer.mergeAll(
      NodeCallTag.layer,
      NodeDigest.layer,
      NodeHome.layer(at("scv")),
      NodePrivateDirectories.layer,
      NodeProcessSpawner.layer(),
      NodeDirectory.layer(containment === undefined ? {} : { containment }),
      Layer.succeed(AgentSettings, {
        agents: Object.fromEntries(
          agents.map(({ args, name }) => [
            name,
            { command: "/bin/bash", args: [at("fake.sh"), ...args], ...settings[name] }
          ])
        ),
        maxDelegationDepth,
        userHome: at("user")
      }),
      Layer.provideMerge(NodeExecutables.layer, Layer.succeed(ServerEnvironment, server))
    )
    const services = ToolRegistry.layer(agents.map(AgentTool.make)).pipe(
      Layer.provideMerge(
        Layer.mergeAll(AuditLog.none, Workspace.layer(at("workspace")), Limits.layer(limits), Approval.unattended)
      ),
      Layer.provideMerge(machine)
    )
    const context = yield* Layer.build(services)
    const session = yield* Session.make({ surface: "test", policy: "on-risk", assumeYes }).pipe(Effect.provide(context))
    return {
      at,
      base,
      context,
      session,
      home: (name: string) => at("scv/adapters", name),
      /** Calls an agent; gives the result where there is one, else the error. */
      call: (name: string, input: object) =>
        Effect.map(
          session.call({ tool: `agent_${name}`, input }),
          ({ error, result, status }): Record<string, unknown> => ({
            status,
            ...(error === undefined ? {} : error),
            ...(result as Record<string, unknown> | undefined)
          })
        ),
      /** The question that is open, once one is. */
      question: Effect.map(Effect.repeat(session.approvals, { until: ({ length }) => length === 1 }), ([one]) => one!),
      /** Waits until the call that is made says something. To be forked before it. */
      says: (word: string) =>
        Effect.gen(function* () {
          const events = yield* session.events
          let said = ""
          return yield* Effect.fork(
            Stream.runDrain(
              Stream.takeUntil(events, (event) => {
                if (event.event === "progress") said += event.text
                return said.includes(word)
              })
            )
          )
        })
    }
  })

export type World = Effect.Effect.Success<ReturnType<typeof makeWorld>>

/** The processes that calls of a world have left, zombies aside. */
export const leftOf = ({ base }: World): ReadonlyArray<string> =>
  fs.readdirSync("/proc").filter((pid) => {
    try {
      if (!/^\d+$/.test(pid)) return false
      const given = fs.readFileSync(`/proc/${pid}/environ`, "latin1")
      return given.includes(`WORLD=${base}\0`) && given.includes(CallTag.prefix)
    } catch {
      return false
    }
  })
