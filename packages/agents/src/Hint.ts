/** What helps a run of an agent that failed. */
import type { ProcessGroup } from "@scv/core"
import type { Agent } from "./Agent.ts"

// Control sequences and strings of ECMA-48, with which agents colour what they print, and make links of it.
const ansi = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\))/g

/** How much of the end of the output is looked at, in characters: what went wrong is said last. */
const tail = 4096

/** A hint where the output of a failed run reads like something that can be helped; undefined for every other run. */
export const hintFor = (agent: Agent, { exit_code, output }: ProcessGroup.Output): string | undefined => {
  if (exit_code === null || exit_code === 0) return undefined
  const said = output.slice(-tail).replace(ansi, "")
  const remedy = agent.remedies.find(({ pattern }) => pattern.test(said))
  if (remedy !== undefined) return remedy.hint
  return agent.signIn.missing.some((pattern) => pattern.test(said))
    ? `${agent.title} seems not to be signed in; on the machine that SCV runs on: scv agents login ${agent.name}`
    : undefined
}

/** The result with that hint beside any other. */
export const withHint = (agent: Agent, output: ProcessGroup.Output): ProcessGroup.Output => {
  const hint = hintFor(agent, output)
  if (hint === undefined) return output
  return { ...output, hint: output.hint === undefined ? hint : `${hint}; ${output.hint}` }
}
