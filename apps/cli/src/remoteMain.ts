/** Every command. The launcher takes this one wherever `main.ts` does not do. */
import { remote } from "./commands/remote.ts"
import { start } from "./start.ts"

start(remote)
