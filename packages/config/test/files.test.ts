import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { load } from "@scv/config"
import { Directory, Display } from "@scv/core"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as World from "./support/world.ts"

const { project, user } = World

describe("a file", () => {
  const reasons: ReadonlyArray<readonly [content: string | Uint8Array, ...messages: ReadonlyArray<string>]> = [
    ["tools = 3", "1: tools: expected a table, got an integer"],
    ["\n[[tools]]\n", "2: tools: expected a table, got an array of: a table"],
    ["agents.pi = true", "1: agents.pi: expected a table, got a boolean"],
    ["[tools]\nmax_read_bytes = 1979-05-27", "2: tools.max_read_bytes: INT, got a date or time"],
    ["[tools]\nmax_read_bytes = 4096.0", "2: tools.max_read_bytes: INT, got a float"],
    ["[tools]\nmax_read_bytes = 1e3", "2: tools.max_read_bytes: INT, got a float"],
    ["[tools]\nmax_read_bytes = inf", "2: tools.max_read_bytes: INT, got a float"],
    ["[tools]\nmax_read_bytes = -nan", "2: tools.max_read_bytes: INT, got a float"],
    ["[tools]\nmax_read_bytes = 9007199254740993", "2: tools.max_read_bytes: INT, got a larger one"],
    [`[tools]\nmax_read_bytes = ${"9".repeat(500)}`, "2: tools.max_read_bytes: INT, got a larger one"],
    ["[tools]\nmax_read_bytes = -1", "2: tools.max_read_bytes: INT, got a smaller one"],
    ['[tools]\nmax_read_bytes = "4096"', "2: tools.max_read_bytes: INT, got a string"],
    ["[tools]\nmax_read_bytes = {}", "2: tools.max_read_bytes: INT, got a table"],
    ["[tools]\nmax_read_bytes = []", "2: tools.max_read_bytes: INT, got an empty array"],
    ["[skills]\nscan_projects = 1", "2: skills.scan_projects: expected true or false, got an integer"],
    ['[skills]\nuser_dir = "~/skills"', "2: skills.user_dir: expected an absolute path, got a string"],
    ...["../x", "/x", "a/../b", "a//b", "./a", "", "a\\u0000"].map(
      (path) =>
        [
          `skills.project_dir = "${path}"`,
          `1: skills.project_dir: expected a path inside the workspace, relative and without \`..\`, got ${
            path === "" ? "an empty string" : path.includes("u0000") ? "a string with a NUL character" : "a string"
          }`
        ] as const
    ),
    ['agents.pi.command = ""', "1: agents.pi.command: expected a non-empty string without NUL, got an empty string"],
    ['agents.pi.args = "x"', "1: agents.pi.args: expected an array of strings without NUL, got a string"],
    [
      'agents.pi.args = ["x", 1, ["y"], {}, "z"]',
      "1: agents.pi.args: expected an array of strings without NUL, got an array of: a string, an integer, an array, " +
        "a table"
    ],
    [
      'agents.pi.args = ["\\u0000"]',
      "1: agents.pi.args: expected an array of strings without NUL, got an array of: a string with a NUL character"
    ],
    ...["..", "/etc", "a/../../b", ""].map(
      (name) =>
        [
          `agents.pi.home_links = ["${name}"]`,
          "1: agents.pi.home_links: expected an array of names below the home directory, relative and without `..`, " +
            `got an array of: ${name === "" ? "an empty string" : "a string"}`
        ] as const
    ),
    [
      "[tools]\n\ncomand_timeout_seconds = 1",
      "3: tools.comand_timeout_seconds: unknown key; did you mean `command_timeout_seconds`?"
    ],
    ["max_read_bytes = 5", "1: max_read_bytes: unknown key; did you mean `tools.max_read_bytes`?"],
    ["[tool]\nmax_read_bytes = 5", "1: tool: unknown table; did you mean `tools`?"],
    ["[agent.claude]\ncommand = 'x'", "1: agent.claude: unknown table; did you mean `agents.claude`?"],
    ["[agents.gemini]", "1: agents.gemini: unknown table"],
    ['"tools.max_read_bytes" = 5', '1: "tools.max_read_bytes": unknown key'],
    ['"\\u001b[2J\\n" = 5', '1: "\\u001b[2J\\n": unknown key'],
    ["__proto__ = 1", "1: __proto__: unknown key"],
    ["[__proto__]\ntools = 1", "1: __proto__: unknown table"],
    [
      "[tools.__proto__]\nx = 1\n[constructor.prototype]\ntoString = 1",
      "1: tools.__proto__: unknown table",
      "3: constructor: unknown table"
    ],
    [
      "tools.constructor = 1\ntools.toString = 2",
      "1: tools.constructor: unknown key",
      "2: tools.toString: unknown key"
    ],
    ["[tools\n", "1: not TOML: illegal character in key"],
    [Uint8Array.of(0x23, 0xff), " is not UTF-8 text"],
    ["#".repeat(65_537), " is larger than 65536 bytes"]
  ]

  const whole = ([content]: (typeof reasons)[number]) => JSON.stringify(content).slice(0, 60)

  it.scopedLive.each(reasons.map((row) => [whole(row), ...row] as const))("%s", ([, content, ...expected]) =>
    Effect.gen(function* () {
      const world = yield* World.make
      world.write(user, content)
      assert.deepStrictEqual(
        (yield* world.faults()).each,
        expected.map((message) => `${user}:${message.replace("INT", "expected an integer between 4 and 67108864")}`)
      )
      assert.isUndefined(({} as Record<string, unknown>).tools)
    })
  )

  it.scopedLive("may begin with a byte order mark, end without a line end, and have the ends of lines of Windows", () =>
    Effect.gen(function* () {
      const world = yield* World.make
      world.write(user, "\uFEFF[tools]\r\n\r\nmax_read_bytes = 4\r\noutput_limit_bytes = 4096")
      const { values } = yield* world.load()
      assert.deepStrictEqual([values.tools.max_read_bytes, values.tools.output_limit_bytes], [4, 4096])
      world.write(user, "\uFEFF\uFEFF")
      assert.deepStrictEqual((yield* world.faults()).each, [`${user}:1: not TOML: illegal character in key`])
    })
  )

  it.scopedLive("may be empty or of the largest size", () =>
    Effect.gen(function* () {
      const world = yield* World.make
      for (const content of ["", "#".repeat(65_536)]) {
        world.write(user, content)
        assert.isTrue((yield* world.load()).sources[0]?.exists)
      }
    })
  )

  it.scopedLive("is told of together with all the others", () =>
    Effect.gen(function* () {
      const world = yield* World.make
      world.write(user, "a = 1\nb = 1")
      world.write(project, "c = 1\n[agents.pi]\nargs = []")
      world.write("explicit", "[")
      const { all } = yield* world.faults({ explicit: world.at("explicit"), flags: { "skills.max_skills": -1 } })
      assert.deepStrictEqual(all.split("; "), [
        `${user}:1: a: unknown key`,
        `${user}:2: b: unknown key`,
        `${project}:1: c: unknown key`,
        `${project}:3: agents.pi.args: a project may not set this key`,
        "explicit:1: not TOML: incomplete key-value: cannot find end of key",
        "command line: skills.max_skills: expected an integer between 0 and 10000, got a smaller one"
      ])
      world.write(user, Array.from({ length: 30 }, (_, index) => `k${index} = 1`).join("\n"))
      const many = yield* world.faults()
      assert.strictEqual(many.each.length, 32)
      assert.match(many.all, /:10: k9: unknown key; and 22 more$/)
    })
  )

  const makers: ReadonlyArray<readonly [what: string, make: (at: string) => void, reason: string]> = [
    ["that is a FIFO", (at) => execFileSync("/usr/bin/env", ["mkfifo", at]), "is a FIFO, not a regular file"],
    ["that leads to a device", (at) => fs.symlinkSync("/dev/zero", at), "is a device, not a regular file"],
    ["that is a directory", (at) => fs.mkdirSync(at), "is a directory, not a regular file"],
    [
      "of 1 GB",
      (at) => {
        fs.writeFileSync(at, "")
        fs.truncateSync(at, 1_000_000_000)
      },
      "is larger than 65536 bytes"
    ],
    ["that is a link to nothing", (at) => fs.symlinkSync("nothing", at), "is a link that leads nowhere"],
    ["that is a link to itself", (at) => fs.symlinkSync("config.toml", at), "more than 40 links on the way"]
  ]

  for (const layer of [user, project]) {
    it.scopedLive.each(makers)(`%s is answered at once: ${layer}`, ([, make, reason]) =>
      Effect.gen(function* () {
        const world = yield* World.make
        make(world.at(layer))
        const expected =
          reason.includes("device") && layer === project ? "leads through a link out of the workspace" : reason
        assert.deepStrictEqual((yield* world.faults()).each, [`${layer}: ${expected}`])
      })
    )
  }

  it.scopedLive("that SCV_CONFIG names must exist", () =>
    Effect.gen(function* () {
      const world = yield* World.make
      const failing = (explicit: string) => Effect.map(world.faults({ explicit }), ({ each }) => each)
      assert.deepStrictEqual(yield* failing(world.at("nothing")), ["nothing: no such file"])
      assert.deepStrictEqual(yield* failing("/dev/zero"), ["/dev/zero: is a device, not a regular file"])
      fs.symlinkSync("nothing", world.at("dangling"))
      assert.deepStrictEqual(yield* failing(world.at("dangling")), ["dangling: is a link that leads nowhere"])
    })
  )

  it.scopedLive("of the user may be a link to anywhere", () =>
    Effect.gen(function* () {
      const world = yield* World.make
      fs.mkdirSync(world.at("dotfiles"))
      world.write("dotfiles/scv", "tools.max_read_bytes = 9000")
      fs.symlinkSync("../dotfiles/scv", world.at(user))
      assert.strictEqual((yield* world.load()).values.tools.max_read_bytes, 9000)
      fs.rmSync(world.at(user))
      fs.symlinkSync(world.at("dotfiles/scv"), world.at(user))
      assert.strictEqual((yield* world.load()).values.tools.max_read_bytes, 9000)
    })
  )

  it.scopedLive("of a project may be a link that stays inside, and no other", () =>
    Effect.gen(function* () {
      const world = yield* World.make
      world.write("workspace/inside", "tools.max_read_bytes = 9000")
      world.write("outside", "CANARY = 1")
      fs.symlinkSync("../inside", world.at(project))
      assert.strictEqual((yield* world.load()).values.tools.max_read_bytes, 9000)
      for (const target of ["../../outside", world.at("outside")]) {
        fs.rmSync(world.at(project))
        fs.symlinkSync(target, world.at(project))
        const [message = ""] = (yield* world.faults()).each
        assert.match(message, /config\.toml: leads (through a link )?out of the workspace$/)
      }
    })
  )

  it.scopedLive("that may not be read is an error", () =>
    Effect.gen(function* () {
      const directories = yield* Directory.Directories
      const root: Directory.Directory = {
        ...(yield* directories.open("/")),
        read: (path) => new Directory.DirectoryError({ kind: "permission", path, detail: "permission denied" })
      }
      const errors = yield* load({ home: "/h", agents: [], workspace: undefined }).pipe(
        Effect.provideService(Directory.Directories, { ...directories, open: () => Effect.succeed(root) }),
        Effect.flip
      )
      assert.strictEqual(errors.message, "/h/config.toml: permission denied")
    }).pipe(Effect.provide(World.layer))
  )

  it.scopedLive("may be missing with the directories above it, and none of them may be a file", () =>
    Effect.gen(function* () {
      const world = yield* World.make
      fs.rmSync(world.at("home"), { recursive: true })
      fs.rmSync(world.at("workspace/.scv"), { recursive: true })
      assert.deepStrictEqual(
        (yield* world.load()).sources.map(({ exists }) => exists),
        [false, false]
      )
      world.write("home", "")
      world.write("workspace/.scv", "")
      const reason = "is a file, not a directory"
      assert.deepStrictEqual((yield* world.faults()).each, [
        `${user}: ${world.at("home").slice(1)} ${reason}`,
        `${project}: .scv ${reason}`
      ])
    })
  )

  const canary = "CANARY"

  const toml = FastCheck.array(
    FastCheck.tuple(
      FastCheck.constantFrom(
        "tools",
        "skills",
        "agents.pi",
        "agent",
        "x",
        "'y.z'",
        "\u0000",
        "__proto__",
        "tools.max_skills"
      ),
      FastCheck.constantFrom("max_read_bytes", "approval_policy", "args", "command", "scan_projects", "user_dir", "z"),
      FastCheck.constantFrom("=", "= ", " ", "=="),
      FastCheck.constantFrom(
        `"${canary}"`,
        `'${canary}`,
        `["${canary}", 3]`,
        `{ a = "${canary}" }`,
        `${canary}`,
        `3 ${canary}`
      ),
      FastCheck.constantFrom("\n", "\r\n", "\n[", ",", "")
    ),
    { maxLength: 6 }
  ).map((rows) => rows.map(([table, ...parts]) => `[${table}]\n${parts.join("")}`).join(""))

  const content = FastCheck.oneof(
    FastCheck.uint8Array({ maxLength: 200 }),
    FastCheck.string({ unit: "binary", maxLength: 100 }).map((text) => new TextEncoder().encode(text)),
    toml.map((text) => new TextEncoder().encode(text))
  )

  it.scopedLive("of any bytes gives a configuration, or errors of one line without a value of it", () =>
    Effect.gen(function* () {
      const world = yield* World.make
      for (const bytes of FastCheck.sample(FastCheck.tuple(content, content), 1000)) {
        world.write(user, bytes[0])
        world.write(project, bytes[1])
        const loaded = yield* Effect.either(world.load())
        if (Either.isRight(loaded)) continue
        const { errors, message } = loaded.left
        for (const one of [message, ...errors.map((error) => error.message)]) {
          assert.notInclude(one, canary)
          assert.strictEqual(one, Display.inline(one))
        }
      }
    })
  )
})
