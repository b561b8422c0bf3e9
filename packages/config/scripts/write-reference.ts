/** Writes the reference of the configuration into `docs/`. */
import * as fs from "node:fs"
import { Reference } from "@scv/config"

const agents = ["claude", "codex", "pi"]

const docs = new URL("../../../docs/", import.meta.url)

fs.writeFileSync(new URL("configuration.md", docs), Reference.page(agents))
fs.writeFileSync(new URL("config.schema.json", docs), `${JSON.stringify(Reference.jsonSchema(agents), null, 2)}\n`)
