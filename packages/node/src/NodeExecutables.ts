/** Finding programs through the server's own environment. */
import * as fs from "node:fs"
import * as path from "node:path"
import { Display, Executables, ServerEnvironment } from "@scv/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** Why a path names nothing that can be started; undefined where it does. */
const faultOf = (at: string): string | undefined => {
  try {
    if (!fs.statSync(at).isFile()) return "is not a file"
    fs.accessSync(at, fs.constants.X_OK)
    return undefined
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    return code === "EACCES" ? "is not executable" : "no such file"
  }
}

const shown = (text: string): string => Display.bounded(text, 200)

/** Looks for the first fit in `PATH`, as execvp(3) does, but for its relative and empty elements. */
const find = (environment: Readonly<Record<string, string>>, command: string) => {
  const fail = (reason: string) => Effect.fail(new Executables.NoExecutable({ command, reason }))
  if (path.isAbsolute(command)) {
    const fault = faultOf(command)
    return fault === undefined ? Effect.succeed(command) : fail(`${shown(command)}: ${fault}`)
  }
  if (command.includes("/")) {
    return fail(`expected an absolute path, or a name that is in PATH, got ${shown(command)}`)
  }
  const places = (environment.PATH ?? "").split(":").filter((place) => path.isAbsolute(place))
  // Not normalized: `..` behind a link is not what it looks like.
  const found = places.map((place) => `${place.replace(/\/*$/, "/")}${command}`).find((at) => faultOf(at) === undefined)
  return found === undefined
    ? fail(`no executable named ${shown(JSON.stringify(command))} in PATH; install it, or configure its command`)
    : Effect.succeed(found)
}

/** The programs of this machine. */
export const layer: Layer.Layer<Executables.Executables, never, ServerEnvironment> = Layer.effect(
  Executables.Executables,
  Effect.map(ServerEnvironment, (environment) => ({
    find: (command) => Effect.suspend(() => find(environment, command))
  }))
)
