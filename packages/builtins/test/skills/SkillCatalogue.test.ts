import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import type { Catalogue } from "@scv/builtins"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { containments, makePlace, open, type Place, skill } from "../support/skills.ts"

/** What became of each folder, by its path in the place. */
const accounts = ({ at }: Place, { folders }: Catalogue): Record<string, string> =>
  Object.fromEntries(
    folders.map((account) => [
      path.relative(at("."), account.path),
      account.status === "offered"
        ? account.names.join(" ")
        : account.status === "shadowed"
          ? `by ${path.relative(at("."), account.by)}`
          : account.reason
    ])
  )

/** What became of the roots that were not read. */
const unread = ({ at }: Place, { roots }: Catalogue): Record<string, string> =>
  Object.fromEntries(
    roots.flatMap(({ reason, root, status }) =>
      status === "read" ? [] : [[path.relative(at("."), root.path), reason ?? status]]
    )
  )

const absent = "absent"

describe.each(containments)("skills, %s", (containment) => {
  it.scopedLive("are found at every place, and named after the project that they are of", () =>
    Effect.gen(function* () {
      const place = yield* makePlace
      place.skill("ws/.scv/skills", "own")
      place.skill("user", "mine")
      place.skill("ws/.agents/skills", "lint")
      place.skill("ws/.claude/skills", "docs")
      place.skill("ws/web/.claude/skills", "deploy")
      place.skill("ws/web/.agents/skills", "build")
      place.skill("ws/.hidden/.agents/skills", "never")
      place.skill("ws/a/b/.agents/skills", "too-deep")
      const { catalogue } = yield* open(place, { containment })
      const found = yield* catalogue
      assert.deepStrictEqual(accounts(place, found), {
        "ws/.scv/skills/own": "own",
        "user/mine": "mine",
        "ws/.agents/skills/lint": "lint ws:lint",
        "ws/.claude/skills/docs": "docs ws:docs",
        "ws/web/.agents/skills/build": "web:build",
        "ws/web/.claude/skills/deploy": "web:deploy"
      })
      assert.deepStrictEqual(unread(place, found), {})
      assert.deepInclude(found.folders[0], { description: "does own" })
    })
  )

  it.scopedLive("are offered to whoever can delegate, where those of projects are wanted", () =>
    Effect.gen(function* () {
      const place = yield* makePlace
      place.skill("user", "mine")
      place.skill("ws/.agents/skills", "lint")
      place.skill("ws/web/.claude/skills", "deploy")
      for (const options of [{ agent: "none" }, { scanProjects: false }] as const) {
        const { catalogue } = yield* open(place, { containment, ...options })
        const found = yield* catalogue
        assert.deepStrictEqual(accounts(place, found), { "user/mine": "mine" })
        assert.deepStrictEqual(unread(place, found), { "ws/.scv/skills": absent })
      }
    })
  )

  it.scopedLive("of one name shadow each other: the project's, the user's, those of agents", () =>
    Effect.gen(function* () {
      const place = yield* makePlace
      for (const name of ["a", "b"]) {
        place.skill("ws/.scv/skills", name)
        place.skill("ws/.agents/skills", name)
      }
      for (const root of ["user", "ws/.agents/skills", "ws/.claude/skills"])
        for (const name of ["b", "c", "d"]) place.skill(root, name)
      place.skill("ws/.claude/skills", "e")
      for (const root of [".agents", ".claude"]) place.skill(`ws/web/${root}/skills`, "c")
      const { catalogue } = yield* open(place, { containment })
      assert.deepStrictEqual(accounts(place, yield* catalogue), {
        "ws/.scv/skills/a": "a",
        "ws/.scv/skills/b": "b",
        "user/b": "by ws/.scv/skills/b",
        "user/c": "c",
        "user/d": "d",
        "ws/.agents/skills/a": "ws:a",
        "ws/.agents/skills/b": "ws:b",
        "ws/.agents/skills/c": "ws:c",
        "ws/.agents/skills/d": "ws:d",
        "ws/.claude/skills/b": "by ws/.agents/skills/b",
        "ws/.claude/skills/c": "by ws/.agents/skills/c",
        "ws/.claude/skills/d": "by ws/.agents/skills/d",
        "ws/.claude/skills/e": "e ws:e",
        "ws/web/.agents/skills/c": "web:c",
        "ws/web/.claude/skills/c": "by ws/web/.agents/skills/c"
      })
    })
  )

  it.scopedLive("of a child project that is named like the workspace keep the names that they are listed by", () =>
    Effect.gen(function* () {
      const place = yield* makePlace
      place.skill("user", "b")
      for (const name of ["a", "b"]) {
        place.skill("ws/.agents/skills", name)
        place.skill("ws/.claude/skills", name)
        place.skill("ws/ws/.agents/skills", name)
      }
      const { catalogue } = yield* open(place, { containment })
      assert.deepStrictEqual(accounts(place, yield* catalogue), {
        "user/b": "b",
        "ws/.agents/skills/a": "a",
        "ws/.agents/skills/b": "ws:b",
        "ws/.claude/skills/a": "by ws/.agents/skills/a",
        "ws/.claude/skills/b": "by ws/.agents/skills/b",
        "ws/ws/.agents/skills/a": "ws:a",
        "ws/ws/.agents/skills/b": "by ws/.agents/skills/b"
      })
    })
  )

  it.scopedLive("are taken in the order of their code points, up to a maximum", () =>
    Effect.gen(function* () {
      const place = yield* makePlace
      for (const name of ["b", "a-b", "a1", "z", "a"]) place.skill("user", name)
      place.put("user/a0/SKILL.md", "no front matter")
      place.put("user/\ue000/SKILL.md", "")
      place.put("user/😀/SKILL.md", "")
      place.skill("ws/.scv/skills", "m")
      const over = "is over the maximum of 3 skills (skills.max_skills)"
      const { catalogue } = yield* open(place, { containment, maxSkills: 3 })
      const found = accounts(place, yield* catalogue)
      assert.deepStrictEqual(
        Object.entries(found).map(([folder, what]) => [path.basename(folder), what === over ? "over" : what]),
        [
          ["m", "m"],
          ["a", "a"],
          ["a-b", "a-b"],
          ["a0", "over"],
          ["a1", "over"],
          ["b", "over"],
          ["z", "over"],
          ["\ue000", "over"],
          ["😀", "over"]
        ]
      )
      assert.strictEqual((yield* (yield* open(place, { containment, maxSkills: 0 })).catalogue).byName.size, 0)
    })
  )

  it.scopedLive("say what is wrong with each folder that is none", () =>
    Effect.gen(function* () {
      const place = yield* makePlace
      const mkdir = (name: string) => fs.mkdirSync(place.at(name), { recursive: true })
      place.skill("outside", "evil")
      place.skill("user", "good")
      place.link("user/alias", "good")
      place.link("user/dangling", "nowhere")
      place.link("user/evil", place.at("outside/evil"))
      place.link("user/loop", "loop")
      place.link("user/self", ".")
      place.link("user/to-file", "README.md")
      place.link("user/half/SKILL.md", "../../outside/evil/SKILL.md")
      place.link("user/linked/SKILL.md", "../texts/linked.md")
      place.link("user/nothing/SKILL.md", "nowhere")
      place.link("user/round/SKILL.md", "SKILL.md")
      place.put("user/texts/linked.md", skill("linked"))
      place.put("user/README.md", "a file is no folder")
      mkdir("user/empty")
      mkdir("user/folder/SKILL.md")
      mkdir("user/fifo")
      execFileSync("mkfifo", [place.at("user/fifo/SKILL.md"), place.at("user/fifo-itself")])
      mkdir("user/.git")
      place.put("user/bytes/SKILL.md", Uint8Array.from([0x2d, 0x2d, 0x2d, 0x0a, 0xff]))
      fs.mkdirSync(Buffer.concat([Buffer.from(place.at("user/")), Buffer.from([0xff])]))
      const { catalogue, read } = yield* open(place, { containment })
      assert.deepStrictEqual(accounts(place, yield* catalogue), {
        "user/.git": "has no SKILL.md",
        "user/alias": '`name`: expected the name of its folder, "alias", got "good"',
        "user/bytes": "SKILL.md is not UTF-8 text",
        "user/dangling": "no such file: nowhere does not exist",
        "user/empty": "has no SKILL.md",
        "user/evil": "leads out of its root",
        "user/fifo": "SKILL.md is a FIFO, not a regular file",
        "user/folder": "SKILL.md is a directory, not a regular file",
        "user/good": "good",
        "user/half": "leads out of its root",
        "user/linked": "linked",
        "user/loop": "more than 40 links on the way",
        "user/nothing": "has no SKILL.md",
        "user/round": "more than 40 links on the way",
        "user/self": "has no SKILL.md",
        "user/texts": "has no SKILL.md",
        "user/to-file": "README.md is a file, not a directory",
        "user/\ufffd": "has a name that is not UTF-8"
      })
      assert.deepInclude(yield* read("good"), { status: "completed", content: skill("good") })
      assert.deepInclude(yield* read("linked"), { status: "completed", content: skill("linked") })
    })
  )

  it.scopedLive("are found however broken the roots beside theirs are", () =>
    Effect.gen(function* () {
      const place = yield* makePlace
      place.skill("outside/skills", "evil")
      place.put("ws/.scv/skills", "a file")
      place.link("ws/.agents", place.at("outside"))
      place.link("ws/.claude/skills", "../web/shared")
      place.skill("ws/web/shared", "fine")
      place.link("ws/web/.agents", "../web/.agents")
      place.link("ws/web/.claude/skills", "../shared")
      for (const child of ["fifo", "gone"]) fs.mkdirSync(place.at(`ws/${child}/.agents`), { recursive: true })
      execFileSync("mkfifo", [place.at("ws/fifo/.agents/skills")])
      place.link("ws/gone/.agents/skills", "nowhere")
      place.link("ws/out", place.at("outside"))
      place.link("ws/again", "web")
      place.link("ws/loop", "loop")
      place.link("ws/up", ".")
      place.put("ws/file", "")
      place.link("ws/to-file", "file")
      place.skill("user", "mine")
      const { catalogue } = yield* open(place, { containment })
      const found = yield* catalogue
      assert.deepStrictEqual(accounts(place, found), { "user/mine": "mine", "ws/.claude/skills/fine": "fine ws:fine" })
      const same = `is the same folder as ${place.at("ws/.claude/skills")}`
      assert.deepStrictEqual(unread(place, found), {
        "ws/.scv/skills": "is a file, not a directory",
        "ws/.agents/skills": "leads out of the workspace",
        "ws/fifo/.agents/skills": "is a file, not a directory",
        "ws/web/.agents/skills": "more than 40 links on the way",
        "ws/web/.claude/skills": same,
        "ws/again/.agents/skills": "more than 40 links on the way",
        "ws/again/.claude/skills": same,
        "ws/up/.agents/skills": "leads out of the workspace",
        "ws/up/.claude/skills": same,
        "ws/out": "leads out of the workspace",
        "ws/loop": "more than 40 links on the way"
      })
    })
  )

  it.scopedLive("of a directory that is linked beside itself go by its own name", () =>
    Effect.gen(function* () {
      const place = yield* makePlace
      place.skill("ws/web/.agents/skills", "deploy")
      place.skill("ws/packages/api/.agents/skills", "serve")
      place.link("ws/a", "web")
      place.link("ws/api", "packages/api")
      const { catalogue } = yield* open(place, { containment })
      assert.deepStrictEqual(accounts(place, yield* catalogue), {
        "ws/web/.agents/skills/deploy": "web:deploy",
        "ws/api/.agents/skills/serve": "api:serve"
      })
    })
  )

  it.scopedLive("are looked for in 256 child directories, in order", () =>
    Effect.gen(function* () {
      const place = yield* makePlace
      const names = Array.from({ length: 258 }, (_, i) => `d${String(i).padStart(3, "0")}`)
      for (const name of names) place.skill(`ws/${name}/.agents/skills`, "x")
      for (let i = 0; i < 20; i++) place.put(`ws/a-file-${i}`, "")
      place.link("ws/zzz", "d000")
      const { catalogue } = yield* open(place, { containment, maxSkills: 10_000 })
      const found = yield* catalogue
      assert.deepStrictEqual(
        [...found.byName.keys()],
        names.slice(0, 256).map((name) => `${name}:x`)
      )
      assert.strictEqual(unread(place, found).ws, "has more than 256 folders and links: d256 and the rest are left out")
    })
  )

  it.scopedLive("are found at a bounded cost among folders that are none", () =>
    Effect.gen(function* () {
      const place = yield* makePlace
      for (let i = 0; i < 2001; i++) fs.mkdirSync(place.at(`user/a${i}`), { recursive: true })
      place.skill("user", "b")
      place.skill("ws/.scv/skills", "own")
      const { catalogue } = yield* open(place, { containment })
      const { byName, folders } = yield* catalogue
      assert.deepStrictEqual([...byName.keys()], ["own"])
      assert.deepInclude(folders.at(-1), { folder: "b", reason: "comes after 2000 folders that offer nothing" })
      assert.strictEqual(folders.length, 2003)
    })
  )

  it.scopedLive("are named so that no folder can forge anything", () =>
    Effect.gen(function* () {
      const place = yield* makePlace
      place.skill("ws/x\n- own\u202e/.agents/skills", "deploy")
      const { catalogue, prompt, read } = yield* open(place, { containment })
      const name = "x\\n- own\\u{202e}:deploy"
      assert.deepStrictEqual([...(yield* catalogue).byName.keys()], [name])
      assert.deepInclude(yield* read(name), { status: "completed", name })
      assert.strictEqual((yield* prompt).match(/^- /gm)?.length, 1)
    })
  )

  it.scopedLive("are found once a session, and stay what they are", () =>
    Effect.gen(function* () {
      const place = yield* makePlace
      place.skill("user", "a")
      const { catalogue, read } = yield* open(place, { containment })
      place.skill("user", "b")
      const first = yield* catalogue
      assert.deepStrictEqual([...first.byName.keys()], ["a", "b"])
      place.skill("user", "c")
      assert.strictEqual(yield* catalogue, first)
      assert.deepInclude(yield* read("c"), { status: "failed", kind: "not_found" })
      assert.deepInclude(yield* (yield* open(place, { containment })).read("c"), { status: "completed" })
    })
  )

  it.scopedLive("are found for the next who asks when the first is gone", () =>
    Effect.gen(function* () {
      const place = yield* makePlace
      for (let i = 0; i < 300; i++) place.skill("user", `s${i}`)
      const { catalogue } = yield* open(place, { containment, maxSkills: 1000 })
      const first = yield* Effect.fork(catalogue)
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(first)
      assert.strictEqual((yield* catalogue).byName.size, 300)
    })
  )
})
