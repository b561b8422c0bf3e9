import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import { containments, makePlace, open, type Place, skill } from "../support/skills.ts"

/** What is in everything that lies outside of the roots. */
const canary = "CANARY"

const roots = [
  "ws/.scv/skills",
  "user",
  "ws/.agents/skills",
  "ws/.claude/skills",
  "ws/p/.agents/skills",
  "ws/q/.claude/skills"
]

const names = ["a", "b", "c", "d", "e"]

/** A path that a link may hold: up, down, through other links, and to the outside by its own name. */
const target = FastCheck.oneof(
  FastCheck.array(FastCheck.constantFrom(".", "..", "", "SKILL.md", "outside", "ws", "user", "skills", ...names), {
    minLength: 1,
    maxLength: 6
  })
    .map((parts) => parts.join("/"))
    .filter((link) => link !== ""),
  FastCheck.constantFrom(...roots, "outside", "outside/a", "outside/a/SKILL.md", "").map((to) => `BASE/${to}`)
)

/** What a folder is, and where a link in it leads. */
interface Folder {
  readonly kind: (typeof plain)[number] | "link" | "linked file"
  readonly target: string
}

const plain = ["good", "empty", "no front matter", "bad YAML", "other name", "a FIFO", "a folder", "no folder"] as const

const folder: FastCheck.Arbitrary<Folder> = FastCheck.record({
  kind: FastCheck.oneof(
    FastCheck.constant("good" as const),
    FastCheck.constantFrom(...plain),
    FastCheck.constantFrom("link" as const, "linked file" as const)
  ),
  target
})

/** A directory by its folders, a link, or something else. */
type Root = { readonly folders: Readonly<Record<string, Folder>> } | { readonly link: string } | "a file"

const directory: FastCheck.Arbitrary<Root> = FastCheck.record({
  folders: FastCheck.dictionary(FastCheck.constantFrom(...names), folder)
})

const root: FastCheck.Arbitrary<Root> = FastCheck.oneof(
  { weight: 5, arbitrary: directory },
  { weight: 2, arbitrary: FastCheck.record({ link: target }) },
  { weight: 1, arbitrary: FastCheck.constant("a file" as const) }
)

// Where the user's own folder leads is the user's choice.
const tree = FastCheck.tuple(...roots.map((at) => (at === "user" ? directory : root)))

const plant = ({ at, link, put }: Place, folder: string, { kind, target }: Folder): void => {
  const name = path.basename(folder)
  const file = `${folder}/SKILL.md`
  const to = target.replace("BASE", at("."))
  const mkdir = (made: string) => fs.mkdirSync(at(made), { recursive: true })
  if (kind === "good") put(file, skill(name))
  else if (kind === "empty") mkdir(folder)
  else if (kind === "no front matter") put(file, name)
  else if (kind === "bad YAML") put(file, `---\nname: [${name}\n---\n`)
  else if (kind === "other name") put(file, skill(`not-${name}`))
  else if (kind === "a folder") mkdir(file)
  else if (kind === "no folder") put(folder, skill(name))
  else if (kind === "link") link(folder, to)
  else if (kind === "linked file") link(file, to)
  else {
    mkdir(folder)
    execFileSync("mkfifo", [at(file)])
  }
}

/** A place with the roots, and an outside that has everything a root could have. */
const grow = (place: Place, contents: ReadonlyArray<Root>) =>
  Effect.sync(() => {
    for (const name of [...names, "skills", "skills/a"]) {
      place.put(`outside/${name}/SKILL.md`, skill(path.basename(name), canary, canary))
    }
    for (const [i, content] of contents.entries()) {
      const at = roots[i]!
      if (content === "a file") place.put(at, "")
      else if ("link" in content) place.link(at, content.link.replace("BASE", place.at(".")))
      else {
        fs.mkdirSync(place.at(at), { recursive: true })
        for (const [name, planted] of Object.entries(content.folders)) plant(place, `${at}/${name}`, planted)
      }
    }
  })

/** The folders in a directory, and the links that may be some. */
const foldersIn = (directory: string): ReadonlyArray<string> =>
  fs
    .readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() || entry.isSymbolicLink())
    .map(({ name }) => path.join(directory, name))

describe.each(containments)("any tree of folders, %s", (containment) => {
  it.scopedLive.prop(
    "has each of them in the catalogue once, and nothing from outside",
    [tree],
    ([contents]) =>
      Effect.gen(function* () {
        const place = yield* makePlace
        yield* grow(place, contents)
        const { catalogue, prompt, read } = yield* open(place, { containment })
        const { byName, folders } = yield* catalogue

        // A root may be found under the name of a link to it, but its folders are found once.
        const seen = new Map(
          folders.map((account) => [path.join(fs.realpathSync(account.root.path), account.folder), account])
        )
        assert.strictEqual(seen.size, folders.length, "a folder is there twice")
        for (const found of seen.keys()) assert.match(path.relative(place.at("."), found), /^(ws|user)\//)
        const looked = new Set([...seen.keys()].map((found) => path.dirname(found)))
        for (const directory of looked) {
          const found = [...seen.keys()].filter((each) => path.dirname(each) === directory)
          assert.sameMembers(found, [...foldersIn(directory)])
        }
        for (const [i, content] of contents.entries()) {
          if (content === "a file" || "link" in content) continue
          for (const [name, { kind }] of Object.entries(content.folders)) {
            const account = seen.get(place.at(`${roots[i]!}/${name}`))
            assert.strictEqual(account === undefined, kind === "no folder", `${kind} is there`)
            if (account === undefined || kind === "link" || kind === "linked file") continue
            assert.strictEqual(account.status === "refused", kind !== "good", kind)
          }
        }

        for (const [name, { folder }] of byName) {
          const text = yield* read(name)
          assert.strictEqual(text.status, "completed", String(text.message))
          assert.include(String(text.content), `name: ${folder}\n`)
          assert.notInclude(String(text.content), canary)
        }
        assert.notInclude(JSON.stringify(folders), canary)
        assert.notInclude(yield* prompt, canary)
      }),
    { timeout: 120_000, fastCheck: { numRuns: 30 } }
  )
})
