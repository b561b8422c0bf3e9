/** How an agent is started: its own way, or the one that the user configured. */
import { type Agent, effortPlaceholder, modelPlaceholder } from "./Agent.ts"
import type { AgentSetting } from "./AgentSettings.ts"

export interface Invocation {
  readonly command: string
  readonly args: ReadonlyArray<string>
  readonly modelArgs: ReadonlyArray<string>
  readonly effortArgs: ReadonlyArray<string>
}

export const invocationOf = (agent: Agent, setting: AgentSetting = {}): Invocation => ({
  command: setting.command ?? agent.command,
  args: setting.args ?? agent.args,
  modelArgs: setting.model_args ?? agent.modelArgs,
  effortArgs: setting.effort_args ?? agent.effortArgs
})

const filled = (template: ReadonlyArray<string>, placeholder: string, value: string | undefined) =>
  // A function, since `$&` in a replacement would be read as a pattern.
  value === undefined ? [] : template.map((arg) => arg.replaceAll(placeholder, () => value))

/** All arguments of a call: the fixed ones, the selected ones, and the prompt as the last. */
export const argumentsOf = (
  { args, effortArgs, modelArgs }: Invocation,
  { effort, model, prompt }: { readonly model?: string; readonly effort?: string; readonly prompt: string }
): ReadonlyArray<string> => [
  ...args,
  ...filled(modelArgs, modelPlaceholder, model),
  ...filled(effortArgs, effortPlaceholder, effort),
  prompt
]

/**
 * The arguments of another command of the same program. Configured arguments may begin with what leads to the program,
 * such as a script or a package's name; that stays, up to the word that makes it answer a prompt. The last such word: to
 * what leads there it may mean something else, as in `npx -p PACKAGE pi -p`.
 */
export const commandOf = (
  agent: Agent,
  invocation: Invocation,
  command: ReadonlyArray<string>
): ReadonlyArray<string> => {
  const words = [...agent.args.slice(0, 1), ...agent.aliases]
  const at = invocation.args.findLastIndex((arg) => words.includes(arg))
  return [...(at < 0 ? invocation.args : invocation.args.slice(0, at)), ...command]
}
