/** The reference of the configuration, as a page and as JSON Schema. Both say what the table of keys says. */
import * as Either from "effect/Either"
import type { Key } from "./Key.ts"
import { sections, table } from "./keys.ts"
import { literal } from "./literal.ts"
import { nest } from "./nest.ts"
import { asToml } from "./Value.ts"

const home = "$SCV_HOME"

const introduction = `# Configuration

SCV is configured by files of [TOML](https://toml.io). Every key has a default, and no file has to exist. A later layer
wins over an earlier one:

1. the defaults;
2. the user's file, \`$SCV_HOME/config.toml\`, where \`SCV_HOME\` is \`~/.scv\` unless it is set;
3. the project's file, \`.scv/config.toml\` in the workspace;
4. the file that \`SCV_CONFIG\` names, which must exist;
5. the options of the command, such as \`--policy\`.

| command | does |
| --- | --- |
| \`scv config show\` | prints every key, its value and where that comes from; what looks like a secret is hidden |
| \`scv config path\` | prints the path of the user's file |
| \`scv config init\` | writes an example there if there is no file yet, in which every key is a comment |

A file is a regular file of at most 64 KiB of UTF-8. An unknown key, or a value that its key does not take, is an error
that names the file, the line and the key; all errors of all files are told at once, and nothing runs until they are
mended. No message holds a value.

## What a project may set

A project's file comes with the code that somebody else may have written. So its limits count only where they are
smaller than those in force, its approval policy only where it is stricter (\`never\` is stricter than \`always\`, which is
stricter than \`on-risk\`), and its switches only where they turn something off. A value that does not count is ignored,
and \`scv config show\` says so. A key that a project may not set at all is an error. The file is read through the
workspace: one that is a link to somewhere else is refused. Where it is the same file as the user's or the one that
\`SCV_CONFIG\` names, it counts as that one.

Editors can check and complete these files by the JSON Schema in [config.schema.json](config.schema.json).
`

const projectSkills = `## Project skills

With \`skills.scan_projects\`, a session that has agents to delegate to also lists the skills that are meant for them: those
below \`.agents/skills\` and \`.claude/skills\` of the workspace, and of each directory in it whose name does not begin with a
dot (at most 256 of them). A skill of the workspace goes by its name and by \`WORKSPACE_FOLDER:NAME\`, one of a directory by
\`DIRECTORY:NAME\`. They are listed apart from others, with the instruction to delegate to that project with \`agent_*\` and
\`cwd\`; an agent that is started there loads them by itself. How skills are found, and which one has a name that several
want, is told in [skills.md](skills.md).
`

const projectCell = ({ project }: Key): string => (project === "never" ? "no" : `only ${project.says}`)

const defaultCell = (key: Key): string => (key.default === undefined ? "not set" : `\`${literal(key.default)}\``)

const sectionPage = (section: string, keys: ReadonlyMap<string, Key>): string =>
  [
    `## \`[${section}]\`\n`,
    "| key | takes | default | a project may set it | |",
    "| --- | --- | --- | --- | --- |",
    ...[...keys].map(
      ([name, key]) =>
        `| \`${name}\` | ${key.expects()} | ${defaultCell(key)} | ${projectCell(key)} | ${key.description} |`
    ),
    ""
  ].join("\n")

/** The page `docs/configuration.md`, in Markdown. */
export const page = (agents: ReadonlyArray<string>): string => {
  const known = agents.map((agent) => `\`${agent}\``).join(", ")
  const parts = [...sections(table({ home, agents: ["NAME"] }))].map(([section, keys]) => sectionPage(section, keys))
  return [introduction, ...parts, `NAME is one of ${known}.\n`, projectSkills].join("\n")
}

const propertyOf = (key: Key): object => ({
  ...key.jsonSchema(),
  description: key.description,
  // A default that is named by a variable is none that a file could hold.
  ...(Either.isRight(key.decode(asToml(key.default))) ? { default: key.default } : {})
})

const closed = (properties: object): object => ({ type: "object", additionalProperties: false, properties })

/** JSON Schema, draft 2020-12, of a file: closed and without references. */
export const jsonSchema = (agents: ReadonlyArray<string>): object => ({
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "The configuration of SCV",
  ...closed(nest([...table({ home, agents })], propertyOf, closed))
})
