/**
 * `scv call` as it is mostly spelled, read without the library that knows every spelling: loading that takes longer than
 * a call. What is not clear here is nothing, and left to the library.
 */
import { Approval } from "@scv/core"
import type { Given } from "./Call.ts"

const isPolicy = (word: string): word is Approval.ApprovalPolicy =>
  Approval.ApprovalPolicy.literals.some((literal) => literal === word)

/** What a command line means, where it is `call TOOL [{...} | -]` and then options, each once and with a value apart. */
export const read = (argv: ReadonlyArray<string>): Given | undefined => {
  const [, , command, tool = "", ...rest] = argv
  if (command !== "call" || !/^[a-z]\w*$/.test(tool)) return undefined
  const input = rest[0] === "-" || rest[0]?.startsWith("{") === true ? rest.shift() : undefined
  const options = new Map<string, string>()
  for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
    const value = name === "--yes" ? "" : rest.shift()
    if (value === undefined || value.startsWith("-") || options.has(name)) return undefined
    options.set(name, value)
  }
  const workspace = options.get("--workspace") ?? "."
  const policy = options.get("--policy")
  const yes = options.has("--yes")
  for (const name of ["--workspace", "--policy", "--yes"]) options.delete(name)
  if (options.size > 0 || workspace === "" || (policy !== undefined && !isPolicy(policy))) return undefined
  return { tool, input: input ?? "{}", workspace, yes, policy: { "tools.approval_policy": policy } }
}
