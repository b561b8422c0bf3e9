// A tool of your own. It reads through the workspace, so it cannot leave it.
import { Directory, InputSchema, Tool, ToolError, Utf8, Workspace } from "@scv/core"
import { Effect, Schema } from "effect"

const maxBytes = 1_000_000

export const wordCount = Effect.gen(function* () {
  const workspace = yield* Workspace.Workspace
  return yield* Tool.make({
    name: "word_count",
    description: "Counts the words of a text file in the workspace.",
    risk: "read_only",
    input: InputSchema.struct({
      path: InputSchema.required(InputSchema.systemText, "The file, relative to the workspace.")
    }),
    plan: Schema.Struct({ path: Schema.String, location: Schema.String, identity: Directory.Identity }),
    output: Schema.Struct({ path: Schema.String, words: Schema.Number }),
    prepare: ({ path }) =>
      workspace.file(path).pipe(
        Effect.mapError(Directory.toToolError),
        Effect.filterOrFail(
          ({ size }) => size <= maxBytes,
          ({ size }) => new ToolError({ kind: "too_large", message: `${path}: ${size} bytes; at most ${maxBytes}` })
        ),
        Effect.map(({ identity, location }) => ({
          summary: `count the words of ${path}`,
          plan: { path, location, identity }
        }))
      ),
    run: ({ path, ...expected }) =>
      workspace.read(path, { offset: 0, length: maxBytes, expected }).pipe(
        Effect.mapError(Directory.toToolError),
        Effect.map(({ bytes }) => ({ path, words: Utf8.decode(bytes).split(/\s+/).filter(Boolean).length }))
      )
  })
})
