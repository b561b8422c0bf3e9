// A session in an app of your own: SCV's tools and one beside them. Run: npx tsx examples/embedded.ts
import { Approval } from "@scv/core"
import { builtins, LocalSession } from "@scv/runtime"
import { Console, Effect, Layer } from "effect"
import { wordCount } from "./word-count.ts"

const approver = Layer.succeed(Approval.Approver, {
  decide: ({ risk }) => Effect.succeed({ decision: risk === "process" ? "approve" : "deny", by: "the app" })
})

const program = Effect.gen(function* () {
  const session = yield* LocalSession.make()
  yield* Console.log(yield* session.call({ tool: "bash", input: { command: "echo hello" } }))
  yield* Console.log(yield* session.call({ tool: "word_count", input: { path: "package.json" } }))
}).pipe(Effect.scoped, Effect.provide([approver, LocalSession.single({ workspace: "." }, [...builtins, wordCount])]))

await Effect.runPromise(program)
