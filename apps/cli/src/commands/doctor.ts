import * as Command from "@effect/cli/Command"
import { Display } from "@scv/core"
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"
import { type Check, checks } from "../Doctor.ts"
import { ExitCode } from "../ExitCode.ts"
import { Stdio } from "../Stdio.ts"
import * as options from "./options.ts"

const marks = { ok: ["ok  ", 32], warn: ["warn", 33], fail: ["FAIL", 31] } as const

const rowOf = (check: Check, hasColor: boolean): string => {
  const [word, color] = marks[check.status]
  const mark = hasColor ? `\u001b[${color}m${word}\u001b[0m` : word
  const mend = check.mend === undefined ? "" : `\n      -> ${Display.inline(check.mend)}`
  return `${mark}  ${check.name}: ${Display.inline(check.found)}${mend}\n`
}

/** `scv doctor`: what this machine has and lacks. Exits 1 where something that SCV needs is missing. */
export const doctor = Command.make("doctor", { json: options.json }, ({ json }) =>
  Effect.gen(function* () {
    const stdio = yield* Stdio
    const found = yield* checks
    if (json) yield* stdio.out(`${JSON.stringify({ checks: found }, null, 2)}\n`)
    else for (const check of found) yield* stdio.out(rowOf(check, stdio.hasColor("out")))
    if (found.some((check) => check.status === "fail")) yield* Ref.set(yield* ExitCode, 1)
  })
).pipe(Command.withDescription("Tells what this machine has and lacks, each with the mend."))
