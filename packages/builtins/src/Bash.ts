/** The tool `bash`. Source: spec, "`bash`"; design, "Process lifecycle, decided" and "Small decisions". */
import {
  CallTag,
  Directory,
  Display,
  InputSchema,
  Limits,
  ProcessGroup,
  type ProcessSpawner,
  ProcessTool,
  ServerEnvironment,
  Tool,
  ToolError,
  Utf8,
  Workspace
} from "@scv/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const program = "/bin/bash"

const Plan = Schema.Struct({
  program: Schema.String,
  args: Schema.Array(Schema.String),
  timeout_seconds: Schema.Number
})

const refuse = (kind: ToolError["kind"], detail: string): ToolError =>
  new ToolError({ kind, message: `\`command\`: ${detail}` })

/** Runs a command by a login shell in the workspace. Needs the workspace that it runs in. */
export const bash: Effect.Effect<
  Tool.Tool,
  Tool.UnusableTool,
  Workspace.Workspace | Limits.Limits | ProcessSpawner.ProcessSpawner | ServerEnvironment | CallTag.CallTag
> = Effect.gen(function* () {
  const workspace = yield* Workspace.Workspace
  const { commandTimeoutSeconds, maxTimeoutSeconds, outputLimitBytes } = yield* Limits.Limits
  const environment = yield* ServerEnvironment
  const tags = yield* CallTag.CallTag

  return yield* Tool.make({
    name: "bash",
    description:
      "Runs a command by /bin/bash -lc in the workspace and returns its exit code and its output. Nothing can be typed " +
      "into it. Processes that it leaves in the background are ended with it.",
    risk: "process",
    input: InputSchema.struct({
      command: InputSchema.required(InputSchema.systemText, "The command, as bash reads it."),
      timeout_seconds: InputSchema.optional(
        ProcessTool.timeoutSeconds(maxTimeoutSeconds),
        `The seconds that it may take before it is killed. Default: ${commandTimeoutSeconds}.`
      )
    }),
    plan: Plan,
    output: ProcessGroup.Output,
    outputLimitBytes: Number.POSITIVE_INFINITY,
    succeeded: ProcessGroup.succeeded,
    prepare: ({ command, timeout_seconds }) =>
      Effect.gen(function* () {
        if (command.trim() === "") return yield* refuse("invalid_input", "expected a command, got only blanks")
        const size = Utf8.byteLength(command)
        if (size >= ProcessTool.maxArgument) {
          return yield* refuse("limit", `${size} bytes; the system takes at most ${ProcessTool.maxArgument - 1}`)
        }
        const timeoutSeconds = yield* ProcessTool.timeoutWithin(
          maxTimeoutSeconds,
          timeout_seconds,
          commandTimeoutSeconds
        )
        return {
          summary: Effect.sync(() =>
            Display.summary("run a command by /bin/bash -lc", [
              ["command", command],
              ["timeout", `${timeoutSeconds} s`]
            ])
          ),
          plan: { program, args: ["-lc", "--", command], timeout_seconds: timeoutSeconds },
          timeoutSeconds
        }
      }),
    run: ({ args, program }, context) =>
      Effect.gen(function* () {
        const cwd = yield* Effect.mapError(workspace.handle, Directory.toToolError)
        const tag = yield* tags.fresh
        return yield* ProcessGroup.run(
          {
            request: { program, args, cwd, environment: { ...environment, PWD: workspace.path }, tag },
            outputLimitBytes,
            strays: "report"
          },
          context
        ).pipe(Effect.mapError(ProcessTool.toToolError))
      })
  })
})
