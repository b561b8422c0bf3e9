/** The command for what most runs of it are: one call, without what only other commands need. */
import { builtins } from "@scv/runtime"
import * as Call from "./Call.ts"
import * as CallArguments from "./CallArguments.ts"
import { exitCodeOf } from "./Frame.ts"
import { start } from "./start.ts"

const given = CallArguments.read(process.argv)
if (given !== undefined) start(exitCodeOf(Call.make(given, builtins)))

/** Whether this is such a run. If not, nothing was done. */
export const isTaken = given !== undefined
