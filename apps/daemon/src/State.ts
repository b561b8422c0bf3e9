/** The private directory that holds the socket and the token. */
import * as fs from "node:fs"
import { Place } from "@scv/protocol"
import { Unusable } from "@scv/runtime"
import * as Effect from "effect/Effect"

const wrong = (message: string) => new Unusable({ kind: "config", message })

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : String(error)

/** Runs a step on the disk; `what` names what it is done to. */
export const attempt = <A>(what: string, step: () => A): Effect.Effect<A, Unusable> =>
  Effect.try({ try: step, catch: (error) => wrong(`${what}: the system answers ${codeOf(error)}`) })

/** Makes the directory private to this user, or fails where it is another's. */
export const prepare = (home: string): Effect.Effect<string, Unusable> =>
  Effect.gen(function* () {
    const directory = Place.stateOf(home)
    const found = yield* attempt(directory, () => {
      fs.mkdirSync(directory, { recursive: true, mode: 0o700 })
      return fs.statSync(directory)
    })
    const user = process.getuid?.()
    if (user !== undefined && found.uid !== user) return yield* wrong(`${directory}: belongs to another user`)
    if ((found.mode & 0o077) !== 0) yield* attempt(directory, () => fs.chmodSync(directory, 0o700))
    return directory
  })

/** The text of a file that is whole and that nobody else could read or write; undefined where there is none. */
export const readPrivate = (file: string): string | undefined => {
  const found = fs.lstatSync(file, { throwIfNoEntry: false })
  if (found === undefined || !found.isFile() || (found.mode & 0o077) !== 0) return undefined
  return fs.readFileSync(file, "utf8")
}

/** Puts a private file in the place of what has that name. */
export const writePrivate = (file: string, text: string): void => {
  const temporary = `${file}.new`
  fs.rmSync(temporary, { force: true })
  fs.writeFileSync(temporary, text, { mode: 0o600, flag: "wx" })
  fs.renameSync(temporary, file)
}
