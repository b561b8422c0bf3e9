import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { promptSection, readSkill, SkillCatalogue } from "@scv/builtins"
import {
  Approval,
  type Directory,
  InputSchema,
  Limits,
  Session,
  Tool,
  ToolError,
  ToolRegistry,
  Workspace
} from "@scv/core"
import { NodeDigest, NodeDirectory } from "@scv/node"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

export const containments: ReadonlyArray<(typeof Directory.Directories.Service)["containment"]> =
  process.platform === "linux" ? ["descriptors", "portable"] : ["portable"]

export interface Options extends Partial<Omit<SkillCatalogue.SkillSettings, "hasAgents">> {
  readonly containment?: (typeof containments)[number]
  /** Whether the session has a tool that delegates, and why that one cannot be used. Default: it has, and it can. */
  readonly agent?: "none" | "unavailable"
  readonly policy?: Approval.ApprovalPolicy
}

/** A tool that delegates, as far as anybody can see before it is called. */
const agent = (isUnavailable: boolean) =>
  Tool.make({
    name: "agent_test",
    description: "Delegates.",
    risk: "delegate",
    input: InputSchema.struct({}),
    plan: Schema.Struct({}),
    output: Schema.Struct({ output: Schema.String }),
    unavailable: Effect.succeed(isUnavailable ? Option.some("it is not installed") : Option.none()),
    prepare: () => Effect.fail(new ToolError({ kind: "unavailable", message: "no agent" })),
    run: () => Effect.succeed({ output: "" })
  })

/** A good `SKILL.md`. */
export const skill = (name: string, description = `does ${name}`, body = `body of ${name}\n`): string =>
  `---\nname: ${name}\ndescription: ${description}\n---\n${body}`

/** An empty place: a workspace, a folder for the user's skills, and an outside. */
export const makePlace = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "scv-skills-")))),
    (made) => Effect.sync(() => fs.rmSync(made, { recursive: true, force: true }))
  ),
  (base) => {
    const at = (name: string) => path.join(base, name)
    for (const name of ["ws", "outside"]) fs.mkdirSync(at(name))
    const put = (name: string, content: string | Uint8Array) => {
      fs.mkdirSync(path.dirname(at(name)), { recursive: true })
      fs.writeFileSync(at(name), content)
    }
    return {
      at,
      put,
      link: (name: string, target: string) => {
        fs.mkdirSync(path.dirname(at(name)), { recursive: true })
        fs.symlinkSync(target, at(name))
      },
      /** Puts a good skill into a root, under the name of its folder. */
      skill: (root: string, name: string, description?: string, body?: string) =>
        put(`${root}/${name}/SKILL.md`, skill(name, description, body))
    }
  }
)

export type Place = Effect.Effect.Success<typeof makePlace>

/** A session in the workspace of a place, with its skills. */
export const open = ({ at }: Place, options: Options = {}) =>
  Effect.gen(function* () {
    const { agent: kind, containment, policy = "on-risk", ...settings } = options
    const directories = NodeDirectory.layer(containment === undefined ? {} : { containment })
    const tools = kind === "none" ? [readSkill] : [readSkill, agent(kind === "unavailable")]
    const services = ToolRegistry.layer<SkillCatalogue.SkillCatalogue>(tools).pipe(
      Layer.provideMerge(
        SkillCatalogue.layer({
          maxSkills: 128,
          maxSkillBytes: 262_144,
          scanProjects: true,
          userDir: at("user"),
          projectDir: ".scv/skills",
          ...settings,
          hasAgents: Effect.succeed(kind !== "none")
        })
      ),
      Layer.provideMerge(Workspace.layer(at("ws"))),
      Layer.provideMerge(Limits.layer()),
      Layer.provideMerge(Layer.merge(Approval.unattended, NodeDigest.layer)),
      Layer.provideMerge(directories)
    )
    const context = yield* Layer.build(services)
    const session = yield* Session.make({ policy }).pipe(Effect.provide(context))
    return {
      session,
      catalogue: Effect.provide(
        Effect.flatMap(SkillCatalogue.SkillCatalogue, ({ get }) => get),
        context
      ),
      prompt: Effect.provide(promptSection(session.tools), context),
      /** Reads a skill; gives the result where there is one, else the error. */
      read: (name: string) =>
        Effect.map(
          session.call({ tool: "read_skill", input: { name } }),
          ({ error, result, status }): Record<string, unknown> => ({
            status,
            ...(error === undefined ? {} : error),
            ...(result as Record<string, unknown> | undefined)
          })
        )
    }
  })
