import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import type { CallContext } from "./CallContext.ts"
import * as InputSchema from "./InputSchema.ts"
import type { Json, JsonObject } from "./Json.ts"
import * as JsonSchema from "./JsonSchema.ts"
import * as Recorded from "./Recorded.ts"
import { ToolError } from "./ToolError.ts"
import { ToolName } from "./ToolName.ts"
import { gravest, type ToolRisk } from "./ToolRisk.ts"

/** What `prepare` decides about a call before anybody is asked. */
export interface Prepared<Plan> {
  /** What this call can do; a risk below the tool's own counts as the tool's own. Default: the tool's own. */
  readonly risk?: ToolRisk
  /** What an approver is shown: a title line, then rows. See `Display.summary`. Made only where somebody is asked. */
  readonly summary: string | Effect.Effect<string>
  /** Everything that `run` needs, as data: resolved names and identities, never open descriptors. */
  readonly plan: Plan
  /** Seconds that `run` may take. Default: `tools.command_timeout_seconds`. */
  readonly timeoutSeconds?: number
}

/** A tool as its author writes it. */
export interface Definition<Input, InputJson, Plan, PlanJson, Output, OutputJson, R> {
  readonly name: string
  readonly description: string
  /** The least risk of any of its calls. */
  readonly risk: ToolRisk
  /** A closed object: see `InputSchema.struct`. */
  readonly input: Schema.Schema<Input, InputJson>
  /** What of it the audit log keeps by hash and size only is marked by `Recorded.byDigest`. */
  readonly plan: Schema.Schema<Plan, PlanJson>
  /** What of its texts the audit log keeps is marked by `Recorded.whole`. */
  readonly output: Schema.Schema<Output, OutputJson>
  /** The most bytes of text in a result; the longest texts are clipped. Default: `tools.output_limit_bytes`. */
  readonly outputLimitBytes?: number
  /** Why the tool cannot be used on this machine, where it cannot. Default: it can. */
  readonly unavailable?: Effect.Effect<Option.Option<string>, never, R>
  /** Whether an output means that the job was done; `failed` is answered with the output otherwise. Default: it does. */
  readonly succeeded?: (output: Output) => boolean
  /** Turns input into an exact plan. Has no side effects; finds as much as it can that would make `run` fail. */
  readonly prepare: (input: Input) => Effect.Effect<Prepared<Plan>, ToolError, R>
  /** Carries out a plan. A check of what `prepare` saw may only refuse, with kind `changed`, having done nothing. */
  readonly run: (plan: Plan, context: CallContext<Output>) => Effect.Effect<Output, ToolError, R>
}

/** The output of a run, encoded. */
export interface Outcome {
  readonly output: Json
  readonly succeeded: boolean
}

/** A call whose plan is made. `plan` is deeply frozen: what is shown is what runs. */
export interface PreparedCall {
  readonly risk: ToolRisk
  readonly summary: Effect.Effect<string>
  readonly plan: JsonObject
  readonly timeoutSeconds: Option.Option<number>
  readonly run: (context: CallContext<Outcome>) => Effect.Effect<Outcome, ToolError>
}

/** A tool with its types erased, so that a registry holds any tool alike. */
export interface Tool {
  readonly name: ToolName
  readonly description: string
  readonly risk: ToolRisk
  readonly inputSchema: JsonObject
  readonly outputSchema: JsonObject
  readonly outputLimitBytes: Option.Option<number>
  /** Why the tool cannot be used on this machine, where it cannot. */
  readonly unavailable: Effect.Effect<Option.Option<string>>
  /** Validates untrusted JSON. The inner effect prepares the call. Errors: `invalid_input`, or what the tool refuses. */
  readonly decode: (input: unknown) => Effect.Effect<Effect.Effect<PreparedCall, ToolError>, ToolError>
  /** What the audit log keeps of a plan and of an output, as their schemas say: see `Recorded`. */
  readonly recorded: {
    readonly plan: (plan: JsonObject, sha256: (text: string) => string) => Json
    readonly output: (output: Json) => JsonObject
  }
}

/** A definition that no surface could offer. */
export class UnusableTool extends Schema.TaggedError<UnusableTool>()("UnusableTool", {
  tool: Schema.String,
  reason: Schema.String
}) {
  override get message(): string {
    return `tool ${JSON.stringify(this.tool)} cannot be offered: ${this.reason}`
  }
}

const isName = Schema.is(ToolName)

const deepFreeze = <T>(value: T): T => {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value)
    for (const inner of Object.values(value)) deepFreeze(inner)
  }
  return value
}

