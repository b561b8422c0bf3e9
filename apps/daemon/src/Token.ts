/** The secret that lets a program in over loopback TCP. */
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import { Place } from "@scv/protocol"
import type { Unusable } from "@scv/runtime"
import type * as Effect from "effect/Effect"
import { attempt } from "./State.ts"

const isToken = (text: string): boolean => /^[\w-]{43}$/.test(text)

/** The token that is there, where it is whole and nobody else could read it. */
const kept = (file: string): string | undefined => {
  const found = fs.lstatSync(file, { throwIfNoEntry: false })
  if (found === undefined || !found.isFile() || (found.mode & 0o077) !== 0) return undefined
  const text = fs.readFileSync(file, "utf8").trim()
  return isToken(text) ? text : undefined
}

/** The token of a home; a new one of 256 random bits where there is none that can be trusted. */
export const token = (home: string): Effect.Effect<string, Unusable> => {
  const file = Place.tokenOf(home)
  return attempt(file, () => {
    const present = kept(file)
    if (present !== undefined) return present
    const made = randomBytes(32).toString("base64url")
    const temporary = `${file}.new`
    fs.rmSync(temporary, { force: true })
    fs.writeFileSync(temporary, `${made}\n`, { mode: 0o600, flag: "wx" })
    fs.renameSync(temporary, file)
    return made
  })
}
