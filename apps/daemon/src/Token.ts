/** The secret that lets a program in over loopback TCP. */
import { randomBytes } from "node:crypto"
import { Place } from "@scv/protocol"
import type { Unusable } from "@scv/runtime"
import type * as Effect from "effect/Effect"
import { attempt, readPrivate, writePrivate } from "./State.ts"

const isToken = (text: string): boolean => /^[\w-]{43}$/.test(text)

/** The token of a home; a new one of 256 random bits where there is none that can be trusted. */
export const token = (home: string): Effect.Effect<string, Unusable> => {
  const file = Place.tokenOf(home)
  return attempt(file, () => {
    const present = readPrivate(file)?.trim()
    if (present !== undefined && isToken(present)) return present
    const made = randomBytes(32).toString("base64url")
    writePrivate(file, `${made}\n`)
    return made
  })
}
