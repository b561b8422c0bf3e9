import * as fs from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import { containments, makePlace, open, skill } from "../support/skills.ts"

describe.each(containments)("read_skill, %s", (containment) => {
  it.scopedLive("gives the whole text of a skill by each of its names", () =>
    Effect.gen(function* () {
      const place = yield* makePlace
      place.skill("ws/.agents/skills", "lint")
      place.put("user/crlf/SKILL.md", "\ufeff---\r\nname: crlf\r\ndescription: d\r\n---\r\nbody\r\n")
      const { read, session } = yield* open(place, { containment })
      for (const name of ["lint", "ws:lint"]) {
        assert.deepStrictEqual(yield* read(name), {
          status: "completed",
          name,
          content: skill("lint"),
          total_bytes: skill("lint").length,
          truncated: false
        })
      }
      const content = "\ufeff---\r\nname: crlf\r\ndescription: d\r\n---\r\nbody\r\n"
      assert.deepInclude(yield* read("crlf"), { content, total_bytes: Buffer.byteLength(content) })
      assert.strictEqual(session.tools[0]?.risk, "read_only")
    })
  )

  it.scopedLive("takes a name that is listed, and nothing else", () =>
    Effect.gen(function* () {
      const place = yield* makePlace
      place.skill("user", "good-one")
      place.put("user/loose.md", "SECRET")
      place.put("user/none/other.md", "SECRET")
      place.skill("ws/web/.agents/skills", "deploy")
      place.put("ws/web/.agents/skills/bad/SKILL.md", "SECRET")
      const { read, session } = yield* open(place, { containment })
      const known = "known: good-one, web:deploy"
      for (const name of [
        "../user/good-one",
        "good-one/SKILL.md",
        "./good-one",
        "/etc/passwd",
        "loose.md",
        "deploy",
        "",
        "__proto__"
      ]) {
        const { kind, message, status } = yield* read(name)
        assert.strictEqual(kind, name === "" ? "invalid_input" : "not_found", name)
        assert.strictEqual(status, name === "" ? "invalid" : "failed")
        assert.notInclude(String(message), "SECRET")
      }
      const messageOf = (name: string) => Effect.map(read(name), ({ message }) => message)
      assert.strictEqual(yield* messageOf("goodone"), `no skill named "goodone"; did you mean \`good-one\`?; ${known}`)
      assert.strictEqual(
        yield* messageOf("Good-One"),
        `no skill named "Good-One"; did you mean \`good-one\`?; ${known}`
      )
      assert.strictEqual(yield* messageOf("x\ny\u202e"), `no skill named "x\\ny\\u{202e}"; ${known}`)
      assert.strictEqual(yield* messageOf("none"), '"none" is not offered as a skill: has no SKILL.md')
      assert.match(
        String(yield* messageOf("web:bad")),
        /^"web:bad" is not offered as a skill: SKILL\.md has no front matter/
      )
      const { error } = yield* session.call({ tool: "read_skill", input: { name: "good-one", path: "x" } })
      assert.deepInclude(error, { kind: "invalid_input" })
      assert.include(error?.message, "`path`")
    })
  )

  it.scopedLive("lists no more names than a few in an error", () =>
    Effect.gen(function* () {
      const place = yield* makePlace
      const { read } = yield* open(place, { containment })
      assert.deepInclude(yield* read("x"), { message: 'no skill named "x"; there are none' })
      for (let i = 10; i < 50; i++) place.skill("user", `skill-${i}`)
      const { message } = yield* (yield* open(place, { containment })).read("x")
      assert.match(String(message), /^no skill named "x"; known: skill-10, (skill-\d\d, ){18}skill-29 and 20 more$/)
    })
  )

  it.scopedLive("cuts a long text before the character that does not fit", () =>
    Effect.gen(function* () {
      const place = yield* makePlace
      const content = skill("long", "d", "aé你😀".repeat(2))
      place.put("user/long/SKILL.md", content)
      const total = Buffer.byteLength(content)
      for (let max = total - 22; max <= total + 1; max++) {
        const { read } = yield* open(place, { containment, maxSkillBytes: max })
        const result = yield* read("long")
        const text = String(result.content)
        const bytes = Buffer.byteLength(text)
        assert.isTrue(content.startsWith(text) && bytes <= max && bytes > Math.min(max, total) - 4, `${max}`)
        assert.deepInclude(result, { status: "completed", total_bytes: total, truncated: bytes < total })
      }
    })
  )

  it.scopedLive("refuses a text that is no UTF-8 further down", () =>
    Effect.gen(function* () {
      const place = yield* makePlace
      place.put("user/x/SKILL.md", Buffer.concat([Buffer.from(skill("x", "d", "a".repeat(9000))), Buffer.from([0xff])]))
      const { read } = yield* open(place, { containment })
      assert.deepInclude(yield* read("x"), {
        status: "failed",
        kind: "not_utf8",
        message: "skill x: SKILL.md is not UTF-8 text"
      })
      const { read: readStart } = yield* open(place, { containment, maxSkillBytes: 9000 })
      assert.deepInclude(yield* readStart("x"), { status: "completed", truncated: true })
    })
  )

  it.scopedLive("reads nothing else that was put in a skill's place", () =>
    Effect.gen(function* () {
      const place = yield* makePlace
      place.put("outside/x/SKILL.md", skill("x", "from outside", "SECRET"))
      place.put("outside/skills/x/SKILL.md", skill("x", "from outside", "SECRET"))
      place.put("user/notes", "SECRET")
      const at = place.at("ws/.agents/skills/x")
      const rm = (name: string) => fs.rmSync(name, { recursive: true, force: true })
      const cases: ReadonlyArray<readonly [what: string, swap: () => void, answer: Record<string, unknown>]> = [
        [
          "the folder, for a link to outside",
          () => {
            rm(at)
            fs.symlinkSync(place.at("outside/x"), at)
          },
          { status: "invalid", kind: "outside_workspace", message: "skill x: leads out of its root" }
        ],
        [
          "the file, for a link to outside",
          () => {
            rm(at)
            fs.mkdirSync(at)
            fs.symlinkSync("../../../../outside/x/SKILL.md", `${at}/SKILL.md`)
          },
          { status: "invalid", kind: "outside_workspace" }
        ],
        [
          "the file, for one of the root that is no skill",
          () => {
            rm(at)
            fs.mkdirSync(at)
            fs.writeFileSync(`${at}/../notes`, "SECRET")
            fs.symlinkSync("../notes", `${at}/SKILL.md`)
          },
          { status: "failed", kind: "changed" }
        ],
        [
          "the file, for another skill",
          () => fs.writeFileSync(`${at}/SKILL.md`, skill("y", "d", "SECRET")),
          { status: "failed", kind: "changed" }
        ],
        [
          "the root, for a link to outside",
          () => {
            rm(place.at("ws/.agents/skills"))
            fs.symlinkSync(place.at("outside/skills"), place.at("ws/.agents/skills"))
          },
          { status: "invalid", kind: "outside_workspace" }
        ],
        [
          "the parent of the root, for a link to outside",
          () => {
            rm(place.at("ws/.agents"))
            fs.symlinkSync(place.at("outside"), place.at("ws/.agents"))
          },
          { status: "invalid", kind: "outside_workspace" }
        ],
        ["the folder, for nothing", () => rm(at), { status: "failed", kind: "not_found" }],
        [
          "the file, for a folder",
          () => {
            rm(at)
            fs.mkdirSync(`${at}/SKILL.md`, { recursive: true })
          },
          { status: "failed", kind: "not_a_file", message: "skill x: SKILL.md is a directory, not a regular file" }
        ]
      ]
      for (const [what, swap, answer] of cases) {
        rm(place.at("ws/.agents"))
        place.skill("ws/.agents/skills", "x")
        const { read } = yield* open(place, { containment })
        assert.deepInclude(yield* read("x"), { status: "completed" }, what)
        swap()
        const found = yield* read("x")
        assert.deepInclude(found, answer, what)
        assert.notInclude(JSON.stringify(found), "SECRET", what)
      }
    })
  )

  it.scopedLive("reads what its author made of it meanwhile", () =>
    Effect.gen(function* () {
      const place = yield* makePlace
      place.skill("user", "x")
      const { read } = yield* open(place, { containment })
      yield* read("x")
      fs.rmSync(place.at("user"), { recursive: true })
      place.skill("user", "x", "another description", "another body")
      assert.deepInclude(yield* read("x"), { content: skill("x", "another description", "another body") })
    })
  )

  it.scopedLive("does not look at skills before it is called", () =>
    Effect.gen(function* () {
      const place = yield* makePlace
      place.skill("user", "before")
      const { read, session } = yield* open(place, { containment })
      yield* session.call({ tool: "read_skill", input: {} })
      place.skill("user", "after")
      assert.deepInclude(yield* read("after"), { status: "completed" })
    })
  )

  it.scopedLive.prop(
    "answers any name",
    [FastCheck.string({ unit: "binary" })],
    ([name]) =>
      Effect.gen(function* () {
        const place = yield* makePlace
        place.skill("user", "a")
        const { read } = yield* open(place, { containment })
        const { kind, message } = yield* read(name)
        assert.include(["not_found", "invalid_input"], kind)
        assert.notMatch(String(message), /[\p{Cc}\u2028]/u)
      }),
    { fastCheck: { numRuns: 30 } }
  )
})
