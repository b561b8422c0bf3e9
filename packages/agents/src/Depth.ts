/**
 * How many agents deep a call is. An agent that is started learns it from a variable, and so does every SCV below it, with
 * the ceiling of whoever started the first one: a nested one has a configuration of its own.
 */

/** An agent that is started now runs at `depth`, counted from 1, and none below it at more than `ceiling`. */
export interface Depth {
  readonly depth: number
  readonly ceiling: number
}

const depthVariable = "SCV_DELEGATION_DEPTH"

const ceilingVariable = "SCV_DELEGATION_CEILING"

/** A count that somebody set; what is no count is taken for the worst. */
const countOf = (text: string | undefined, unset: number, worst: number): number => {
  if (text === undefined) return unset
  return /^\d{1,6}$/.test(text) ? Number(text) : worst
}

/** Where an agent that is started by a server with these variables would run. */
export const nextDepth = (server: Readonly<Record<string, string>>, configured: number): Depth => ({
  depth: countOf(server[depthVariable], 0, Number.MAX_SAFE_INTEGER - 1) + 1,
  ceiling: Math.min(configured, countOf(server[ceilingVariable], configured, 0))
})

/** What tells a process how deep it is. */
export const variablesOf = ({ ceiling, depth }: Depth): Readonly<Record<string, string>> => ({
  [depthVariable]: String(depth),
  [ceilingVariable]: String(ceiling)
})
