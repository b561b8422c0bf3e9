import { randomBytes } from "node:crypto"
import { CallTag } from "@scv/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** Tags of 64 random bits. */
export const layer: Layer.Layer<CallTag.CallTag> = Layer.succeed(CallTag.CallTag, {
  fresh: Effect.sync(() => `${CallTag.prefix}${randomBytes(8).toString("hex")}`)
})
