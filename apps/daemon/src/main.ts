import { builtins } from "@scv/runtime"
import * as Effect from "effect/Effect"
import { run } from "./Scvd.ts"
import * as Signals from "./Signals.ts"

process.exitCode = 70
Effect.runCallback(
  Effect.scoped(Effect.flatMap(Signals.stopping, (stopping) => run(process.argv, builtins, stopping))),
  { onExit: (exit) => process.exit(exit._tag === "Success" ? exit.value : 70) }
)
