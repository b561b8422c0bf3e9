/**
 * Packs every package as it is published, judges the tarballs, and uses them in an empty project elsewhere: the examples
 * are type-checked and run there, and so are `npx scv` and the daemon that it starts. What is not ours comes from the registry that npm is set to.
 *
 * Run: npx tsx checks/packages.ts
 */
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { type Manifest, workspaces } from "../scripts/workspaces.ts"

const root = fileURLToPath(new URL("..", import.meta.url))
const place = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "scv-packages-")))
const home = path.join(place, "home")
const published = workspaces(root).filter(({ isPublished }) => isPublished)

// What `npm run` says of this project is not meant for another one.
const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(npm_(package|lifecycle|config_local_prefix)|INIT_CWD)/.test(name))
)

const run = (cwd: string, program: string, ...args: ReadonlyArray<string>): string => {
  const env = { ...environment, SCV_HOME: home }
  const { error, status, stderr, stdout } = spawnSync(program, args, { cwd, env, encoding: "utf8", timeout: 300_000 })
  if (error !== undefined) throw error
  if (status !== 0) throw new Error(`${program} ${args.join(" ")}: exit code ${status}\n${stdout}${stderr}`)
  return stdout
}

const bin = (name: string): string => path.join(root, "node_modules/.bin", name)

let faults = 0
const check = (name: string, judge: () => string | undefined): void => {
  let fault: string | undefined
  try {
    fault = judge()
  } catch (error) {
    fault = error instanceof Error ? error.message : String(error)
  }
  console.log(`${fault === undefined ? "ok  " : "FAIL"} ${name}${fault === undefined ? "" : `\n     ${fault}`}`)
  if (fault !== undefined) faults++
}

interface Packed {
  readonly name: string
  readonly filename: string
  /** Bytes of the tarball. */
  readonly size: number
  readonly files: ReadonlyArray<{ readonly path: string }>
}

const texts = (value: unknown): ReadonlyArray<string> => {
  if (typeof value === "string") return [value]
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(texts) : []
}

/** Files that a package holds without need, or names and does not hold. */
const contentFault = (manifest: Manifest, packed: Packed): string | undefined => {
  const files = packed.files.map((file) => file.path)
  const isBundle = manifest.bin !== undefined
  const wanted = isBundle
    ? /^dist\/([\w.-]+\.(js|cjs|txt)|package\.json|[a-z]+\.cache\.v[\w.-]+)$/
    : /^dist\/[\w./-]+(\.js|\.d\.ts)$/
  const stray = files.filter((file) => !wanted.test(file) && !/^(LICENSE|README\.md|package\.json)$/.test(file))
  if (stray.length > 0) return `holds ${stray.join(", ")}`
  if (!files.includes("LICENSE")) return "holds no licence"
  const named = texts([manifest.exports, manifest.bin ?? {}]).map((file) => file.replace(/^\.\//, ""))
  const missing = named.filter((file) => !files.includes(file))
  if (missing.length > 0) return `names ${missing.join(", ")}, which it does not hold`
  const stale = isBundle
    ? []
    : files.filter((file) => file.startsWith("dist/") && !fs.existsSync(sourceOf(manifest, file)))
  return stale.length === 0 ? undefined : `holds ${stale.join(", ")}, whose source is gone`
}

const folderOf = (name: string): string => published.find(({ manifest }) => manifest.name === name)!.folder

const sourceOf = (manifest: Manifest, file: string): string =>
  path.join(root, folderOf(manifest.name), file.replace(/^dist/, "src").replace(/(\.d\.ts|\.js)$/, ".ts"))

/** The documentation says of each package how large its tarball is: at most so many kB, and no less than two thirds. */
const sizeFault = ({ name, size }: Packed): string | undefined => {
  const page = fs.readFileSync(path.join(root, "docs/packages.md"), "utf8")
  const stated = new RegExp(`^\\| \`${name}\` \\|.*\\| (\\d+) kB \\|$`, "m").exec(page)?.[1]
  if (stated === undefined) return `docs/packages.md states no size; it is ${Math.ceil(size / 1000)} kB`
  const limit = Number(stated) * 1000
  return size <= limit && size >= (limit * 2) / 3
    ? undefined
    : `docs/packages.md states ${stated} kB; it is ${size} bytes`
}

const project = path.join(place, "project")

const packAll = (): ReadonlyArray<Packed> => {
  for (const { folder } of published) fs.rmSync(path.join(root, folder, "dist"), { recursive: true, force: true })
  const selected = published.flatMap(({ folder }) => ["-w", folder])
  return JSON.parse(run(root, "npm", "pack", "--json", "--pack-destination", place, ...selected))
}

const examples = ["embedded.ts", "word-count.ts", "script.ts", "agent-loop.ts"]

const makeProject = (packed: ReadonlyArray<Packed>): void => {
  fs.mkdirSync(project)
  const own: Manifest = JSON.parse(fs.readFileSync(path.join(root, "package.json"), "utf8"))
  const ofExamples: Manifest = JSON.parse(fs.readFileSync(path.join(root, "examples/package.json"), "utf8"))
  const names = packed.map(({ name }) => name)
  const dependencies = {
    ...Object.fromEntries(Object.entries(ofExamples.dependencies).filter(([name]) => !names.includes(name))),
    ...Object.fromEntries(["@types/node", "tsx", "typescript"].map((name) => [name, own.devDependencies[name]])),
    ...Object.fromEntries(packed.map(({ filename, name }) => [name, `file:../${filename}`]))
  }
  const manifest = { name: "elsewhere", private: true, type: "module", dependencies }
  const compilerOptions = {
    module: "nodenext",
    target: "es2023",
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    allowImportingTsExtensions: true,
    types: ["node"]
  }
  fs.writeFileSync(path.join(project, "package.json"), JSON.stringify(manifest))
  fs.writeFileSync(path.join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }))
  for (const file of examples) fs.copyFileSync(path.join(root, "examples", file), path.join(project, file))
  run(project, "npm", "install", "--no-audit", "--no-fund")
}

