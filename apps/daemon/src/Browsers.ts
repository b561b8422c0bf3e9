/** The browsers that have signed in, in a private file, so that an open page goes on after the daemon was restarted. */
import { Place } from "@scv/protocol"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { readPrivate, writePrivate } from "./State.ts"

/** What the file holds. A cookie is kept as its hash, which lets nobody in. */
export const Browsers = Schema.Struct({
  /** Where their pages look for the daemon. */
  port: Schema.Int.pipe(Schema.between(0, 65_535)),
  /** What the daemon proves to an open page that it is the same one. */
  key: Schema.String.pipe(Schema.pattern(/^[\w-]{43}$/)),
  /** By the SHA-256 of each cookie: until when it is good, in milliseconds since the epoch. */
  cookies: Schema.Array(Schema.Tuple(Schema.String, Schema.Number))
})

export type Browsers = typeof Browsers.Type

const decode = Schema.decodeUnknownEither(Schema.parseJson(Browsers))

const fileOf = (home: string): string => `${Place.stateOf(home)}/browsers`

/** What is kept of a home; undefined where there is nothing that can be trusted. */
export const read = (home: string): Browsers | undefined => {
  try {
    return Either.getOrUndefined(decode(readPrivate(fileOf(home))))
  } catch {
    return undefined
  }
}

/** Keeps it. Where that cannot be, those that have signed in do so again after a restart. */
export const write = (home: string, browsers: Browsers): void => {
  try {
    writePrivate(fileOf(home), `${JSON.stringify(browsers)}\n`)
  } catch {
    // A disk that is full stops no sign-in.
  }
}
