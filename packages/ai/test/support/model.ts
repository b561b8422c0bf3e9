import * as LanguageModel from "@effect/ai/LanguageModel"
import type * as Response from "@effect/ai/Response"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"

let calls = 0

/** A call as a provider hands it on. */
export const toolCall = (name: string, params: unknown): Response.ToolCallPartEncoded => ({
  type: "tool-call",
  id: `model-${++calls}`,
  name,
  params
})

/** A model that answers every request with the same calls. */
export const saying = (parts: ReadonlyArray<Response.ToolCallPartEncoded>) =>
  LanguageModel.make({
    generateText: () => Effect.succeed([...parts]),
    streamText: () => Stream.fromIterable(parts)
  })
