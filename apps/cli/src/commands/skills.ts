import * as Command from "@effect/cli/Command"
import { type Catalogue, type RootAccount, SkillCatalogue, type SkillFolder, type SkillRoot } from "@scv/builtins"
import { Display } from "@scv/core"
import { LocalSession, type OfferedTool } from "@scv/runtime"
import * as Effect from "effect/Effect"
import { Stdio } from "../Stdio.ts"
import * as options from "./options.ts"

const rootJson = ({ path, project, source }: SkillRoot) => ({
  source,
  ...(project === undefined ? {} : { project }),
  root: path
})

const folderJson = (account: SkillFolder) => {
  const { folder, path, root, status } = account
  const place = { folder, path, ...rootJson(root) }
  if (account.status === "refused") return { status, reason: account.reason, ...place }
  const { description } = account
  return account.status === "offered"
    ? { status, name: account.names[0], names: account.names, description, ...place }
    : { status, name: account.name, description, shadowed_by: account.by, ...place }
}

const accountJson = ({ reason, root, status }: RootAccount) => ({
  status,
  ...(reason === undefined ? {} : { reason }),
  ...rootJson(root)
})

type Cells = readonly [name: string, source: string, text: string]

const columnWidth = (texts: ReadonlyArray<string>): number =>
  Math.min(40, Math.max(...texts.map(({ length }) => length)))

/** A title and rows of three columns, or nothing where there are no rows. */
const section = (title: string, rows: ReadonlyArray<Cells>): string => {
  if (rows.length === 0) return ""
  const safe = rows.map(([name, source, text]) => [Display.inline(name), source, Display.bounded(text, 200)] as const)
  const [first, second] = [columnWidth(safe.map(([name]) => name)), columnWidth(safe.map(([, source]) => source))]
  const lines = safe.map(([name, source, text]) => `  ${name.padEnd(first)}  ${source.padEnd(second)}  ${text}\n`)
  return `${title} (${rows.length})\n${lines.join("")}`
}

const sourceOf = ({ project, source }: SkillRoot): string => project ?? source

const placeOf = ({ inWorkspace }: SkillRoot, folder: string, path: string): string =>
  inWorkspace === undefined ? path : `${inWorkspace}/${folder}`

const text = ({ folders, roots }: Catalogue): string => {
  const rows: Record<SkillFolder["status"], Array<Cells>> = { offered: [], shadowed: [], refused: [] }
  for (const account of folders) {
    const { folder, path, root } = account
    const place = placeOf(root, folder, path)
    if (account.status === "offered") {
      rows.offered.push([account.names[0], sourceOf(root), account.description])
    } else if (account.status === "shadowed") {
      rows.shadowed.push([place, sourceOf(root), `its name is that of ${account.by}`])
    } else {
      rows.refused.push([place, sourceOf(root), account.reason])
    }
  }
  const unread = roots.flatMap(
    ({ reason, root, status }): ReadonlyArray<Cells> =>
      status === "refused" ? [[root.inWorkspace ?? root.path, sourceOf(root), reason ?? ""]] : []
  )
  const all = [
    section("offered", rows.offered),
    section("shadowed", rows.shadowed),
    section("refused", rows.refused),
    section("not looked into", unread)
  ].join("")
  if (all !== "") return all
  return `no skill folders; looked for in:\n${roots.map(({ root }) => `  ${Display.inline(root.path)}\n`).join("")}`
}

/** `scv skills`: every skill folder there is, and what became of it. */
export const skills = (offered: ReadonlyArray<OfferedTool>) =>
  Command.make("skills", { json: options.json, workspace: options.workspace }, ({ json, workspace }) =>
    Effect.gen(function* () {
      const stdio = yield* Stdio
      const { get } = yield* SkillCatalogue.SkillCatalogue
      const catalogue = yield* get
      const { folders, roots } = catalogue
      const answer = { skills: folders.map(folderJson), roots: roots.map(accountJson) }
      yield* stdio.out(json ? `${JSON.stringify(answer, null, 2)}\n` : text(catalogue))
    }).pipe(Effect.provide(LocalSession.single({ workspace }, offered)))
  ).pipe(Command.withDescription("Lists every skill folder: offered, shadowed, or refused and why."))
