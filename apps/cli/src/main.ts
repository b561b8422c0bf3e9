import { builtins } from "@scv/runtime"
import { run } from "./Cli.ts"
import { start } from "./start.ts"

start(run(process.argv, builtins))