/** A value that its own schema does not hold is the author's mistake: a defect, never the caller's error. */
const orDefect = <A>(result: Either.Either<A, ParseResult.ParseIssue>, what: string): Effect.Effect<A> =>
  Either.match(result, {
    onLeft: (issue) => Effect.die(new Error(`${what}: ${ParseResult.TreeFormatter.formatIssueSync(issue)}`)),
    onRight: Effect.succeed
  })

/**
 * Makes a tool out of its definition, with the services that it needs taken from the context. Fails with
 * {@link UnusableTool} where the name or one of the schemas cannot be offered to clients.
 */
export const make = <Input, InputJson, Plan, PlanJson, Output, OutputJson, R = never>(
  definition: Definition<Input, InputJson, Plan, PlanJson, Output, OutputJson, R>
): Effect.Effect<Tool, UnusableTool, R> =>
  Effect.gen(function* () {
    const { description, name, risk } = definition
    if (!isName(name)) {
      return yield* new UnusableTool({
        tool: name,
        reason: "a name is a letter, then up to 63 letters, digits, _ or -"
      })
    }
    const context = yield* Effect.context<R>()
    const unusable = (error: JsonSchema.UnusableSchema) => new UnusableTool({ tool: name, reason: error.message })
    const inputSchema = yield* Effect.mapError(JsonSchema.of(definition.input), unusable)
    const outputSchema = yield* Effect.mapError(JsonSchema.of(definition.output), unusable)
    const decodeInput = InputSchema.decoder(definition.input)
    const encodePlan = ParseResult.encodeEither(definition.plan)
    const decodePlan = ParseResult.decodeUnknownEither(definition.plan)
    const encodeOutput = ParseResult.encodeEither(definition.output)
    const succeeded = definition.succeeded ?? (() => true)
    const unavailable = Effect.provide(definition.unavailable ?? Effect.succeedNone, context)

    const outcome = (output: Output): Effect.Effect<Outcome> =>
      Effect.map(orDefect(encodeOutput(output), `output of ${name}`), (json) => ({
        output: json as Json,
        succeeded: succeeded(output)
      }))

    const prepare = (input: Input): Effect.Effect<PreparedCall, ToolError> =>
      Effect.gen(function* () {
        const reason = yield* unavailable
        if (Option.isSome(reason)) {
          return yield* new ToolError({ kind: "unavailable", message: `${name}: ${reason.value}` })
        }
        const prepared = yield* Effect.provide(definition.prepare(input), context)
        const plan = deepFreeze(yield* orDefect(encodePlan(prepared.plan), `plan of ${name}`))
        return {
          risk: gravest(risk, prepared.risk ?? risk),
          summary: typeof prepared.summary === "string" ? Effect.succeed(prepared.summary) : prepared.summary,
          plan: plan as JsonObject,
          timeoutSeconds: Option.fromNullable(prepared.timeoutSeconds),
          run: (call) =>
            Effect.flatMap(orDefect(decodePlan(plan), `plan of ${name}`), (exact) =>
              definition.run(exact, {
                ...call,
                partial: (output) => Effect.flatMap(outcome(output), call.partial),
                commit: (output) => Effect.flatMap(outcome(output), call.commit)
              })
            ).pipe(Effect.flatMap(outcome), Effect.provide(context))
        }
      })

    return {
      name,
      description,
      risk,
      inputSchema,
      outputSchema,
      outputLimitBytes: Option.fromNullable(definition.outputLimitBytes),
      unavailable,
      decode: (input) => Effect.map(decodeInput(input), prepare),
      recorded: {
        plan: (plan, sha256) => Recorded.plan(definition.plan.ast, plan, sha256),
        output: Recorded.output(definition.output.ast)
      }
    }
  })

/** A tool as it is listed to whoever could call it. `reason` says why it is not available, where it is not. */
export interface Description {
  readonly name: string
  readonly risk: ToolRisk
  readonly description: string
  readonly available: boolean
  readonly reason?: string
  readonly input_schema: JsonObject
  readonly output_schema: JsonObject
}

/** A tool as it is at the moment. */
export const describe = (tool: Tool): Effect.Effect<Description> =>
  Effect.map(tool.unavailable, (reason) => ({
    name: tool.name,
    risk: tool.risk,
    description: tool.description,
    available: Option.isNone(reason),
    ...(Option.isSome(reason) ? { reason: reason.value } : {}),
    input_schema: tool.inputSchema,
    output_schema: tool.outputSchema
  }))
