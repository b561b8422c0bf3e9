/** How a browser signs in: a ticket that is good once and for a minute, traded for a cookie that lives with the daemon. */
import { createHash, randomBytes } from "node:crypto"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Bounds from "./Bounds.ts"

export interface Ticket {
  readonly ticket: string
  /** In milliseconds since the epoch. */
  readonly expiresAt: number
}

export class SignIn extends Context.Tag("scvd/SignIn")<
  SignIn,
  {
    /** A new ticket, of 256 random bits. */
    readonly issue: Effect.Effect<Ticket>
    /** The cookie for a ticket, once; undefined where the ticket was never made, was traded already, or is too old. */
    readonly trade: (ticket: string) => Effect.Effect<string | undefined>
    /** Whether a cookie was given by this daemon. */
    readonly isCookie: (value: string) => boolean
  }
>() {}

const secret = (): string => randomBytes(32).toString("base64url")

// What is looked up is a hash, so that how long it takes tells nothing.
const sha256 = (text: string): string => createHash("sha256").update(text).digest("base64")

/** Adds one, and forgets the oldest where there are too many. */
const keep = <Value>(map: Map<string, Value>, key: string, value: Value, max: number): void => {
  map.set(key, value)
  for (const oldest of map.keys()) {
    if (map.size <= max) break
    map.delete(oldest)
  }
}

export const layer: Layer.Layer<SignIn> = Layer.sync(SignIn, () => {
  const tickets = new Map<string, number>()
  const cookies = new Map<string, true>()
  return {
    issue: Effect.map(Clock.currentTimeMillis, (now) => {
      const ticket = secret()
      const expiresAt = now + Bounds.ticketSeconds * 1000
      keep(tickets, sha256(ticket), expiresAt, Bounds.tickets)
      return { ticket, expiresAt }
    }),
    trade: (ticket) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const key = sha256(ticket)
        const expiresAt = tickets.get(key)
        tickets.delete(key)
        if (expiresAt === undefined || now > expiresAt) return undefined
        const cookie = secret()
        keep(cookies, sha256(cookie), true, Bounds.cookies)
        return cookie
      }),
    isCookie: (value) => cookies.has(sha256(value))
  }
})
