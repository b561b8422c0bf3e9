// The licences of what a bundle holds, which must go wherever the bundle goes.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

/** The licence texts of all packages of others in a bundle, by esbuild's account of what went into it. */
export const licencesOf = (metafile, root) => {
  const folders = Object.keys(metafile.inputs).flatMap((input) => {
    const found = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input)
    return found === null ? [] : [join(root, found[1])]
  })
  const texts = [...new Set(folders)].sort().map((folder) => {
    const { license, name, version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry))
    if (file === undefined) throw new Error(`${name} has no licence file: ${folder}`)
    return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`
  })
  return texts.join(`\n${"-".repeat(80)}\n\n`)
}
