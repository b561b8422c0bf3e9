import * as v8 from "node:v8"
import * as vm from "node:vm"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { makeSession, textTool } from "./support/session.ts"

v8.setFlagsFromString("--expose-gc")
const collect: (options: { readonly type: "minor" }) => void = vm.runInNewContext("gc")

const resultBytes = 100_000

describe("a call that has ended", () => {
  it.scoped("leaves its result to the next young collection", () =>
    Effect.gen(function* () {
      // Flat text of its own, which a collection has to copy for as long as something holds it.
      const tool = textTool({
        run: () => Effect.sync(() => ({ text: Buffer.alloc(resultBytes, "a").toString("latin1") }))
      })
      const session = yield* makeSession({ tools: [tool] })
      const call = Effect.asVoid(session.call({ tool: "echo", input: { text: "hi" } }))
      const heapAfter = (calls: number) =>
        Effect.gen(function* () {
          for (let i = 0; i < calls; i++) {
            yield* call
            collect({ type: "minor" })
          }
          return process.memoryUsage().heapUsed
        })
      const before = yield* heapAfter(20)
      const calls = 50
      const grown = ((yield* heapAfter(calls)) - before) / calls
      assert.isBelow(grown, resultBytes / 2)
    })
  )
})
