import { run } from "./Cli.ts"
import { start } from "./start.ts"
import * as Wiring from "./Wiring.ts"

start(run(process.argv, Wiring.builtins))
