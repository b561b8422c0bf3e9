import { Display } from "@scv/core"
import * as Cause from "effect/Cause"
import * as Logger from "effect/Logger"

/** The log of the daemon: lines on stderr, where systemd or `scv daemon start` keeps them. */
export const layer = Logger.replace(
  Logger.defaultLogger,
  Logger.make(({ cause, date, message }) => {
    const said = Array.isArray(message) ? message.map(String).join(" ") : String(message)
    const why = Cause.isEmpty(cause) ? "" : `\n${Cause.pretty(cause)}`
    process.stderr.write(`${date.toISOString()} scvd: ${Display.lines(said + why)}\n`)
  })
)
