/** Kills a writing session at random moments, 10,000 times (or as often as the argument says), and looks at the files. */
import * as Effect from "effect/Effect"
import { crash } from "../apps/cli/test/support/crash.ts"

const count = Number(process.argv[2] ?? 10_000)
const halves = await Effect.runPromise(
  Effect.all([crash(Math.ceil(count / 2)), crash(Math.floor(count / 2))], { concurrency: "unbounded" })
)
const torn = halves.flatMap((half) => half.torn)
const unexplained = halves.flatMap((half) => half.unexplained)
const leftOvers = halves.reduce((sum, half) => sum + half.leftOvers, 0)
const unswept = halves.reduce((sum, half) => sum + half.leftAfterSweep, 0)
for (const line of [...torn, ...unexplained]) console.log(line)
console.log(`${count} crashes: ${torn.length} torn files, ${leftOvers} left-overs seen, ${unswept} of them unswept`)
process.exitCode = torn.length + unexplained.length + unswept > 0 ? 1 : 0
