import * as Context from "effect/Context"

/** Who makes the request that is being answered. */
export class Caller extends Context.Reference<Caller>()("scvd/Caller", {
  defaultValue: () => ({
    /** The way in, and what the client calls itself. */
    surface: "http",
    /** Bytes of the body. */
    bytes: 0
  })
}) {}
