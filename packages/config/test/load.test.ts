import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { type Config, type Flags, type LayerName, limitsOf, load, type Origin } from "@scv/config"
import { Approval, Directory, Limits } from "@scv/core"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as World from "./support/world.ts"

const { project, user } = World

const entry = (config: Config, key: string) => config.entries.find((found) => found.key === key)

describe("layers", () => {
  it.scopedLive("are the defaults where there is no file", () =>
    Effect.gen(function* () {
      const world = yield* World.make
      const config = yield* world.load()
      assert.deepStrictEqual(limitsOf(config), Limits.defaults)
      const unset = {
        command: undefined,
        args: undefined,
        model_args: undefined,
        effort_args: undefined,
        home_links: undefined
      }
      assert.deepStrictEqual(config.values, {
        tools: {
          command_timeout_seconds: 120,
          agent_timeout_seconds: 600,
          max_timeout_seconds: 1800,
          output_limit_bytes: 65_536,
          max_read_bytes: 262_144,
          max_write_bytes: 1_048_576,
          approval_policy: "on-risk"
        },
        skills: {
          max_skills: 128,
          max_skill_bytes: 262_144,
          scan_projects: true,
          user_dir: world.at("home/skills"),
          project_dir: ".scv/skills"
        },
        agent: { max_delegation_depth: 2 },
        approvals: { timeout_seconds: 600 },
        daemon: { max_sessions: 256, idle_session_seconds: 86_400 },
        audit: { max_bytes: 134_217_728, keep_days: 90 },
        agents: { claude: unset, codex: unset, pi: unset }
      })
      assert.strictEqual(config.entries.length, 18 + 3 * 5)
      for (const { ignored, origin } of config.entries) {
        assert.deepStrictEqual({ origin, ignored }, { origin: { layer: "default" }, ignored: [] })
      }
      assert.deepStrictEqual(config.sources, [
        { layer: "user", file: world.at(user), exists: false },
        { layer: "project", file: world.at(project), exists: false }
      ])
    })
  )

  it.scopedLive("win in their order, and each value knows its file and line", () =>
    Effect.gen(function* () {
      const world = yield* World.make
      const file = (value: number) =>
        `[tools]\nmax_read_bytes = ${value}\nmax_write_bytes = ${value}\noutput_limit_bytes = ${value}\n`
      world.write(user, `${file(9000)}command_timeout_seconds = 120\n[agents.pi]\nargs = [\n  "a",\n]`)
      world.write(project, "tools = {max_read_bytes = 8000, output_limit_bytes = 8000}")
      world.write("explicit", "\n\ntools.output_limit_bytes = 60_000")
      const config = yield* world.load({
        explicit: world.at("explicit"),
        flags: { "tools.max_write_bytes": 7, "tools.approval_policy": undefined }
      })
      const found = ["output_limit_bytes", "max_read_bytes", "max_write_bytes", "command_timeout_seconds"].map(
        (name) => {
          const { origin, value } = entry(config, `tools.${name}`)!
          return [value, origin.layer, origin.file && path.relative(world.at(""), origin.file), origin.line]
        }
      )
      assert.deepStrictEqual(found, [
        [60_000, "explicit", "explicit", 3],
        [8000, "project", project, 1],
        [7, "flag", undefined, undefined],
        [120, "user", user, 5]
      ])
      assert.deepStrictEqual(config.values.agents.pi?.args, ["a"])
      assert.deepStrictEqual(entry(config, "agents.pi.args")?.origin.line, 7)
      assert.deepStrictEqual(
        config.sources.map(({ exists, layer }) => [layer, exists]),
        [
          ["user", true],
          ["project", true],
          ["explicit", true]
        ]
      )
    })
  )

  it.scopedLive("need no workspace", () =>
    Effect.gen(function* () {
      const world = yield* World.make
      world.write(project, "nonsense")
      const config = yield* load({ home: world.at("home"), agents: [], workspace: undefined })
      assert.deepStrictEqual(config.values.agents, {})
      assert.strictEqual(config.sources.length, 1)
    }).pipe(Effect.provide(World.layer))
  )

  it.scopedLive("hold a flag to what its key takes", () =>
    Effect.gen(function* () {
      const world = yield* World.make
      const flags = { "tools.max_read_bytes": 1, "tools.approval_policy": "CANARY" } as unknown as Flags
      assert.deepStrictEqual((yield* world.faults({ flags })).each, [
        "command line: tools.max_read_bytes: expected an integer between 4 and 67108864, got a smaller one",
        'command line: tools.approval_policy: expected "on-risk", "always", "never", got another string'
      ])
    })
  )

  it.scopedLive("lower a default timeout to the ceiling, and say so", () =>
    Effect.gen(function* () {
      const world = yield* World.make
      world.write(user, "[tools]\ncommand_timeout_seconds = 500\nmax_timeout_seconds = 600")
      world.write(project, "[tools]\nmax_timeout_seconds = 300")
      const config = yield* world.load()
      assert.strictEqual(limitsOf(config).commandTimeoutSeconds, 300)
      assert.strictEqual(limitsOf(config).agentTimeoutSeconds, 300)
      const { note, origin, value } = entry(config, "tools.command_timeout_seconds")!
      assert.deepStrictEqual(
        { note, layer: origin.layer, value },
        { note: "500 is above tools.max_timeout_seconds and lowered to it", layer: "user", value: 300 }
      )
      assert.isUndefined(entry(config, "tools.max_timeout_seconds")?.note)
    })
  )
})

