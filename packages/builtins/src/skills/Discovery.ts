/**
 * Finds skills. Each root is a contained directory of its own, so nothing outside of it is ever read, and nothing that is
 * wrong with one folder or root keeps the others from being found. Source: spec, "`read_skill`"; design, "Small
 * decisions".
 */
import { Directory, Display, Utf8, type Workspace } from "@scv/core"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Scope from "effect/Scope"
import type { Catalogue, OfferedSkill, RootAccount, SkillFolder, SkillRoot, SkillSource } from "./Catalogue.ts"
import * as FrontMatter from "./FrontMatter.ts"

/** The file in a folder that makes it a skill. */
export const skillFile = "SKILL.md"

/** The folders of a project that hold the skills of agents which work there: Codex's and others', and Claude Code's. */
const agentFolders = [".agents/skills", ".claude/skills"]

/** How many child directories of a workspace are looked at. Source: spec, "`read_skill`". */
const maxChildren = 256

/** How many names a workspace may hold for its children to be looked at. */
const maxWorkspaceNames = 65_536

/** How many names a root may hold, and after how many folders no further root is looked at. */
const maxFolders = 10_000

/** After how many folders that offer nothing the next is not read: each may take a parser some milliseconds. */
const maxUseless = 2000

export interface Options {
  /** The most skills that are offered. */
  readonly maxSkills: number
  /** The absolute path of the user's skills. */
  readonly userDir: string
  /** The path of the project's skills in the workspace. */
  readonly projectDir: string
  /** Whether the skills of the workspace and of its child projects are offered. */
  readonly scanProjects: boolean
}

interface Machine {
  readonly workspace: typeof Workspace.Workspace.Service
  readonly directories: typeof Directory.Directories.Service
}

/** Opens a root, contained in itself. */
export const openRoot = (
  { directories, workspace }: Machine,
  { inWorkspace, path }: SkillRoot
): Effect.Effect<Directory.Directory, Directory.DirectoryError, Scope.Scope> =>
  inWorkspace === undefined ? directories.open(path) : workspace.directory(inWorkspace)

/** Why a directory cannot be read, in one line; `boundary` is what it must not leave. */
const whyNoDirectory = ({ detail, kind }: Directory.DirectoryError, boundary: string): string =>
  kind === "outside_workspace" ? `leads out of ${boundary}` : Display.bounded(detail, 300)

/** Why the file of a skill cannot be read, in one line. */
export const whyNoFile = (error: Directory.DirectoryError): string => {
  if (error.kind === "not_a_file") return `${skillFile} ${error.detail}`
  if (error.kind === "not_found" && error.detail === "no such file") return `has no ${skillFile}`
  return whyNoDirectory(error, "its root")
}

const joined = (directory: string, name: string): string =>
  name === "." ? directory : `${directory.replace(/\/$/, "")}/${name}`

const rootIn = (
  { workspace }: Machine,
  source: SkillSource,
  inWorkspace: string,
  project: string | undefined = undefined
): SkillRoot => ({ source, path: joined(workspace.path, inWorkspace), inWorkspace, project })

/** The roots that a workspace and its child projects have for agents, and what can be said of children without any. */
const projectRoots = (machine: Machine) =>
  Effect.gen(function* () {
    const { workspace } = machine
    const refused: Array<RootAccount> = []
    const refuse = (inWorkspace: string, project: string | undefined, reason: string) =>
      refused.push({ root: rootIn(machine, "child", inWorkspace, project), status: "refused", reason })
    const own = agentFolders.map((folder) => rootIn(machine, "workspace", folder))

    const listed = yield* Effect.either(workspace.list(".", maxWorkspaceNames))
    if (Either.isLeft(listed)) {
      refuse(".", undefined, whyNoDirectory(listed.left, "the workspace"))
      return { roots: own, refused }
    }
    const visible = listed.right.filter(({ name }) => !name.startsWith("."))
    // What is there itself comes before a link to it, which would give its skills another name.
    const candidates = (["directory", "link"] as const).flatMap((kind) =>
      visible.filter((entry) => entry.kind === kind)
    )
    const children: Array<SkillRoot> = []
    for (const [i, { isText, kind, name }] of candidates.entries()) {
      const project = Display.inline(name)
      if (i === maxChildren) {
        refuse(".", undefined, `has more than ${maxChildren} folders and links: ${project} and the rest are left out`)
        break
      }
      if (!isText) {
        refuse(name, project, "has a name that is not UTF-8")
        continue
      }
      if (kind === "link") {
        const target = yield* Effect.either(Effect.scoped(workspace.directory(name)))
        if (Either.isLeft(target)) {
          // A link to a file, or to nothing, is no child directory.
          if (target.left.kind !== "not_a_directory" && target.left.kind !== "not_found") {
            refuse(name, project, whyNoDirectory(target.left, "the workspace"))
          }
          continue
        }
      }
      children.push(...agentFolders.map((folder) => rootIn(machine, "child", `${name}/${folder}`, project)))
    }
    return { roots: [...own, ...children], refused }
  })

/** Who has which name. A listed name wins over one by which a skill is reached as well. */
class Names {
  readonly #listed = new Map<string, Taken>()
  readonly #aliases = new Map<string, Taken>()
  readonly #workspace: string

  /** @param workspace the name of the workspace's folder as it is shown; empty for `/` */
  constructor(workspace: string) {
    this.#workspace = workspace
  }

