#!/usr/bin/env node
"use strict"
// Runs the bundle beside this file, with the code cache of this Node that the build left there, if it did.
const fs = require("node:fs")
const Module = require("node:module")
const path = require("node:path")
const vm = require("node:vm")

const filename = path.join(__dirname, "scv.bundle.cjs")
const source = Module.wrap(fs.readFileSync(filename, "latin1"))
let cachedData
try {
  cachedData = fs.readFileSync(path.join(__dirname, `scv.cache.${process.version}-${process.arch}`))
} catch {
  // Another Node than the one that built: it starts slower, and the same.
}
const importModuleDynamically = vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER
const script = new vm.Script(source, { filename, cachedData, importModuleDynamically })
if (module.parent !== null) module.exports.script = script
script.runInThisContext().call(exports, exports, Module.createRequire(filename), module, filename, __dirname)
