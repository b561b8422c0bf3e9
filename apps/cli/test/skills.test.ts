import * as fs from "node:fs"
import * as Module from "node:module"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { envelopeOf, makeWorkspace, scv } from "./support/scv.ts"

/** A workspace and a home with some skills, and the command in them. */
const makePlace = Effect.map(makeWorkspace, (base) => {
  const at = (name: string) => path.join(base, name)
  const skill = (root: string, name: string, description = `does ${name}`) => {
    fs.mkdirSync(at(`${root}/${name}`), { recursive: true })
    fs.writeFileSync(at(`${root}/${name}/SKILL.md`), `---\nname: ${name}\ndescription: ${description}\n---\nbody\n`)
  }
  fs.mkdirSync(at("ws"))
  fs.mkdirSync(at("outside"))
  return {
    at,
    skill,
    run: (args: ReadonlyArray<string>, env: Record<string, string> = {}) =>
      scv(args, at("ws"), "", { SCV_HOME: at("home"), ...env })
  }
})

describe("scv skills", () => {
  it.scopedLive("shows at a glance what became of each folder", () =>
    Effect.gen(function* () {
      const { at, run, skill } = yield* makePlace
      skill("ws/.scv/skills", "own")
      skill("home/skills", "own")
      skill("ws/.agents/skills", "lint", '"check \\u202estyle"')
      skill("ws/web/.claude/skills", "deploy")
      fs.mkdirSync(at("ws/web/.claude/skills/empty"))
      fs.symlinkSync(at("outside"), at("ws/out"))
      const { code, stderr, stdout } = yield* run(["skills"])
      assert.strictEqual(code, 0)
      assert.strictEqual(stderr, "")
      assert.strictEqual(
        stdout,
        [
          "offered (3)",
          "  own         project    does own",
          "  lint        workspace  check \\u{202e}style",
          "  web:deploy  web        does deploy",
          "shadowed (1)",
          `  ${at("home/skills/own")}  user  its name is that of ${at("ws/.scv/skills/own")}`,
          "refused (1)",
          "  web/.claude/skills/empty  web  has no SKILL.md",
          "not looked into (1)",
          "  out  out  leads out of the workspace",
          ""
        ].join("\n")
      )
    })
  )

  it.scopedLive("says where it looked when there is nothing", () =>
    Effect.gen(function* () {
      const { at, run } = yield* makePlace
      const { code, stdout } = yield* run(["skills"])
      assert.strictEqual(code, 0)
      const roots = ["ws/.scv/skills", "home/skills", "ws/.agents/skills", "ws/.claude/skills"]
      assert.strictEqual(stdout, `no skill folders; looked for in:\n${roots.map((root) => `  ${at(root)}\n`).join("")}`)
    })
  )

  it.scopedLive("prints all that is known as JSON", () =>
    Effect.gen(function* () {
      const { at, run, skill } = yield* makePlace
      skill("home/skills", "a")
      skill("ws/.agents/skills", "a")
      skill("ws/.claude/skills", "a")
      skill("ws/web/.agents/skills", "b")
      fs.mkdirSync(at("home/skills/none"))
      const { skills, roots } = JSON.parse((yield* run(["skills", "--json"])).stdout)
      const user = { source: "user", root: at("home/skills") }
      assert.deepStrictEqual(skills, [
        {
          status: "offered",
          name: "a",
          names: ["a"],
          description: "does a",
          folder: "a",
          path: at("home/skills/a"),
          ...user
        },
        { status: "refused", reason: "has no SKILL.md", folder: "none", path: at("home/skills/none"), ...user },
        {
          status: "offered",
          name: "ws:a",
          names: ["ws:a"],
          description: "does a",
          folder: "a",
          path: at("ws/.agents/skills/a"),
          source: "workspace",
          root: at("ws/.agents/skills")
        },
        {
          status: "shadowed",
          name: "a",
          description: "does a",
          shadowed_by: at("ws/.agents/skills/a"),
          folder: "a",
          path: at("ws/.claude/skills/a"),
          source: "workspace",
          root: at("ws/.claude/skills")
        },
        {
          status: "offered",
          name: "web:b",
          names: ["web:b"],
          description: "does b",
          folder: "b",
          path: at("ws/web/.agents/skills/b"),
          source: "child",
          project: "web",
          root: at("ws/web/.agents/skills")
        }
      ])
      assert.deepStrictEqual(roots[0], { status: "absent", source: "project", root: at("ws/.scv/skills") })
      assert.strictEqual(roots.length, 5)
    })
  )

  it.scopedLive("is configured: where skills lie, how many there are, how long they may be", () =>
    Effect.gen(function* () {
      const { at, run, skill } = yield* makePlace
      for (const name of ["a", "b"]) skill("mine", name)
      skill("ws/skills", "own")
      skill("ws/.agents/skills", "lint")
      fs.mkdirSync(at("home"))
      const config = `user_dir = "${at("mine")}"\nproject_dir = "skills"\nmax_skills = 2\nmax_skill_bytes = 12\nscan_projects = false\n`
      fs.writeFileSync(at("home/config.toml"), `[skills]\n${config}`)
      const { skills } = JSON.parse((yield* run(["skills", "--json"])).stdout)
      assert.deepStrictEqual(
        skills.map(({ folder, status }: { folder: string; status: string }) => `${folder} ${status}`),
        ["own offered", "a offered", "b refused"]
      )
      const { result } = envelopeOf(yield* run(["call", "read_skill", '{"name":"own"}']))
      assert.deepInclude(result, { content: "---\nname: ow", truncated: true })
    })
  )
})

