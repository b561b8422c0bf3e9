import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import type { OfferedTool } from "@scv/runtime"
import type * as Effect from "effect/Effect"
import * as Call from "../Call.ts"
import * as DaemonCall from "../DaemonCall.ts"
import * as options from "./options.ts"

const tool = Args.text({ name: "TOOL" }).pipe(Args.withDescription("The tool to call; `scv tools` lists them."))

const input = Args.text({ name: "INPUT_JSON" }).pipe(
  Args.withDescription("The input, a JSON object; `-` reads it from stdin. Default: {}."),
  Args.withDefault("{}")
)

/** `scv call`, with what becomes of it. */
export const callWith = <E, R>(handle: (given: Call.Given, isInDaemon: boolean) => Effect.Effect<void, E, R>) =>
  Command.make(
    "call",
    { tool, input, workspace: options.workspace, yes: options.yes, policy: options.policy, daemon: options.daemon },
    ({ daemon, ...given }) => handle(given, daemon)
  ).pipe(Command.withDescription("Makes one tool call and prints its answer, one JSON object."))

/** `scv call`: one call, in this process or in the daemon, its envelope on stdout. */
export const call = (tools: ReadonlyArray<OfferedTool>) =>
  callWith((given, isInDaemon) =>
    isInDaemon ? Call.answered(given, DaemonCall.envelope(given)) : Call.make(given, tools)
  )
