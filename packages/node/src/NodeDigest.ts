import { createHash } from "node:crypto"
import { Digest } from "@scv/core"
import * as Layer from "effect/Layer"

/** Digests by Node's OpenSSL. */
export const layer: Layer.Layer<Digest> = Layer.succeed(Digest, {
  sha256: (data) => createHash("sha256").update(data).digest("hex")
})