describe("a project", () => {
  it.scopedLive("is ignored where it would loosen, with the place and the reason", () =>
    Effect.gen(function* () {
      const world = yield* World.make
      world.write(user, '[tools]\nmax_read_bytes = 5000\napproval_policy = "always"\n[skills]\nscan_projects = false')
      world.write(
        project,
        '[tools]\nmax_read_bytes = 6000\nmax_write_bytes = 5\napproval_policy = "on-risk"\n' +
          "command_timeout_seconds = 120\n[skills]\nscan_projects = true"
      )
      const config = yield* world.load()
      const ignored = config.entries.flatMap(({ ignored, key }) =>
        ignored.map(({ file, layer, line, why }) => [key, layer, path.relative(world.at(""), String(file)), line, why])
      )
      const why = "a project's value counts only where it is"
      assert.deepStrictEqual(ignored, [
        ["tools.max_read_bytes", "project", project, 2, `${why} smaller`],
        ["tools.approval_policy", "project", project, 4, `${why} stricter`],
        ["skills.scan_projects", "project", project, 7, `${why} false`]
      ])
      assert.strictEqual(config.values.tools.max_read_bytes, 5000)
      assert.strictEqual(config.values.tools.max_write_bytes, 5)
      assert.strictEqual(entry(config, "tools.command_timeout_seconds")?.origin.layer, "default")
    })
  )

  it.scopedLive("may make the policy stricter and switch the scan off", () =>
    Effect.gen(function* () {
      const world = yield* World.make
      world.write(project, 'tools.approval_policy = "never"\nskills.scan_projects = false')
      const { values } = yield* world.load()
      assert.strictEqual(values.tools.approval_policy, "never")
      assert.isFalse(values.skills.scan_projects)
    })
  )

  it.scopedLive("is refused where it sets what only the user may set", () =>
    Effect.gen(function* () {
      const world = yield* World.make
      world.write(
        project,
        '[agents.pi]\ncommand = "CANARY"\nargs = 3\nmodel_args = []\neffort_args = []\nhome_links = []\n' +
          '[skills]\nuser_dir = "/CANARY"\nproject_dir = "CANARY"\n[agents.claude]\n'
      )
      const keys = ["agents.pi.command", "agents.pi.args", "agents.pi.model_args", "agents.pi.effort_args"]
      assert.deepStrictEqual(
        (yield* world.faults()).each,
        [...keys, "agents.pi.home_links", "", "skills.user_dir", "skills.project_dir"].flatMap((key, index) =>
          key === "" ? [] : [`${project}:${index + 2}: ${key}: a project may not set this key`]
        )
      )
    })
  )

  const limits = [
    "tools.command_timeout_seconds",
    "tools.agent_timeout_seconds",
    "tools.max_timeout_seconds",
    "tools.output_limit_bytes",
    "tools.max_read_bytes",
    "tools.max_write_bytes",
    "skills.max_skills",
    "skills.max_skill_bytes",
    "agent.max_delegation_depth",
    "approvals.timeout_seconds"
  ]

  const values = FastCheck.record(
    {
      ...Object.fromEntries(
        limits.map((key): [string, FastCheck.Arbitrary<unknown>] => [
          key,
          key.startsWith("agent.") ? FastCheck.nat(16) : FastCheck.integer({ min: 1024, max: 9999 })
        ])
      ),
      "tools.approval_policy": FastCheck.constantFrom(...Approval.ApprovalPolicy.literals),
      "skills.scan_projects": FastCheck.boolean()
    },
    { requiredKeys: [] }
  )

  const written = (values: object): string =>
    Object.entries(values)
      .map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`)
      .join("")

  it.scopedLive("never loosens anything", () =>
    Effect.gen(function* () {
      const world = yield* World.make
      for (const [ofUser, ofProject] of FastCheck.sample(FastCheck.tuple(values, values), 100)) {
        world.write(user, written(ofUser))
        fs.rmSync(world.at(project), { force: true })
        const without = yield* world.load()
        world.write(project, written(ofProject))
        const given = yield* world.load()
        const about = JSON.stringify({ ofUser, ofProject })
        for (const key of limits) {
          assert.isAtMost(Number(entry(given, key)?.value), Number(entry(without, key)?.value), `${key}: ${about}`)
        }
        const policies = [without, given].map(({ values }) => values.tools.approval_policy)
        assert.isFalse(Approval.isStricter(policies[0]!, policies[1]!), about)
        assert.isTrue(without.values.skills.scan_projects || !given.values.skills.scan_projects, about)
        assert.strictEqual(given.values.skills.user_dir, without.values.skills.user_dir)
        assert.strictEqual(given.values.skills.project_dir, without.values.skills.project_dir)
      }
    })
  )

  it.scopedLive.each([user, "explicit"])("whose file is that of %s is not one", (other) =>
    Effect.gen(function* () {
      const world = yield* World.make
      world.write(project, '[tools]\nmax_read_bytes = 300_000\n[agents.pi]\ncommand = "x"')
      fs.linkSync(world.at(project), world.at(other))
      const explicit = other === "explicit" ? world.at(other) : undefined
      const config = yield* world.load({ explicit })
      const layer: LayerName = explicit === undefined ? "user" : "explicit"
      const origin: Origin = { layer, file: world.at(other), line: 2 }
      assert.deepStrictEqual(entry(config, "tools.max_read_bytes"), {
        key: "tools.max_read_bytes",
        value: 300_000,
        origin,
        ignored: []
      })
      assert.strictEqual(config.values.agents.pi?.command, "x")
      assert.deepStrictEqual(config.sources[1], {
        layer: "project",
        file: world.at(project),
        exists: true,
        countsAs: layer
      })
      world.write(project, "nonsense")
      assert.strictEqual((yield* world.faults({ explicit })).each.length, 1)
    })
  )

  it.scopedLive("that is the user's home directory has the user's file", () =>
    Effect.gen(function* () {
      const world = yield* World.make
      world.write(project, '[agents.pi]\ncommand = "x"')
      const { open } = yield* Directory.Directories
      const config = yield* load({
        home: world.at("workspace/.scv"),
        agents: ["pi"],
        workspace: yield* open(world.at("workspace"))
      })
      assert.strictEqual(entry(config, "agents.pi.command")?.origin.layer, "user")
    }).pipe(Effect.provide(World.layer))
  )
})
