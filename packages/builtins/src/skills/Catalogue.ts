/** The account of every skill folder that was seen: what is offered, and why the rest is not. */

/**
 * Where skills come from, in the order of their precedence: `skills.project_dir` and `skills.user_dir`, then, for agents
 * that work there, the workspace and the projects in it.
 */
export type SkillSource = "project" | "user" | "workspace" | "child"

/** A directory whose folders are skills. */
export interface SkillRoot {
  readonly source: SkillSource
  /** Its absolute path, as it was looked for. */
  readonly path: string
  /** Its path in the workspace, unless it is the user's. */
  readonly inWorkspace: string | undefined
  /** The folder of the workspace that it belongs to, as it is shown; undefined but for a child. */
  readonly project: string | undefined
}

interface Folder {
  readonly root: SkillRoot
  /** The folder's name as the system has it. */
  readonly folder: string
  /** Its absolute path. */
  readonly path: string
}

/** A skill that can be read. */
export interface OfferedSkill extends Folder {
  readonly status: "offered"
  /** What it is read by, the name under which it is listed first. */
  readonly names: readonly [string, ...Array<string>]
  readonly description: string
}

/** A good skill whose names are taken. */
export interface ShadowedSkill extends Folder {
  readonly status: "shadowed"
  readonly name: string
  readonly description: string
  /** The absolute path of the folder that has the name. */
  readonly by: string
}

/** A folder that is no skill, or one too many. */
export interface RefusedFolder extends Folder {
  readonly status: "refused"
  /** One line, safe to show. */
  readonly reason: string
}

export type SkillFolder = OfferedSkill | ShadowedSkill | RefusedFolder

/** What became of a root. Only the roots that could be expected to be there are in the catalogue where they are absent. */
export interface RootAccount {
  readonly root: SkillRoot
  readonly status: "read" | "absent" | "refused"
  /** For `refused`: one line, safe to show. */
  readonly reason?: string
}

export interface Catalogue {
  /** Every folder that was seen, once, in the order in which they were looked at. */
  readonly folders: ReadonlyArray<SkillFolder>
  readonly roots: ReadonlyArray<RootAccount>
  /** The offered skills by each of their names. */
  readonly byName: ReadonlyMap<string, OfferedSkill>
}
