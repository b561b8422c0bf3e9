// How a bundle gets at Node's own modules. A static import would be a copy of the module, made once for every file that
// has one, which runs all its getters; and would load what the run may never use. Both cost a fifth of a short run.
import { writeFileSync } from "node:fs"

/** `toESM(require("node:fs"),1)`, as esbuild writes it. Group 1 is the name that it is bound to. */
const copied = /([\w$]+) ?= ?[\w$]+\(require\("(node:[\w/]+)"\), ?1\)/g

const plain = /([\w$]+) ?= ?require\("(node:[\w/]+)"\)/g

/** Slow to load, and not needed by every run. */
const lazy = new Set(["node:child_process", "node:net", "node:perf_hooks", "node:timers/promises", "node:tty"])

/** Loads a module when something of it is first used. */
const loader = "const __lazy=(id)=>new Proxy({},{get:(_,name)=>require(id)[name]});"

const rewrite = (text) => {
  // A default import is only there in a copy.
  const hasDefault = (name) => new RegExp(`(?<![\\w$.])${name.replaceAll("$", "\\$")}\\.default\\b`).test(text)
  const bound = (whole, name, id) =>
    hasDefault(name) ? whole : `${name}=${lazy.has(id) ? "__lazy" : "require"}("${id}")`
  return `${loader}${text.replace(copied, bound).replace(plain, bound)}`
}

/** Writes the files of a build that has `write: false`. */
export const builtinModules = {
  name: "builtin modules",
  setup: (build) =>
    build.onEnd(({ outputFiles = [] }) => {
      for (const { contents, path, text } of outputFiles) {
        writeFileSync(path, path.endsWith(".cjs") ? rewrite(text) : contents)
      }
    })
}
