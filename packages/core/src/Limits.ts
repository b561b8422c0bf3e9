import * as Context from "effect/Context"
import * as Layer from "effect/Layer"

/** The bounds that every call is held to. Source: design, "Words on the wire" (defaults). */
export interface LimitValues {
  /** Seconds for a call that names no timeout of its own. */
  readonly commandTimeoutSeconds: number
  /** Seconds for a delegated agent that names no timeout of its own. */
  readonly agentTimeoutSeconds: number
  /** The most seconds that a call may ask for. */
  readonly maxTimeoutSeconds: number
  /** Bytes of output that a result keeps, unless its tool declares another bound. */
  readonly outputLimitBytes: number
  /** The most bytes that one `read` selects. */
  readonly maxReadBytes: number
  /** The most bytes that one `write` takes. */
  readonly maxWriteBytes: number
}

export const defaults: LimitValues = {
  commandTimeoutSeconds: 120,
  agentTimeoutSeconds: 600,
  maxTimeoutSeconds: 1800,
  outputLimitBytes: 65_536,
  maxReadBytes: 262_144,
  maxWriteBytes: 1_048_576
}

/** The limits in force. */
export class Limits extends Context.Tag("@scv/core/Limits")<Limits, LimitValues>() {}

/** The defaults, with the given values in their place. */
export const layer = (values: Partial<LimitValues> = {}): Layer.Layer<Limits> =>
  Layer.succeed(Limits, { ...defaults, ...values })
