#!/usr/bin/env node
"use strict"
// Runs a bundle beside this file, with the code cache of this Node that the build left there, if it did.
const fs = require("node:fs")
const Module = require("node:module")
const path = require("node:path")
const vm = require("node:vm")

// What needs no daemon is a bundle of its own, without an HTTP client, so that it starts sooner.
const local = ["call", "tools", "session", "config", "doctor"]
const isLocal = local.includes(process.argv[2]) && !process.argv.includes("--daemon")
const name = isLocal ? "scv" : "scv.remote"

const filename = path.join(__dirname, `${name}.bundle.cjs`)
const source = Module.wrap(fs.readFileSync(filename, "latin1"))
let cachedData
try {
  cachedData = fs.readFileSync(path.join(__dirname, `${name}.cache.${process.version}-${process.arch}`))
} catch {
  // Another Node than the one that built: it starts slower, and the same.
}
const importModuleDynamically = vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER
const script = new vm.Script(source, { filename, cachedData, importModuleDynamically })
if (module.parent !== null) module.exports.script = script
script.runInThisContext().call(exports, exports, Module.createRequire(filename), module, filename, __dirname)