  /** Gives a skill its name; fails with the folder that has it. */
  take(skill: Taken): Either.Either<void, string> {
    const { name, root } = skill
    const own = root.project === undefined ? name : `${root.project}:${name}`
    const alias = root.source === "workspace" && this.#workspace !== "" ? `${this.#workspace}:${name}` : undefined
    if (!this.#listed.has(own)) {
      this.#listed.set(own, skill)
      if (alias !== undefined && !this.#listed.has(alias)) this.#aliases.set(alias, skill)
      return Either.void
    }
    const holder = alias === undefined ? undefined : (this.#aliases.get(alias) ?? this.#listed.get(alias))
    if (alias === undefined || holder !== undefined) return Either.left((holder ?? this.#listed.get(own)!).path)
    this.#listed.set(alias, skill)
    return Either.void
  }

  /** The names of every skill that has one, the listed one first. */
  all(): ReadonlyMap<Taken, readonly [string, ...Array<string>]> {
    const names = new Map<Taken, readonly [string, ...Array<string>]>()
    for (const [name, skill] of this.#listed) names.set(skill, [name])
    for (const [alias, skill] of this.#aliases) {
      if (!this.#listed.has(alias)) names.set(skill, [names.get(skill)![0], alias])
    }
    return names
  }
}

/** A good skill that is about to be named. */
interface Taken extends FrontMatter.FrontMatter {
  readonly root: SkillRoot
  readonly folder: string
  readonly path: string
}

/** Reads what the skill in a folder says of itself, or why it is none. */
const readFolder = (directory: Directory.Directory, folder: string, reader: FrontMatter.Reader) =>
  // A character that the maximum cuts is read to its end.
  directory.read(`${folder}/${skillFile}`, { offset: 0, length: FrontMatter.maxBytes + Utf8.longest - 1 }).pipe(
    Effect.mapError(whyNoFile),
    Effect.flatMap(({ bytes, totalBytes }) => reader(folder, bytes, bytes.length === totalBytes))
  )

/** Finds all skills there are for a session; takes in everything that can be wrong, and never fails. */
export const discover = (options: Options, machine: Machine): Effect.Effect<Catalogue> =>
  Effect.gen(function* () {
    const { workspace } = machine
    const reader = yield* FrontMatter.reader
    const user: SkillRoot = { source: "user", path: options.userDir, inWorkspace: undefined, project: undefined }
    const agents = options.scanProjects ? yield* projectRoots(machine) : { roots: [], refused: [] }

    const folders: Array<Exclude<SkillFolder, OfferedSkill> | Taken> = []
    const roots: Array<RootAccount> = []
    const names = new Names(Display.inline(workspace.path.slice(workspace.path.lastIndexOf("/") + 1)))
    const seen: Array<{ readonly identity: Directory.Identity; readonly path: string }> = []
    let offered = 0

    const account = (directory: Directory.Directory, root: SkillRoot, entry: Directory.DirectoryEntry) =>
      Effect.gen(function* () {
        const place = { root, folder: entry.name, path: joined(root.path, entry.name) }
        const refuse = (reason: string) => folders.push({ ...place, status: "refused", reason })
        if (!entry.isText) return refuse("has a name that is not UTF-8")
        if (offered >= options.maxSkills) {
          return refuse(`is over the maximum of ${options.maxSkills} skills (skills.max_skills)`)
        }
        if (folders.length - offered >= maxUseless)
          return refuse(`comes after ${maxUseless} folders that offer nothing`)
        const found = yield* Effect.either(readFolder(directory, entry.name, reader))
        if (Either.isLeft(found)) return refuse(found.left)
        const skill: Taken = { ...place, ...found.right }
        const named = names.take(skill)
        if (Either.isLeft(named)) return folders.push({ ...skill, status: "shadowed", by: named.left })
        offered++
        return folders.push(skill)
      })

    const readRoot = (root: SkillRoot): Effect.Effect<RootAccount> =>
      Effect.gen(function* () {
        const directory = yield* openRoot(machine, root)
        const refuse = (reason: string): RootAccount => ({ root, status: "refused", reason })
        const same = seen.find(({ identity }) => Directory.isSame(identity, directory.identity))
        if (same !== undefined) return refuse(`is the same folder as ${Display.inline(same.path)}`)
        if (folders.length >= maxFolders) return refuse(`comes after ${maxFolders} skill folders`)
        const entries = yield* directory.list(".", maxFolders)
        seen.push({ identity: directory.identity, path: root.path })
        for (const entry of entries) {
          if (entry.kind === "directory" || entry.kind === "link") yield* account(directory, root, entry)
        }
        return { root, status: "read" } satisfies RootAccount
      }).pipe(
        Effect.scoped,
        Effect.catchAll((error) =>
          Effect.succeed<RootAccount>(
            error.kind === "not_found"
              ? { root, status: "absent" }
              : { root, status: "refused", reason: whyNoDirectory(error, "the workspace") }
          )
        )
      )

    for (const root of [rootIn(machine, "project", options.projectDir), user, ...agents.roots]) {
      const outcome = yield* readRoot(root)
      if (outcome.status !== "absent" || root.source !== "child") roots.push(outcome)
    }

    const allNames = names.all()
    const accounted = folders.map((folder): SkillFolder => {
      if ("status" in folder) return folder
      const { description, folder: name, path, root } = folder
      return { status: "offered", root, folder: name, path, names: allNames.get(folder)!, description }
    })
    const byName = new Map<string, OfferedSkill>()
    for (const skill of accounted) {
      if (skill.status === "offered") for (const name of skill.names) byName.set(name, skill)
    }
    return { folders: accounted, roots: [...roots, ...agents.refused], byName }
  })
