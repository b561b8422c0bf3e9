import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** An empty directory for as long as the scope is open. */
export const scratch: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "scv-bench-"))),
  (made) => Effect.sync(() => fs.rmSync(made, { recursive: true, force: true }))
)
