/** Hides what looks like a secret, so that a configuration can be shown to others. A heuristic, not a protection. */

const hidden = "***"

const word = "(?:key|token|secret|pass|pwd|credential|auth|bearer)"

/** `name=value` or `name: value` with a telling name, wherever in a text. */
const assignment = new RegExp(`^(.*?${word}[^=:]{0,64}[=:] ?).+`, "is")

/** An option with a telling name, whose value comes as the next argument. */
const option = new RegExp(`^-[^=:]*${word}[^=:]*$`, "i")

/** Tokens of a well-known form, and the password in a URL. */
const token =
  /\b(?:sk-[\w-]{8,}|gh[opsur]_\w{8,}|github_pat_\w{8,}|glpat-[\w-]{8,}|npm_\w{8,}|AKIA\w{8,}|AIza[\w-]{8,}|xox[a-z]-[\w-]{8,}|eyJ[\w-]{8,}[\w.-]*)|(?<=:\/\/(?:[^/\s:@]*:)?)[^@/\s:]+(?=@)|(?<=\bbearer )\S+/gi

const hideText = (text: string): string => text.replace(assignment, `$1${hidden}`).replace(token, hidden)

const isOption = (argument: unknown): boolean => typeof argument === "string" && option.test(argument)

/** A value of the configuration without what looks like a secret in its texts. */
export const hide = (value: unknown): unknown => {
  if (typeof value === "string") return hideText(value)
  if (!Array.isArray(value)) return value
  return value.map((item, index) => (isOption(value[index - 1]) ? hidden : hide(item)))
}
