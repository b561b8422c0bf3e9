/** The tool `write`. Source: spec, "`write`"; design, "Small decisions". */
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
import * as Diff from "./Diff.ts"

const sha256 = Schema.String.pipe(
  Schema.pattern(/^[0-9a-fA-F]{64}$/),
  Schema.annotations({ message: () => ({ message: "expected 64 hex digits", override: true }) })
)

const Input = InputSchema.struct({
  path: InputSchema.required(InputSchema.systemText, "The file to write, relative to the workspace."),
  content: InputSchema.required(InputSchema.text, "The whole new content of the file."),
  mode: InputSchema.required(
    InputSchema.oneOf("create", "replace"),
    "`create` makes a new file and its missing parents, and fails where something is; `replace` needs the file."
  ),
  expected_sha256: InputSchema.optional(
    sha256,
    "For `replace`: the SHA-256 that the file must still have, in hex, as `read` and `write` return it."
  )
})

const Plan = Schema.Struct({
  path: Schema.String,
  /** Where the path leads, all links followed. */
  location: Schema.String,
  mode: Schema.Literal("create", "replace"),
  content: Recorded.byDigest(Schema.String),
  /** The directory that it comes into, or the nearest one that is there. */
  parent: Directory.Identity,
  /** The file that is replaced, as it was when the plan was made. */
  existing: Schema.optionalWith(Directory.Version, { exact: true }),
  expected_sha256: Schema.optionalWith(Schema.String, { exact: true })
})

const Output = Schema.Struct({
  path: Recorded.whole(Schema.String),
  bytes: Schema.Number.annotations({ description: "Bytes of the file now." }),
  sha256: Recorded.whole(Schema.String).annotations({ description: "Of the file now, in hex." }),
  created: Schema.Boolean.annotations({ description: "Whether the file is new." })
})

const refuse = (kind: ToolError["kind"], path: string, detail: string): ToolError =>
  new ToolError({ kind, message: `${Display.bounded(path, 200)}: ${detail}` })

/** Writes whole files in the workspace, atomically. Needs the workspace that it writes to. */
export const write: Effect.Effect<
  Tool.Tool,
  Tool.UnusableTool,
  Workspace.Workspace | Limits.Limits | Digest | Home.Home
> = Effect.gen(function* () {
  const workspace = yield* Workspace.Workspace
  const { maxWriteBytes } = yield* Limits.Limits
  const digest = yield* Digest
  const home = yield* Home.Home

  /** What the write would change, for the question. */
  const changeOf = (path: string, content: string, existing: Directory.FileInfo | undefined): Effect.Effect<string> => {
    if (existing === undefined) return Effect.succeed(Diff.ofNew(content))
    if (existing.size > Diff.maxCompared || content.length > Diff.maxCompared) {
      return Effect.succeed(`(too large to compare)\n${Diff.ofNew(content)}`)
    }
    return workspace.read(path, { offset: 0, length: Diff.maxCompared, expected: existing }).pipe(
      Effect.map(({ bytes }) => Utf8.decodeStrict(bytes)),
      Effect.map((before) =>
        before === undefined ? `(the old content is no text)\n${Diff.ofNew(content)}` : Diff.between(before, content)
      ),
      Effect.catchAll((error) =>
        Effect.succeed(`(the old content cannot be read: ${error.detail})\n${Diff.ofNew(content)}`)
      )
    )
  }

  /** The file must have the content that the caller last saw; asked before anybody approves, and again by the write. */
  const requireFresh = (path: string, existing: Directory.FileInfo, expected: string) =>
    Effect.gen(function* () {
      const found = yield* Effect.mapError(workspace.sha256(path, existing), Directory.toToolError)
      if (found !== expected) {
        return yield* refuse(
          "stale",
          path,
          `its content is not the expected one: its sha256 is ${found}; read it again`
        )
      }
    })

  return yield* Tool.make({
    name: "write",
    description:
      "Writes a whole file in the workspace, atomically. With `expected_sha256` it refuses to overwrite a change that " +
      "was not seen.",
    risk: "filesystem",
    input: Input,
    plan: Plan,
    output: Output,
    prepare: ({ content, expected_sha256, mode, path }) =>
      Effect.gen(function* () {
        const size = Utf8.byteLength(content)
        if (size > maxWriteBytes) {
          return yield* refuse("too_large", path, `${size} bytes of content; the most is ${maxWriteBytes}`)
        }
        if (mode === "create" && expected_sha256 !== undefined) {
          return yield* refuse("invalid_input", "`expected_sha256`", "only a `replace` has content to expect")
        }
        const { existing, links, location, parent } = yield* Effect.mapError(
          workspace.target(path, mode),
          Directory.toToolError
        )
        if (Home.holds(home, workspace.path, location)) {
          return yield* refuse("permission", path, "lies in SCV's own directory, which no tool may write to")
        }
        const expected = expected_sha256?.toLowerCase()
        if (existing !== undefined && expected !== undefined) yield* requireFresh(path, existing, expected)
        return {
          summary: Effect.map(changeOf(path, content, existing), (change) =>
            Display.summary(`write ${path}`, [
              ["mode", mode],
              ...(links.length === 0 ? [] : [["leads to", location] as const]),
              ["bytes", existing === undefined ? `${size}` : `${size}, in the place of ${existing.size}`],
              ["change", `\n${change}`]
            ])
          ),
          plan: {
            path,
            location,
            mode,
            content,
            parent,
            ...(existing === undefined ? {} : { existing: { identity: existing.identity, version: existing.version } }),
            ...(expected === undefined ? {} : { expected_sha256: expected })
          }
        }
      }),
    run: ({ content, existing, expected_sha256, location, mode, parent, path }, context) =>
      Effect.gen(function* () {
        const bytes = Utf8.encode(content)
        const output = { path, bytes: bytes.length, sha256: digest.sha256(bytes), created: mode === "create" }
        yield* Effect.mapError(
          workspace.write(path, {
            mode,
            content: bytes,
            expected: { location, existing, parent },
            expectedSha256: expected_sha256,
            onInstalled: context.commit(output)
          }),
          Directory.toToolError
        )
        return output
      })
  })
})
