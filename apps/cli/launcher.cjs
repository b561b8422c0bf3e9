#!/usr/bin/env node
"use strict"
// Runs the bundle for these arguments, with the code cache of this Node that the build left beside it, if it did.
const fs = require("node:fs")
const Module = require("node:module")
const path = require("node:path")
const vm = require("node:vm")

const run = (name) => {
  const filename = path.join(__dirname, `${name}.bundle.cjs`)
  let cachedData
  try {
    cachedData = fs.readFileSync(path.join(__dirname, `${name}.cache.${process.version}-${process.arch}`))
  } catch {
    // Another Node than the one that built: it starts slower, and the same.
  }
  const script = new vm.Script(Module.wrap(fs.readFileSync(filename, "latin1")), { filename, cachedData })
  if (require.main !== module) module.exports[name] = script
  const bundle = { exports: {} }
  const { exports } = bundle
  script.runInThisContext().call(exports, exports, Module.createRequire(filename), bundle, filename, __dirname)
  return bundle.exports
}

if (process.argv[2] === "mcp") run("mcp")
else if (process.argv[2] !== "call" || !run("call").isTaken) run("scv")
