import { assert, describe, it } from "@effect/vitest"
import { Show } from "@scv/config"
import { Display } from "@scv/core"
import * as Effect from "effect/Effect"
import { hide } from "../src/Secret.ts"
import * as World from "./support/world.ts"

const { project, user } = World

const made = Effect.gen(function* () {
  const world = yield* World.make
  world.write(
    user,
    '[tools]\nmax_read_bytes = 54321\nmax_timeout_seconds = 60\n[agents.pi]\nargs = ["--api-key", "CANARY", "\\u202e\\n"]\n'
  )
  world.write(project, '[tools]\nmax_read_bytes = 60000\napproval_policy = "always"')
  return { world, config: yield* world.load({ flags: { "skills.max_skills": 1 } }) }
})

describe("text", () => {
  it.scopedLive("says of each key its value, its origin, and what was ignored", () =>
    Effect.gen(function* () {
      const { config, world } = yield* made
      const lines = Show.text(config).replaceAll(world.at("/"), "").split("\n")
      assert.deepStrictEqual(lines.slice(0, 11), [
        "tools.command_timeout_seconds  60                        default",
        "    note: 120 is above tools.max_timeout_seconds and lowered to it",
        "tools.agent_timeout_seconds    60                        default",
        "    note: 600 is above tools.max_timeout_seconds and lowered to it",
        `tools.max_timeout_seconds      60                        user: ${user}:3`,
        "tools.output_limit_bytes       65536                     default",
        `tools.max_read_bytes           54321                     user: ${user}:2`,
        `    ignored: ${project}:2: a project's value counts only where it is smaller`,
        "tools.max_write_bytes          1048576                   default",
        `tools.approval_policy          "always"                  project: ${project}:3`,
        "skills.max_skills              1                         command line"
      ])
      assert.deepStrictEqual(lines.slice(-6), [
        "agents.pi.command              (not set)                 default",
        `agents.pi.args                 [ "--api-key", "***", "\\u{202e}\\n" ]  user: ${user}:5`,
        "agents.pi.model_args           (not set)                 default",
        "agents.pi.effort_args          (not set)                 default",
        "agents.pi.home_links           (not set)                 default",
        ""
      ])
      for (const line of lines) assert.strictEqual(line, Display.inline(line))
    })
  )
})

describe("json", () => {
  it.scopedLive("says the same, and which files were looked for", () =>
    Effect.gen(function* () {
      const { config, world } = yield* made
      const shown = JSON.parse(JSON.stringify(Show.json(config)).replaceAll(world.at("/"), ""))
      assert.deepStrictEqual(shown.sources, [
        { layer: "user", file: user, exists: true },
        { layer: "project", file: project, exists: true }
      ])
      assert.deepStrictEqual(
        ["tools.command_timeout_seconds", "tools.max_read_bytes", "agents.pi.args", "agents.pi.command"].map(
          (key) => shown.keys[key]
        ),
        [
          {
            value: 60,
            origin: { layer: "default" },
            ignored: [],
            note: "120 is above tools.max_timeout_seconds and lowered to it"
          },
          {
            value: 54_321,
            origin: { layer: "user", file: user, line: 2 },
            ignored: [
              {
                layer: "project",
                file: project,
                line: 2,
                why: "a project's value counts only where it is smaller"
              }
            ]
          },
          {
            value: ["--api-key", "***", "\\u{202e}\\n"],
            origin: { layer: "user", file: user, line: 5 },
            ignored: []
          },
          { value: null, origin: { layer: "default" }, ignored: [] }
        ]
      )
    })
  )
})

describe("hide", () => {
  it("hides what is named like a secret, and what looks like one", () => {
    const cases: ReadonlyArray<readonly [given: unknown, shown: unknown]> = [
      ["--api-key=abc", "--api-key=***"],
      ["GITHUB_TOKEN=abc=def", "GITHUB_TOKEN=***"],
      ["Authorization: Bearer abc\ndef", "Authorization: ***"],
      ['model_providers.x.api_key="abc"', "model_providers.x.api_key=***"],
      ["https://h/?access_token=abc", "https://h/?access_token=***"],
      ["https://user:pass@host/x", "https://user:***@host/x"],
      ["use sk-abcdefgh12345678 here", "use *** here"],
      ["ghp_abcdefgh12345678", "***"],
      ["xoxb-1234567890-abc", "***"],
      ["eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl", "***"],
      [
        ["-p", "--password", "-abc", "x"],
        ["-p", "--password", "***", "x"]
      ],
      [
        ["--token", "--token", "a"],
        ["--token", "***", "***"]
      ],
      [
        ["--model", "gpt", "key"],
        ["--model", "gpt", "key"]
      ],
      ["/usr/bin/ask-sk-1", "/usr/bin/ask-sk-1"],
      ["on-risk", "on-risk"],
      [5, 5],
      [undefined, undefined]
    ]
    for (const [given, shown] of cases) assert.deepStrictEqual(hide(given), shown)
  })
})
