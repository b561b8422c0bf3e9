/** What is checked of one agent, in order: each check begins where the one before it ended. */
import * as fs from "node:fs"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import { expect, makeCalls, quoted } from "./calls.ts"
import type { Cli } from "./clis.ts"
import type { ModelService } from "./modelService.ts"
import { changedSince, modeOf, pathsBelow, sharedTemporary, stateOfUser } from "./places.ts"
import { key, privateHome, setups, token } from "./setups.ts"
import type { World } from "./world.ts"

/** Answers with what was seen, or fails with it. */
export interface Check {
  readonly name: string
  readonly body: Effect.Effect<string, string>
}

const contentsOf = (directory: string): string =>
  fs
    .readdirSync(directory)
    .map((name) => `${name}\n${fs.readFileSync(path.join(directory, name), "utf8")}`)
    .join("\n")

/** All checks of a CLI in a new world. `installed` is the directory that holds it. */
export const checksOf = (cli: Cli, installed: string, world: World, service: ModelService): ReadonlyArray<Check> => {
  const { agent } = cli
  const setup = setups[agent]
  const home = privateHome(world, agent)
  const { answering, failing, leaving, printed, scv, status, stopped } = makeCalls(agent, world, service)
  const began = Date.now()
  const before = { shared: sharedTemporary(), workspace: pathsBelow(world.workspace) }
  const signedOut = new RegExp(`^${agent} +signed out; to sign in: scv agents login ${agent}$`)
  const login = `scv agents login ${agent}`

  const done = (args: ReadonlyArray<string>, stdin?: string) =>
    Effect.flatMap(scv(args, stdin), ({ code, stderr, stdout }) =>
      Effect.as(expect(code === 0, `exit code ${code}, ${quoted(stdout + stderr)}`), (stdout + stderr).trim())
    )

  const imported = Effect.gen(function* () {
    const source = contentsOf(world.setup)
    const said = yield* done(["agents", "import", agent, "--from", world.setup])
    yield* expect(contentsOf(world.setup) === source, "the source was changed")
    for (const name of fs.readdirSync(world.setup)) {
      const mode = modeOf(path.join(home, name))
      yield* expect(mode === 0o600, `${name} has mode ${mode.toString(8)}`)
    }
    return said.replaceAll("\n", "; ")
  })

  const refused = Effect.suspend(() => {
    service.behave({ does: "refuse" })
    return failing(login)
  })

  const ofCodex: ReadonlyArray<Check> = [
    {
      name: "outside of a git repository",
      body: failing("--skip-git-repo-check", world.bare)
    },
    {
      name: "outside of a git repository, as the hint says",
      body: Effect.gen(function* () {
        const config = path.join(world.scvHome, "config.toml")
        fs.writeFileSync(config, '[agents.codex]\nargs = ["exec", "--skip-git-repo-check"]\n')
        const { seen } = yield* answering({}, { workspace: world.bare })
        fs.rmSync(config)
        return seen
      })
    },
    {
      name: "logout",
      body: Effect.gen(function* () {
        yield* done(["agents", "logout", agent])
        yield* expect(!fs.existsSync(path.join(home, "auth.json")), "auth.json is still there")
        return yield* status(signedOut, 1)
      })
    },
    {
      name: "login with a key",
      body: Effect.gen(function* () {
        yield* done(["agents", "login", agent, "--", "--with-api-key"], `${key}\n`)
        const said = yield* status(setup.status, 0)
        const { seen } = yield* answering()
        return `${said}; ${seen}`
      })
    },
    {
      name: "import of a relay with a token of its own",
      body: Effect.gen(function* () {
        yield* done(["agents", "logout", agent])
        fs.rmSync(path.join(world.setup, "auth.json"))
        const config = path.join(world.setup, "config.toml")
        const text = fs.readFileSync(config, "utf8")
        fs.writeFileSync(config, text.replace("requires_openai_auth = true", `experimental_bearer_token = "${token}"`))
        yield* imported
        const said = yield* status(/^codex +signed in/, 0)
        const { seen } = yield* answering({}, { credential: token })
        return `${said}; ${seen}`
      })
    }
  ]

  return [
    {
      name: "signed out, call",
      body: Effect.suspend(() => {
        setup.lead(world, service.url)
        return refused
      })
    },
    { name: "signed out, status", body: status(signedOut, 1) },
    {
      name: setup.isImported ? "import" : "set up by hand",
      body: Effect.suspend(() => {
        setup.write(world, service.url)
        return setup.isImported ? imported : Effect.succeed("written")
      })
    },
    { name: "set up, status", body: status(setup.status, 0) },
    { name: "set up, call", body: Effect.map(answering(), ({ seen }) => seen) },
    {
      name: "set up, call with model and effort",
      body: Effect.gen(function* () {
        const { effort, model } = setup
        const { asked, seen } = yield* answering({ model: model.selected, effort: effort.selected })
        const heard = `the service was asked for ${asked.model}, effort ${asked.effort}`
        yield* expect(asked.model === model.asked && asked.effort === effort.asked, heard)
        return `${seen}; ${heard}`
      })
    },
    { name: "key refused by the service, call", body: refused },
    { name: "end with a command in the background", body: leaving },
    { name: "INT while the service is silent", body: stopped("INT", "silence") },
    { name: "INT while it runs a command", body: stopped("INT", "command") },
    { name: "deadline while the service is silent", body: stopped("deadline", "silence") },
    { name: "deadline while it runs a command", body: stopped("deadline", "command") },
    ...(agent === "codex" ? ofCodex : []),
    {
      name: "modes",
      body: Effect.gen(function* () {
        const open = [world.scvHome, path.dirname(home), home].filter((at) => (modeOf(at) & 0o077) !== 0)
        yield* expect(open.length === 0, `open to others: ${open.join(", ")}`)
        return `no others get into ${path.relative(world.scvHome, home)}, which holds ${pathsBelow(home).length} files`
      })
    },
    {
      name: "written outside of the private home",
      body: Effect.gen(function* () {
        const written = [
          ...[world.userHome, world.elsewhere, world.temporary].flatMap((at) =>
            pathsBelow(at).map((name) => path.join(at, name))
          ),
          ...pathsBelow(world.workspace).filter((name) => !before.workspace.includes(name)),
          ...pathsBelow(path.dirname(home)).filter((name) => name !== agent && !name.startsWith(`${agent}/`)),
          ...sharedTemporary().filter((name) => !before.shared.includes(name)),
          ...changedSince(began, [installed, ...stateOfUser])
        ]
        yield* expect(written.length === 0, written.slice(0, 10).join(", "))
        return "nothing"
      })
    },
    {
      name: "keys",
      body: Effect.gen(function* () {
        yield* expect(![key, token].some((secret) => printed().includes(secret)), "scv printed one")
        const others = service.credentials().filter((one) => one !== key && one !== token)
        yield* expect(others.length === 0, `the service was asked with ${others.length} others`)
        return `none in ${printed().length} characters that scv printed; the service saw no other`
      })
    }
  ]
}
