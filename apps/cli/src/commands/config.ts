import * as fs from "node:fs"
import * as path from "node:path"
import * as Command from "@effect/cli/Command"
import { Show, template } from "@scv/config"
import { Display } from "@scv/core"
import { Configuration, LocalSession, Machine, Unusable } from "@scv/runtime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Stdio } from "../Stdio.ts"
import * as options from "./options.ts"

const show = Command.make("show", { json: options.json, workspace: options.workspace }, ({ json, workspace }) =>
  Effect.gen(function* () {
    const stdio = yield* Stdio
    const config = yield* Configuration.Configuration
    yield* stdio.out(json ? `${JSON.stringify(Show.json(config), null, 2)}\n` : Show.text(config))
  }).pipe(Effect.provide(Layer.provide(LocalSession.configuration({ workspace }), Machine.directories)))
).pipe(Command.withDescription("Prints each key, its value, and where that comes from."))

const where = Command.make("path", {}, () =>
  Effect.flatMap(Stdio, (stdio) => stdio.out(`${Configuration.userFile()}\n`))
).pipe(Command.withDescription("Prints the path of the user's file."))

/** Makes a file that was not there, private to the user, with the private folder that it lies in. */
const create = (file: string, content: string): Effect.Effect<void, Unusable> =>
  Effect.try({
    try: () => {
      fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 })
      fs.writeFileSync(file, content, { flag: "wx", mode: 0o600 })
    },
    catch: (error) => {
      const exists = error instanceof Error && "code" in error && error.code === "EEXIST"
      const what = exists ? "exists already and is left as it is" : `cannot be written: ${String(error)}`
      return new Unusable({ kind: "config", message: `${file}: ${Display.inline(what)}` })
    }
  })

const init = Command.make("init", {}, () =>
  Effect.gen(function* () {
    const stdio = yield* Stdio
    yield* create(Configuration.userFile(), template(Configuration.tableOptions()))
    yield* stdio.out(`${Configuration.userFile()}\n`)
  })
).pipe(Command.withDescription("Writes a commented example to the user's file, where there is none."))

/** `scv config`: what is configured, and where. */
export const config = Command.make("config").pipe(
  Command.withDescription("Shows the configuration, or where it is, or writes an example."),
  Command.withSubcommands([show, where, init])
)
