/**
 * The tools of a session as a toolkit of `@effect/ai`. The model is shown each tool's own strict schema; what it sends
 * is judged by the session alone, so that bad input is answered with the envelope that says what would be right.
 */
import * as AiTool from "@effect/ai/Tool"
import type * as Toolkit from "@effect/ai/Toolkit"
import { type Session, type Tool, ToolResult } from "@scv/core"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as strict from "./strict.ts"

/** Any JSON, and never undefined: what a model sent as the input of a call. */
interface AnyParameters extends Schema.Struct<Record<never, never>> {}

/** A tool of a session as `@effect/ai` has it. Its result, good or bad, is the envelope; it never fails. */
export type SessionTool = AiTool.Tool<
  string,
  {
    readonly parameters: AnyParameters
    readonly success: typeof ToolResult
    readonly failure: typeof ToolResult
    readonly failureMode: "return"
  }
>

/** The tools that can be used, by name. */
export interface SessionTools extends Record<string, SessionTool> {}

// The library would decode with the schema that it shows, and fail the whole answer of the model over one bad argument.
// So the strict schema is only an annotation, on a schema that takes anything. The types ask for a struct; the library
// itself reads nothing but the AST.
const parameters = (shown: Tool.Tool["inputSchema"]): AnyParameters =>
  // biome-ignore lint/suspicious/noExplicitAny: nothing narrower is both a struct and this
  Schema.Unknown.annotations({ jsonSchema: shown }) as any

const of = (tool: Tool.Tool, isStrict: boolean): SessionTool =>
  AiTool.make(tool.name, {
    description: tool.description,
    success: ToolResult,
    failure: ToolResult,
    failureMode: "return"
  })
    .setParameters(parameters(isStrict ? strict.shown(tool.inputSchema) : tool.inputSchema))
    .annotate(AiTool.Readonly, tool.risk === "read_only")
    .annotate(AiTool.Destructive, tool.risk !== "read_only")
    .annotate(AiTool.OpenWorld, tool.risk === "process" || tool.risk === "delegate")

/** The result of a call: its envelope, as it is and as it goes to the model. */
export interface HandlerResult {
  readonly isFailure: boolean
  readonly result: ToolResult
  readonly encodedResult: unknown
}

/** What `LanguageModel` takes as a `toolkit`, with a `handle` that says that it never fails. */
export type SessionToolkit = {
  readonly handle: (name: string, input: unknown) => Effect.Effect<HandlerResult>
} & Toolkit.WithHandler<SessionTools>

export interface Options {
  /**
   * Shows the schemas that OpenAI's strict mode takes: every property is required, and null stands for one that is left
   * out. Default: each tool's own schema.
   */
  readonly strict?: boolean
}

/**
 * A session's tools for `LanguageModel`, which takes this effect as a `toolkit` and runs it for every request, so that
 * a tool is offered as soon as it is available. A call's result is its envelope, and `isFailure` unless it completed.
 * Interrupting a request cancels its calls and waits for their release.
 */
export const make = (
  session: Session.Session,
  { strict: isStrict = false }: Options = {}
): Effect.Effect<SessionToolkit> =>
  Effect.gen(function* () {
    const available = yield* Effect.filter(session.tools, (tool) => Effect.map(tool.unavailable, Option.isNone))
    const handle = (name: string, sent: unknown): Effect.Effect<HandlerResult> => {
      const tool = isStrict ? session.tools.find((one) => one.name === name) : undefined
      const input = tool === undefined ? sent : strict.taken(tool.inputSchema, sent)
      // The session picks the id, so it cannot be in use.
      return Effect.map(Effect.orDie(session.call({ tool: name, input })), (result) => ({
        isFailure: result.status !== "completed",
        result,
        encodedResult: result
      }))
    }
    return {
      tools: Object.fromEntries(available.map((tool) => [tool.name, of(tool, isStrict)])),
      // The library's own type depends on the name, and here all names have the same.
      handle: handle as SessionToolkit["handle"]
    }
  })
