/** What a skill may be called and how it may be described. Source: the Agent Skills specification, "Frontmatter". */
import { Display } from "@scv/core"

const maxName = 64

const maxDescription = 1024

const typeOf = (value: unknown): string => {
  if (Array.isArray(value)) return "a list"
  return value === null ? "an alias" : "a map"
}

const shown = (name: string): string => Display.bounded(JSON.stringify(name), 80)

/** Why a value of `name` is no name of a skill in a folder, or undefined where it is one. */
export const nameFault = (name: unknown, folder: string): string | undefined => {
  if (name === undefined) return "`name` is missing in the front matter of SKILL.md"
  if (typeof name !== "string") return `\`name\`: expected text, got ${typeOf(name)}`
  if (name === "") return "`name` is empty"
  if (name.length > maxName) return `\`name\`: expected at most ${maxName} characters, got ${name.length}`
  if (!/^[a-z0-9-]+$/.test(name)) return `\`name\`: expected lower-case letters, digits and hyphens, got ${shown(name)}`
  if (/^-|-$|--/.test(name)) return `\`name\`: expected single hyphens between other characters, got ${shown(name)}`
  return name === folder ? undefined : `\`name\`: expected the name of its folder, ${shown(folder)}, got ${shown(name)}`
}

/** Why a value of `description` is none, or undefined where it is one. */
export const descriptionFault = (description: unknown): string | undefined => {
  if (description === undefined) return "`description` is missing in the front matter of SKILL.md"
  if (typeof description !== "string") return `\`description\`: expected text, got ${typeOf(description)}`
  const characters = Array.from(description.trim()).length
  if (characters === 0) return "`description` is empty"
  return characters > maxDescription
    ? `\`description\`: expected at most ${maxDescription} characters, got ${characters}`
    : undefined
}
