/** Tools of somebody else's, in the ways that a client can meet one. */
import { InputSchema, Tool, ToolError } from "@scv/core"
import type { OfferedTool } from "@scv/runtime"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

const word = InputSchema.struct({ word: InputSchema.required(InputSchema.nonEmpty, "a word") })
const nothing = InputSchema.struct({})

/** Reads only, and cannot read the word `nope`. */
export const look: OfferedTool = Tool.make({
  name: "look_up",
  description: "Looks a word up.",
  risk: "read_only",
  input: word,
  plan: Schema.Struct({ word: Schema.String }),
  output: Schema.Struct({ meaning: Schema.String, uses: Schema.Number, notes: Schema.Array(Schema.String) }),
  prepare: (plan) => Effect.succeed({ summary: `look up ${plan.word}`, plan }),
  run: ({ word }) =>
    word === "nope"
      ? Effect.fail(new ToolError({ kind: "not_found", message: `${word}: no such word` }))
      : Effect.succeed({ meaning: `the first line\nthe second of ${word}`, uses: 2, notes: ["a", "b"] })
})

/** Asks before it runs; its result can be that it failed. */
export const shout: OfferedTool = Tool.make({
  name: "shout",
  description: "Says it loudly.",
  risk: "process",
  input: word,
  plan: Schema.Struct({ word: Schema.String }),
  output: Schema.Struct({ shouted: Schema.String }),
  succeeded: ({ shouted }) => shouted !== "HOARSE",
  prepare: ({ word }) => Effect.succeed({ summary: `shout ${word}\u202e`, plan: { word: word.toUpperCase() } }),
  run: ({ word }) => Effect.succeed({ shouted: word })
})

/** Has another plan each time that it is prepared. */
export const shifting: Effect.Effect<OfferedTool> = Effect.sync(() => {
  let count = 0
  return Tool.make({
    name: "shifting",
    description: "Never means the same twice.",
    risk: "process",
    input: nothing,
    plan: Schema.Struct({ count: Schema.Number }),
    output: Schema.Struct({ count: Schema.Number }),
    prepare: () => Effect.sync(() => ({ summary: `number ${++count}`, plan: { count } })),
    run: (plan) => Effect.succeed(plan)
  })
})

/** Is there only while `isThere` says so. */
export const absent = (isThere: () => boolean): OfferedTool =>
  Tool.make({
    name: "absent",
    description: "Needs a program.",
    risk: "read_only",
    input: nothing,
    plan: Schema.Struct({}),
    output: Schema.Struct({ done: Schema.Boolean }),
    unavailable: Effect.sync(() => (isThere() ? Option.none() : Option.some("its program is not installed"))),
    prepare: () => Effect.succeed({ summary: "", plan: {} }),
    run: () => Effect.succeed({ done: true })
  })

export interface Endless {
  readonly tool: OfferedTool
  readonly started: Effect.Effect<void>
  /** Lets a release that is under way end. */
  readonly release: Effect.Effect<void>
  readonly isReleased: () => boolean
}

/** Runs until it is interrupted; its release lasts until it is let go, or hurried. */
export const endless: Effect.Effect<Endless> = Effect.gen(function* () {
  const started = yield* Deferred.make<void>()
  const mayEnd = yield* Deferred.make<void>()
  let isReleased = false
  return {
    tool: Tool.make({
      name: "endless",
      description: "Goes on.",
      risk: "read_only",
      input: nothing,
      plan: Schema.Struct({}),
      output: Schema.Struct({ done: Schema.Boolean }),
      prepare: () => Effect.succeed({ summary: "", plan: {} }),
      run: (_, { hurry, progress }) =>
        progress("first\nsecond\n").pipe(
          Effect.zipRight(Deferred.succeed(started, undefined)),
          Effect.zipRight(Effect.never),
          Effect.ensuring(
            Effect.zipRight(
              Effect.raceFirst(Effect.interruptible(Deferred.await(mayEnd)), hurry),
              Effect.sync(() => {
                isReleased = true
              })
            )
          )
        )
    }),
    started: Deferred.await(started),
    release: Effect.asVoid(Deferred.succeed(mayEnd, undefined)),
    isReleased: () => isReleased
  }
})

/** Tells more than anybody can read, then is done. */
export const talkative: OfferedTool = Tool.make({
  name: "talkative",
  description: "Tells much.",
  risk: "read_only",
  input: nothing,
  plan: Schema.Struct({}),
  output: Schema.Struct({ done: Schema.Boolean }),
  prepare: () => Effect.succeed({ summary: "", plan: {} }),
  run: (_, { progress }) =>
    Effect.as(Effect.repeatN(Effect.zipRight(progress("step \u001b[2J\n"), Effect.sleep("5 millis")), 200), {
      done: true
    })
})
