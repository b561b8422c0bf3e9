import * as Context from "effect/Context"

/** Cryptographic digests, which a platform provides. */
export class Digest extends Context.Tag("@scv/core/Digest")<
  Digest,
  {
    /** SHA-256 (FIPS 180-4) of bytes, or of a text's UTF-8, as 64 lower-case hex digits. */
    readonly sha256: (data: Uint8Array | string) => string
  }
>() {}