interface Coverage {
  readonly result: ReadonlyArray<{
    readonly url: string
    readonly functions: ReadonlyArray<{
      readonly ranges: ReadonlyArray<{
        readonly startOffset: number
        readonly endOffset: number
        readonly count: number
      }>
    }>
  }>
}

/** Whether a run of the command ran the code around a text of its bundles, as V8 saw it. */
const hasRun = (text: string, folder: string): boolean => {
  const [file = ""] = fs.readdirSync(folder)
  const { result }: Coverage = JSON.parse(fs.readFileSync(path.join(folder, file), "utf8"))
  const scripts = result.filter(({ url }) => url.endsWith(".bundle.cjs"))
  if (scripts.length === 0) throw new Error("no bundle is in the coverage")
  return scripts.some(({ functions, url }) => {
    // The offsets are those in the wrapped module.
    const at = Module.wrap(fs.readFileSync(fileURLToPath(url), "latin1")).indexOf(text)
    if (at === -1) throw new Error("the text is not in the bundle")
    const [innermost] = functions
      .flatMap(({ ranges }) => ranges)
      .filter(({ endOffset, startOffset }) => startOffset <= at && at < endOffset)
      .sort((a, b) => a.endOffset - a.startOffset - (b.endOffset - b.startOffset))
    return (innermost?.count ?? 0) > 0
  })
}

describe("a call that reads no skill", () => {
  it.scopedLive("does not load what reads YAML", () =>
    Effect.gen(function* () {
      const { at, run, skill } = yield* makePlace
      skill("home/skills", "a")
      fs.writeFileSync(at("ws/file"), "")
      // Nothing but the library has it, where its tags are made.
      const text = "tag:yaml.org,2002:timestamp"
      const covered = (name: string, args: ReadonlyArray<string>) =>
        Effect.map(run(args, { NODE_V8_COVERAGE: at(name) }), ({ code }) => {
          assert.strictEqual(code, 0)
          return hasRun(text, at(name))
        })
      assert.isTrue(yield* covered("skill", ["call", "read_skill", '{"name":"a"}']))
      assert.isFalse(yield* covered("read", ["call", "read", '{"path":"file"}']))
      assert.isFalse(yield* covered("tools", ["tools", "--json"]))
    })
  )
})
