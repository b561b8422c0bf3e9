/** How a browser signs in: a ticket that is good once and for a minute, traded for a cookie. */
import { createHash, createHmac, randomBytes } from "node:crypto"
import { Configuration } from "@scv/runtime"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Bounds from "./Bounds.ts"
import * as Browsers from "./Browsers.ts"

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
    /** Whether a cookie was given by this daemon, or by one before it at the same port, and was used within a day. */
    readonly isCookie: (value: string) => Effect.Effect<boolean>
    /** The port at which pages look for the daemon; whether some are signed in there still. */
    readonly expected: Effect.Effect<{ readonly port: number; readonly isSignedIn: boolean } | undefined>
    /** Tells at which port the daemon listens. Who signed in at another one is forgotten: that may be somebody else's now. */
    readonly listensAt: (port: number) => Effect.Effect<void>
    /** The key of {@link prove}, for a page that has signed in. */
    readonly key: string
    /** Proves to a page that this is the daemon which gave it its key: an HMAC of what it asks with, and of where. */
    readonly prove: (nonce: string, authority: string) => string
  }
>() {}

const secret = (): string => randomBytes(32).toString("base64url")

// What is looked up is a hash, so that how long it takes tells nothing.
const sha256 = (text: string): string => createHash("sha256").update(text).digest("base64")

/** Adds one as the newest, and forgets the oldest where there are too many. */
const keep = (map: Map<string, number>, key: string, until: number, max: number): void => {
  map.delete(key)
  map.set(key, until)
  for (const oldest of map.keys()) {
    if (map.size <= max) break
    map.delete(oldest)
  }
}

/** The browsers of a home are read when it is made. */
export const layer: Layer.Layer<SignIn> = Layer.sync(SignIn, () => {
  const home = Configuration.home()
  const kept = Browsers.read(home)
  const key = kept?.key ?? secret()
  let port = kept?.port
  const tickets = new Map<string, number>()
  const cookies = new Map(kept?.cookies)

  const save = (): void => Browsers.write(home, { port: port ?? 0, key, cookies: [...cookies] })

  const untilFrom = (now: number): number => now + Bounds.signInSeconds * 1000

  return {
    key,
    prove: (nonce, authority) => createHmac("sha256", key).update(`${authority}\n${nonce}`).digest("hex"),
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
        keep(cookies, sha256(cookie), untilFrom(now), Bounds.cookies)
        save()
        return cookie
      }),
    isCookie: (value) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const key = sha256(value)
        const until = cookies.get(key)
        if (until === undefined || now > until) return false
        // It is used all the time; the file need not know the minute.
        if (untilFrom(now) - until > Bounds.signInSavedSeconds * 1000) {
          keep(cookies, key, untilFrom(now), Bounds.cookies)
          save()
        }
        return true
      }),
    expected: Effect.map(Clock.currentTimeMillis, (now) =>
      port === undefined || port === 0
        ? undefined
        : { port, isSignedIn: [...cookies.values()].some((until) => until >= now) }
    ),
    listensAt: (at) =>
      Effect.sync(() => {
        if (port === at) return
        port = at
        cookies.clear()
        save()
      })
  }
})
