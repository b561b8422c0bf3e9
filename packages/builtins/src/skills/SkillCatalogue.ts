import { Directory, Workspace } from "@scv/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { Catalogue, OfferedSkill } from "./Catalogue.ts"
import { discover, openRoot } from "./Discovery.ts"

/** What a session is configured to do about skills. Source: design, "Words on the wire" (defaults). */
export interface SkillSettings {
  /** The most skills that are offered: `skills.max_skills`. */
  readonly maxSkills: number
  /** The most bytes of a skill that are returned: `skills.max_skill_bytes`. */
  readonly maxSkillBytes: number
  /** Whether the workspace's projects are scanned: `skills.scan_projects`. */
  readonly scanProjects: boolean
  /** The absolute path of the user's skills: `skills.user_dir`. */
  readonly userDir: string
  /** The path of the project's skills in the workspace: `skills.project_dir`. */
  readonly projectDir: string
  /** Whether the session has a tool that delegates: for others the skills of projects are not offered. */
  readonly hasAgents: Effect.Effect<boolean>
}

/** The skills of a session. */
export class SkillCatalogue extends Context.Tag("@scv/builtins/SkillCatalogue")<
  SkillCatalogue,
  {
    /** The account of every skill folder: found when it is first asked for, and from then on the same. */
    readonly get: Effect.Effect<Catalogue>
    /** Opens the root of a skill again, contained in itself, for as long as the scope is open. */
    readonly open: (skill: OfferedSkill) => Effect.Effect<Directory.Directory, Directory.DirectoryError, Scope.Scope>
    readonly maxSkillBytes: number
  }
>() {}

/** The skills of the session in a workspace. Nothing is read before they are asked for. */
export const layer = (
  settings: SkillSettings
): Layer.Layer<SkillCatalogue, never, Workspace.Workspace | Directory.Directories> =>
  Layer.scoped(
    SkillCatalogue,
    Effect.gen(function* () {
      const machine = { workspace: yield* Workspace.Workspace, directories: yield* Directory.Directories }
      const scope = yield* Effect.scope
      const find = Effect.flatMap(settings.hasAgents, (hasAgents) =>
        discover({ ...settings, scanProjects: settings.scanProjects && hasAgents }, machine)
      )
      // In a fiber of its own: a call that is cancelled while it waits takes nothing from those that come after it.
      const finding = yield* Effect.cached(Effect.uninterruptible(Effect.forkIn(Effect.interruptible(find), scope)))
      return {
        get: Effect.flatMap(finding, Fiber.join),
        open: ({ root }) => openRoot(machine, root),
        maxSkillBytes: settings.maxSkillBytes
      }
    })
  )
