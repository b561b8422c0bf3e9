// Runs every snippet of the README and of docs/*.md, in this folder and in their order: each command of an `sh` block, and
// each `ts` block as a program of its own, after all of them were type-checked. What cannot be run is in other fences. An
// argument picks some: `start` the commands that build what the others use, `rest` all but those.
import { spawnSync } from "node:child_process"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"

const pages = [
  "README.md",
  ...readdirSync("docs")
    .filter((name) => name.endsWith(".md"))
    .sort()
    .map((name) => `docs/${name}`)
]
const home = mkdtempSync(join(tmpdir(), "scv-docs-"))
// The pages say `scv`, as it is called where it is installed.
mkdirSync(join(home, "bin"))
symlinkSync(resolve("apps/cli/dist/scv.js"), join(home, "bin/scv"))
const env = { ...process.env, SCV_HOME: join(home, "scv"), PATH: `${join(home, "bin")}:${process.env.PATH}` }
const run = (program, ...args) =>
  spawnSync(program, args, { encoding: "utf8", env, stdio: ["ignore", "pipe", "pipe"], timeout: 300_000 })

/** The blocks of a language, with the line that they begin on. */
const blocks = (page, language) => {
  const text = readFileSync(page, "utf8")
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"))].map(({ 1: code, index }) => ({
    code,
    place: `${page}:${text.slice(0, index).split("\n").length + 1}`
  }))
}

const [, , kind] = process.argv
let passed = 0
let failed = 0
const report = (what, isGood, why) => {
  console.log(`${isGood ? "ok  " : "FAIL"} ${what}`)
  if (isGood) passed++
  else {
    failed++
    console.log(why)
  }
}

// What the README says that the first command prints is what it prints.
const [promised] = blocks("README.md", "json").map(({ code }) => code.trimEnd())

const runCommands = () => {
  for (const page of pages) {
    for (const { code, place } of blocks(page, "sh")) {
      for (const line of code.split("\n").map((line) => line.trim())) {
        if (line === "" || line.startsWith("#")) continue
        // `npm ci` and `npm test` are steps of the run itself.
        const command = line.replace(/^npm ci && /, "")
        if (command === "npm test" || command === "npm ci") continue
        if (kind !== undefined && command.startsWith("npm ") !== (kind === "start")) continue
        const { status, stderr, stdout } = run("bash", "-c", command)
        const isAsPromised = !command.startsWith("npm start") || stdout.trimEnd().endsWith(`\n${promised}`)
        const why = isAsPromised ? stdout + stderr : `prints something else than the README says:\n${stdout}`
        report(`${place} ${command}`, status === 0 && isAsPromised, why)
      }
    }
  }
}

const runPrograms = () => {
  const programs = pages.flatMap((page) => blocks(page, "ts"))
  if (programs.length === 0) return
  // In this folder, so that our packages are found as they are by the examples.
  const folder = ".snippets"
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  try {
    const files = programs.map(({ code }, index) => {
      const file = join(folder, `${index}.ts`)
      writeFileSync(file, `${code}export {}\n`)
      return file
    })
    writeFileSync(
      join(folder, "tsconfig.json"),
      JSON.stringify({ extends: "../examples/tsconfig.json", include: ["*.ts"] })
    )
    const types = run("npx", "tsc", "-p", folder, "--incremental", "false")
    report(`${files.length} ts blocks are well typed`, types.status === 0, types.stdout + types.stderr)
    // All in one process, since most of the time goes into loading what they import.
    writeFileSync(
      join(folder, "all.mts"),
      `import { writeFileSync } from "node:fs"
      const faults: Array<string> = []
      for (const file of ${JSON.stringify(files)}) {
        faults.push(await import(\`../\${file}\`).then(() => "", (error) => String(error?.stack ?? error)))
        writeFileSync("${folder}/faults.json", JSON.stringify(faults))
      }`
    )
    const all = run("npx", "tsx", join(folder, "all.mts"))
    const faults = existsSync(join(folder, "faults.json"))
      ? JSON.parse(readFileSync(join(folder, "faults.json"), "utf8"))
      : []
    for (const [index, { place }] of programs.entries()) {
      report(place, faults[index] === "", faults[index] ?? `did not get to its end:\n${all.stderr}`)
    }
    report("the ts blocks leave nothing that keeps the process", all.status === 0, all.stderr)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

try {
  runCommands()
  if (kind !== "start") runPrograms()
} finally {
  rmSync(home, { recursive: true, force: true })
}
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = failed > 0 || passed === 0 ? 1 : 0