const completed = (output: string, times: number): string | undefined =>
  output.split("status: 'completed'").length - 1 === times ? undefined : `printed:\n${output}`

const command = path.join(project, "node_modules/scv/dist/scv.js")
const readCall = ["call", "read", '{"path":"package.json"}']

const callFault = (output: string): string | undefined =>
  JSON.parse(output).status === "completed" ? undefined : `printed:\n${output}`

/** Whether the daemon's bundle holds the protocol of MCP, which is loaded for the first client. */
const initializeFault = (): string | undefined => {
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "check", version: "1" } }
  const output = run(
    project,
    "curl",
    ...["--silent", "--show-error", "--max-time", "60", "--unix-socket", path.join(home, "state/scvd.sock")],
    ...["-H", "content-type: application/json", "-H", "accept: application/json, text/event-stream"],
    ...["-d", JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params })],
    `http://localhost/mcp?workspace=${encodeURIComponent(project)}`
  )
  return output.includes('"serverInfo"') ? undefined : `/mcp printed:\n${output}`
}

const caches = (): ReadonlyArray<string> =>
  fs.readdirSync(path.dirname(command)).filter((file) => file.includes(".cache."))

try {
  const packed = packAll()
  for (const one of packed) {
    const tarball = path.join(place, one.filename)
    const { manifest } = published.find(({ manifest }) => manifest.name === one.name)!
    check(`${one.name} holds what it names and no more`, () => contentFault(manifest, one))
    check(`${one.name} has the size that is stated`, () => sizeFault(one))
    check(`${one.name} passes publint`, () => void run(root, bin("publint"), "run", tarball, "--strict"))
    check(`${one.name} passes attw`, () => void run(root, bin("attw"), tarball, "--profile", "esm-only"))
  }
  makeProject(packed)
  check("the examples are well typed elsewhere", () => void run(project, "npx", "tsc"))
  check("embedded.ts runs elsewhere", () => completed(run(project, "npx", "tsx", "embedded.ts"), 2))
  check("script.ts runs elsewhere", () => completed(run(project, "npx", "tsx", "script.ts"), 1))
  check("no internal file can be imported", () => {
    const open = packed.flatMap(({ files, name }) =>
      files.filter((file) => /\.c?js$/.test(file.path)).map((file) => `${name}/${file.path}`)
    )
    const script = `
      for (const file of ${JSON.stringify(open)}) {
        await import(file).then(() => console.log(file), ({ code }) => code === "ERR_PACKAGE_PATH_NOT_EXPORTED" || console.log(file, code))
      }`
    const reached = run(project, process.execPath, "--input-type=module", "-e", script)
    return reached === "" ? undefined : `reached ${reached}`
  })
  check("npx scv makes a call", () => callFault(run(project, "npx", "scv", ...readCall)))
  check("scv starts with the code cache that was packed", () => {
    const script = `
      process.argv.splice(1, 0, ${JSON.stringify(command)})
      const scripts = require(${JSON.stringify(command)})
      process.on("exit", () => { if (scripts.call.cachedDataRejected !== false) process.exitCode = 99 })`
    return callFault(run(project, process.execPath, "-e", script, "--", ...readCall))
  })
  check("scv starts without a code cache", () => {
    if (caches().length === 0) return "there was none"
    for (const file of caches()) fs.rmSync(path.join(path.dirname(command), file))
    return callFault(run(project, "npx", "scv", ...readCall))
  })
  check("npx scv starts the daemon that was packed, and makes a call in it", () => {
    run(project, "npx", "scv", "daemon", "start")
    try {
      return callFault(run(project, "npx", "scv", ...readCall, "--daemon")) ?? initializeFault()
    } finally {
      run(project, "npx", "scv", "daemon", "stop")
    }
  })
} finally {
  fs.rmSync(place, { recursive: true, force: true })
}
process.exitCode = faults === 0 ? 0 : 1
