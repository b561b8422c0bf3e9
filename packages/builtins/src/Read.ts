/** The tool `read`. Source: spec, "`read`"; design, "Small decisions". */
import {
  Digest,
  Directory,
  Display,
  Home,
  InputSchema,
  Limits,
  Recorded,
  Tool,
  ToolError,
  Utf8,
  Workspace
} from "@scv/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { isSecretLike } from "./SecretLike.ts"

const Input = InputSchema.struct({
  path: InputSchema.required(InputSchema.systemText, "The file to read, relative to the workspace."),
  offset: InputSchema.optional(InputSchema.integer(0), "Bytes to skip at the start of the file. Default: 0."),
  limit: InputSchema.optional(
    InputSchema.count(1),
    "The most bytes to return. Default, and upper bound: the configured maximum; `truncated` tells whether more follow."
  )
})

const Plan = Schema.Struct({
  path: Schema.String,
  /** Where the path leads, all links followed. */
  location: Schema.String,
  identity: Directory.Identity,
  offset: Schema.Number,
  length: Schema.Number,
  /** Whether the caller chose where the selection ends, so that a cut character is the caller's to mend. */
  is_exact: Schema.Boolean
})

type Plan = typeof Plan.Type

const Output = Schema.Struct({
  path: Recorded.whole(Schema.String),
  content: Schema.String,
  offset: Schema.Number.annotations({ description: "Bytes before the selection." }),
  bytes: Schema.Number.annotations({ description: "Bytes of the selection." }),
  total_bytes: Schema.Number.annotations({ description: "Bytes of the whole file." }),
  truncated: Schema.Boolean.annotations({ description: "Whether bytes follow the selection." }),
  sha256: Schema.optionalWith(
    Recorded.whole(Schema.String).annotations({ description: "Of the whole file, where the selection covers it all." }),
    { exact: true }
  )
})

/** A part of a file with up to three bytes on each side, so that a cut character can be told from a bad one. */
interface Selection {
  readonly bytes: Uint8Array
  /** Where `bytes` begins in the file. */
  readonly base: number
  /** The selection within `bytes`. */
  readonly start: number
  readonly end: number
}

const notUtf8 = (plan: Plan, { base, bytes, end, start }: Selection): ToolError => {
  const fail = (detail: string) =>
    new ToolError({ kind: "not_utf8", message: `${Display.bounded(plan.path, 200)}: ${detail}` })
  const atStart = Utf8.characterAround(bytes, start)
  if (atStart !== undefined) {
    const [before, after] = atStart
    return fail(
      `offset ${plan.offset} is inside a character; the nearest good offsets are ${base + before} and ${base + after}`
    )
  }
  const atEnd = Utf8.characterAround(bytes, end)
  if (atEnd !== undefined && Utf8.decodeStrict(bytes.subarray(start, atEnd[0])) !== undefined) {
    const shorter = atEnd[0] - start
    const better = shorter > 0 ? `${shorter} or ${atEnd[1] - start}` : `${atEnd[1] - start}`
    return fail(
      `limit ${end - start} ends inside a character, which lies at ${base + atEnd[0]} to ${base + atEnd[1]}; ` +
        `a good limit is ${better}`
    )
  }
  return fail("the selected bytes are not UTF-8 text; read returns text only")
}

/** Where a selection that only our own maximum cuts ends: before the character that does not fit. */
const lastBoundary = ({ bytes, end, start }: Selection): number => {
  const boundary = Utf8.boundaryBefore(bytes, end)
  return boundary < start ? end : boundary
}

/** Reads text from a file of the workspace. Needs the workspace it reads from. */
export const read: Effect.Effect<
  Tool.Tool,
  Tool.UnusableTool,
  Workspace.Workspace | Limits.Limits | Digest | Home.Home
> = Effect.gen(function* () {
  const workspace = yield* Workspace.Workspace
  const { maxReadBytes } = yield* Limits.Limits
  const digest = yield* Digest
  const home = yield* Home.Home

  /** Why a person should know of the read, if there is a reason. */
  const reasonToAsk = (path: string, file: Directory.FileInfo): string | undefined => {
    if (Home.holds(home, workspace.path, file.location)) return "it lies in SCV's own directory"
    const secret = [path, file.location, ...file.links].find(isSecretLike)
    return secret === undefined ? undefined : `the name ${secret} looks like that of a secret`
  }

  return yield* Tool.make({
    name: "read",
    description:
      "Reads UTF-8 text from a file in the workspace, by byte offset and limit. A read of the whole file also returns " +
      "its sha256, which `write` takes as expected_sha256.",
    risk: "read_only",
    input: Input,
    plan: Plan,
    output: Output,
    outputLimitBytes: Number.POSITIVE_INFINITY,
    prepare: ({ limit, offset = 0, path }) =>
      Effect.gen(function* () {
        const file = yield* Effect.mapError(workspace.file(path), Directory.toToolError)
        const length = Math.min(limit ?? maxReadBytes, maxReadBytes)
        const reason = reasonToAsk(path, file)
        return {
          risk: reason === undefined ? "read_only" : "filesystem",
          summary: Effect.sync(() =>
            Display.summary(`read ${path}`, [
              ...(reason === undefined ? [] : [["why", reason] as const]),
              ...(file.links.length === 0 ? [] : [["leads to", file.location] as const]),
              ["bytes", `${length} at most, from ${offset} on, of ${file.size}`]
            ])
          ),
          plan: {
            path,
            location: file.location,
            identity: file.identity,
            offset,
            length,
            is_exact: limit !== undefined && limit <= maxReadBytes
          }
        }
      }),
    run: (plan) =>
      Effect.gen(function* () {
        const { identity, length, location, offset, path } = plan
        const base = Math.max(0, offset - (Utf8.longest - 1))
        const range = yield* Effect.mapError(
          workspace.read(path, {
            offset: base,
            length: offset - base + length + (Utf8.longest - 1),
            expected: { location, identity }
          }),
          Directory.toToolError
        )
        const { bytes, totalBytes } = range
        const start = Math.min(offset - base, bytes.length)
        const whole: Selection = { bytes, base, start, end: Math.min(start + length, bytes.length) }
        const end = plan.is_exact ? whole.end : lastBoundary(whole)
        const selected = bytes.subarray(start, end)
        const content = Utf8.decodeStrict(selected)
        if (content === undefined) return yield* notUtf8(plan, { ...whole, end })
        const isAll = offset === 0 && selected.length === totalBytes
        return {
          path,
          content,
          offset,
          bytes: selected.length,
          total_bytes: totalBytes,
          truncated: offset + selected.length < totalBytes,
          ...(isAll ? { sha256: digest.sha256(selected) } : {})
        }
      })
  })
})
