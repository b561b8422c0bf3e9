import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { type Environment, envelopeOf, makeWorkspace, scv } from "./support/scv.ts"

/** A workspace with a home and a file for SCV_CONFIG beside it, and the command in them. */
const makePlace = Effect.map(makeWorkspace, (base) => {
  const at = (name: string) => path.join(base, name)
  fs.mkdirSync(at("workspace/.scv"), { recursive: true })
  fs.mkdirSync(at("home"))
  return {
    at,
    user: (toml: string) => fs.writeFileSync(at("home/config.toml"), toml),
    project: (toml: string) => fs.writeFileSync(at("workspace/.scv/config.toml"), toml),
    explicit: (toml: string) => fs.writeFileSync(at("explicit.toml"), toml),
    run: (args: ReadonlyArray<string>, env: Environment = {}) =>
      scv(args, at("workspace"), "", { SCV_HOME: at("home"), ...env })
  }
})

interface Shown {
  readonly keys: Record<string, { readonly value: unknown; readonly origin: Record<string, unknown> }>
}

describe("scv config", () => {
  it.scopedLive("shows each value with its origin, the later layer winning", () =>
    Effect.gen(function* () {
      const { at, explicit, project, run, user } = yield* makePlace
      user("[tools]\nmax_read_bytes = 1000\nmax_write_bytes = 1000\n")
      project("[tools]\nmax_read_bytes = 500\nmax_write_bytes = 5000\n")
      explicit("[tools]\noutput_limit_bytes = 2048\n")
      const env = { SCV_CONFIG: at("explicit.toml") }
      const { keys } = JSON.parse((yield* run(["config", "show", "--json"], env)).stdout) as Shown
      assert.deepInclude(keys["tools.max_read_bytes"], {
        value: 500,
        origin: { layer: "project", file: at("workspace/.scv/config.toml"), line: 2 }
      })
      assert.deepInclude(keys["tools.max_write_bytes"], { value: 1000 })
      assert.deepInclude(keys["tools.output_limit_bytes"], {
        value: 2048,
        origin: { layer: "explicit", file: at("explicit.toml"), line: 2 }
      })
      assert.deepInclude(keys["tools.approval_policy"], { value: "on-risk", origin: { layer: "default" } })
      const { stdout } = yield* run(["config", "show"], env)
      assert.match(stdout, /^tools\.max_write_bytes +1000 +user: .*home\/config\.toml:3$/m)
      assert.match(stdout, /^ +ignored: .*\.scv\/config\.toml:3: /m)
    })
  )

  it.scopedLive("names every fault of every file, and no value of any", () =>
    Effect.gen(function* () {
      const { at, project, run, user } = yield* makePlace
      user('[tools]\nmax_read_byts = "hunter2"\ncommand_timeout_seconds = "hunter2"\n')
      project('[agents.claude]\ncommand = "hunter2"\n')
      for (const args of [["config", "show"], ["tools"], ["call", "read", "{}"]]) {
        const ended = yield* run(args)
        assert.strictEqual(ended.code, 2)
        assert.match(ended.stderr, /^scv: [^\n]+\n$/)
        assert.include(ended.stderr, `${at("home/config.toml")}:2: tools.max_read_byts: unknown key`)
        assert.include(ended.stderr, `${at("home/config.toml")}:3: tools.command_timeout_seconds: expected`)
        assert.include(ended.stderr, `${at("workspace/.scv/config.toml")}:2: agents.claude.command`)
        assert.notInclude(ended.stderr + ended.stdout, "hunter2")
        if (args[0] === "call") assert.deepInclude(envelopeOf(ended).error, { kind: "config" })
        else assert.strictEqual(ended.stdout, "")
      }
    })
  )

  it.scopedLive("answers at once to what is no file", () =>
    Effect.gen(function* () {
      const { at, run } = yield* makePlace
      execFileSync("mkfifo", [at("home/config.toml")])
      const { code, stderr } = yield* run(["tools"])
      assert.strictEqual(code, 2)
      assert.include(stderr, "is a FIFO, not a regular file")
    })
  )

  it.scopedLive("writes an example for the user alone, once", () =>
    Effect.gen(function* () {
      const { at, run } = yield* makePlace
      const env = { SCV_HOME: at("new/home") }
      const file = at("new/home/config.toml")
      assert.strictEqual((yield* run(["config", "path"], env)).stdout, `${file}\n`)
      assert.strictEqual((yield* run(["config", "init"], env)).stdout, `${file}\n`)
      assert.strictEqual(fs.statSync(file).mode & 0o777, 0o600)
      assert.strictEqual(fs.statSync(path.dirname(file)).mode & 0o777, 0o700)
      assert.strictEqual((yield* run(["config", "show"], env)).code, 0)
      fs.writeFileSync(file, "# mine\n")
      const again = yield* run(["config", "init"], env)
      assert.strictEqual(again.code, 2)
      assert.include(again.stderr, "exists already and is left as it is")
      assert.strictEqual(fs.readFileSync(file, "utf8"), "# mine\n")
    })
  )

  it.scopedLive("is what calls are held to, and a project can only tighten it", () =>
    Effect.gen(function* () {
      const { at, project, run, user } = yield* makePlace
      fs.writeFileSync(at("workspace/a"), "0123456789")
      const read = ["call", "read", '{"path":"a"}']
      project('[tools]\nmax_read_bytes = 4\napproval_policy = "always"\n')
      assert.strictEqual((yield* run(read)).code, 3)
      const allowed = envelopeOf(yield* run([...read, "--yes"]))
      assert.deepInclude(allowed.result, { bytes: 4, truncated: true })
      assert.strictEqual((yield* run([...read, "--policy", "on-risk"])).code, 0)
      user('[tools]\napproval_policy = "never"\nmax_write_bytes = 3\n')
      project('[tools]\napproval_policy = "always"\nmax_write_bytes = 100\n')
      const write = ["call", "write", '{"path":"b","content":"1234","mode":"create"}', "--yes"]
      assert.deepInclude(envelopeOf(yield* run([...write, "--policy", "on-risk"])).error, { kind: "too_large" })
      assert.deepInclude(
        envelopeOf(yield* run(["call", "write", '{"path":"b","content":"1","mode":"create"}', "--yes"])),
        {
          status: "denied"
        }
      )
    })
  )

  it.scopedLive("and all of SCV's own directory is out of a tool's reach", () =>
    Effect.gen(function* () {
      const { at, run } = yield* makePlace
      const env = { SCV_HOME: at("workspace/own") }
      fs.mkdirSync(at("workspace/own/state"), { recursive: true })
      fs.writeFileSync(at("workspace/own/state/notes.txt"), "x")
      assert.strictEqual((yield* run(["call", "read", '{"path":"own/state/notes.txt"}'], env)).code, 3)
      const write = '{"path":"own/config.toml","content":"","mode":"create"}'
      assert.deepInclude(envelopeOf(yield* run(["call", "write", write, "--yes"], env)).error, { kind: "permission" })
    })
  )

  it.scopedLive("wherever its name leads, also where that is not there yet", () =>
    Effect.gen(function* () {
      const { at, run } = yield* makePlace
      fs.mkdirSync(at("workspace/sub"))
      fs.symlinkSync("workspace/later", at("dangling"))
      fs.symlinkSync("workspace/sub", at("link"))
      fs.writeFileSync(at("workspace/dotfile.toml"), "")
      fs.symlinkSync("../workspace/dotfile.toml", at("home/config.toml"))
      const write = (file: string, mode: string) => [
        "call",
        "write",
        JSON.stringify({ path: file, content: "", mode }),
        "--yes"
      ]
      const cases = [
        [write("later/config.toml", "create"), { SCV_HOME: at("dangling") }],
        [write("later/scv/config.toml", "create"), { SCV_HOME: `${at("dangling")}/scv` }],
        [write("own/config.toml", "create"), { SCV_HOME: `${at("link")}/../own` }],
        [write("dotfile.toml", "replace"), {}]
      ] as const
      for (const [args, env] of cases) {
        const { error } = envelopeOf(yield* run(args, env))
        assert.strictEqual(error?.kind, "permission", args[2])
      }
    })
  )

  it.scopedLive("is the user's own even where HOME does not say whose", () =>
    Effect.gen(function* () {
      const { at, project, run } = yield* makePlace
      project("[tools]\nmax_read_bytes = 9999999\n")
      for (const HOME of ["", "."]) {
        const { stdout } = yield* run(["config", "path"], { SCV_HOME: "", HOME })
        assert.isFalse(stdout.startsWith(at("workspace")), stdout)
        assert.isTrue(path.isAbsolute(stdout))
      }
    })
  )
})
