import { sections, type TableOptions, table } from "./keys.ts"
import { literal } from "./literal.ts"

const head = `# The configuration of SCV. Every key is here with its default, switched off by the # before it.
# \`scv config show\` prints what is in force and where it comes from.
`

/** The example file that \`scv config init\` writes: TOML in which every key is a comment. */
export const template = (options: TableOptions): string => {
  const parts = [...sections(table(options))].map(([section, keys]) => {
    const lines = [...keys].map(([name, key]) => {
      const comment = key.default === undefined ? `${key.description} Not set by default.` : key.description
      return `# ${comment}\n#${name} = ${literal(key.default ?? key.example)}\n`
    })
    return `[${section}]\n${lines.join("\n")}`
  })
  return [head, ...parts].join("\n")
}
