import * as fs from "node:fs"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"

const all = (): ReadonlyArray<number> =>
  fs
    .readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map(Number)

/** The live processes whose environment or command line holds a text; of those given, where some are. */
export const processesWith = (text: string, among = all()): ReadonlyArray<number> =>
  among.filter((pid) => {
    try {
      const isLive = !/^\d+ \(.*\) [ZX]/s.test(fs.readFileSync(`/proc/${pid}/stat`, "latin1"))
      const about = ["environ", "cmdline"].map((file) => fs.readFileSync(`/proc/${pid}/${file}`, "latin1")).join("\0")
      return isLive && about.includes(text)
    } catch {
      return false
    }
  })

/** Waits until a condition holds. */
export const until = (condition: () => boolean) =>
  Effect.asVoid(
    Effect.repeat(Effect.sync(condition), { until: (holds) => holds, schedule: Schedule.spaced("10 millis") })
  )
