/** Loopback TCP, where it is asked for. */
import type * as http from "node:http"
import type { AddressInfo } from "node:net"
import { Display } from "@scv/core"
import { Unusable } from "@scv/runtime"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

export interface Address {
  readonly host: string
  readonly port: number
}

const wrong = (message: string) => new Unusable({ kind: "invalid_input", message })

/** `HOST:PORT`, where the host is this machine by a name that cannot mean another. */
export const parse = (given: string): Effect.Effect<Address, Unusable> => {
  const [, host = "", digits = ""] = /^(.*):(\d{1,5})$/.exec(given) ?? []
  const port = Number(digits)
  if (digits === "" || port > 65_535) {
    return wrong(`--listen: expected 127.0.0.1:PORT, got ${Display.bounded(given, 60)}`)
  }
  if (host === "127.0.0.1" || host === "localhost") return Effect.succeed({ host: "127.0.0.1", port })
  if (host === "[::1]") return Effect.succeed({ host: "::1", port })
  return wrong(
    `--listen: only 127.0.0.1 and [::1] are listened on, not ${Display.bounded(host, 60)}; a tunnel does the rest`
  )
}

/** What a client may name this machine by. */
export const authorities = ({ host, port }: Address): ReadonlyArray<string> => {
  const named = host === "::1" ? ["[::1]", "localhost"] : ["127.0.0.1", "localhost"]
  return [...named.map((name) => `${name}:${port}`), ...(port === 80 ? named : [])]
}

/** Lets a server answer at an address for as long as the scope is open, and says which it came to be. */
export const serve = (server: http.Server, address: Address): Effect.Effect<Address, Unusable, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.async<Address, Unusable>((resume) => {
      const where = `--listen ${address.host}:${address.port}`
      const onError = (error: Error) => resume(wrong(`${where}: ${error.message}`))
      server.once("error", onError)
      server.listen({ ...address, exclusive: true }, () => {
        server.off("error", onError)
        resume(Effect.succeed({ host: address.host, port: (server.address() as AddressInfo).port }))
      })
    }),
    () => Effect.sync(() => server.close())
  )
