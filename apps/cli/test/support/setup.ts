import * as fs from "node:fs"
import { afterAll } from "@effect/vitest"
import { home } from "./scv.ts"

// The processes that run tests are ended without an exit of their own.
afterAll(() => fs.rmSync(home, { recursive: true, force: true }))
