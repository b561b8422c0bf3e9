/** Every benchmark as a ratio or a difference within one run, since absolute times differ from machine to machine. */
import * as os from "node:os"
import * as Effect from "effect/Effect"
import { bashByMcp, bashCall, bashEnding, bashOutput } from "./bash.ts"
import { type Benchmark, table } from "./measure.ts"
import { containedRead, readCall } from "./read.ts"
import { skillDiscovery } from "./skills.ts"
import { startup } from "./startup.ts"
import { durableWrite } from "./write.ts"

const benchmarks: ReadonlyArray<Benchmark> = [
  startup,
  containedRead,
  readCall,
  durableWrite,
  bashCall,
  bashByMcp,
  bashEnding,
  bashOutput,
  skillDiscovery
]

const rows = (await Effect.runPromise(Effect.all(benchmarks))).flat()
console.log(`Node ${process.version}, ${process.platform} ${process.arch}, ${os.availableParallelism()} cores; medians`)
console.log(table(rows))
