import * as fs from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Directory } from "@scv/core"
import { NodeDirectory } from "@scv/node"
import * as Effect from "effect/Effect"
import { temporary } from "./support/attacker.ts"

for (const containment of ["descriptors", "portable"] as const) {
  describe(`a link (${containment})`, () => {
    const place = Effect.gen(function* () {
      const at = yield* temporary
      const directories = yield* Directory.Directories
      return { at, directory: yield* directories.open(at) }
    }).pipe(Effect.provide(NodeDirectory.layer({ containment })))

    it.scopedLive("to a name that is no UTF-8 leads to no other file", () =>
      Effect.gen(function* () {
        const { at, directory } = yield* place
        const name = Buffer.concat([Buffer.from("n"), Buffer.of(0xff)])
        fs.writeFileSync(Buffer.concat([Buffer.from(`${at}/`), name]), "real")
        fs.writeFileSync(`${at}/n\ufffd`, "impostor")
        fs.symlinkSync(name, `${at}/link`)
        const error = yield* Effect.flip(directory.read("link", { offset: 0, length: 10 }))
        assert.strictEqual(error.kind, "io")
      })
    )

    it.scopedLive("may spell the directory with slashes and dots to spare", () =>
      Effect.gen(function* () {
        const { at, directory } = yield* place
        fs.writeFileSync(`${at}/file`, "x")
        for (const [index, target] of [`/${at}/file`, `${at.replace("/", "/./")}/file`, `${at}/.//file`].entries()) {
          fs.symlinkSync(target, `${at}/link${index}`)
          assert.strictEqual((yield* directory.file(`link${index}`)).location, "file", target)
        }
      })
    )
  })
}
