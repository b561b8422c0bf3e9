import * as CliConfig from "@effect/cli/CliConfig"
import * as Command from "@effect/cli/Command"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Path from "@effect/platform/Path"
import * as Terminal from "@effect/platform/Terminal"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import type { Given } from "../src/Call.ts"
import * as CallArguments from "../src/CallArguments.ts"
import { callWith } from "../src/commands/call.ts"

const argvOf = (words: ReadonlyArray<string>): ReadonlyArray<string> => ["node", "scv", ...words]

/** What the library makes of a command line, or undefined where it refuses. */
const byLibrary = (words: ReadonlyArray<string>): Effect.Effect<Given | undefined> =>
  Effect.suspend(() => {
    let given: Given | undefined
    const root = Command.make("scv", {}).pipe(
      Command.withSubcommands([
        callWith((parsed) =>
          Effect.sync(() => {
            given = parsed
          })
        )
      ])
    )
    const terminal = Layer.succeed(Terminal.Terminal, {} as typeof Terminal.Terminal.Service)
    return Command.run(root, { name: "scv", version: "0" })(argvOf(words)).pipe(
      Effect.ignore,
      Effect.map(() => given),
      Effect.provide(Layer.mergeAll(FileSystem.layerNoop({}), Path.layer, terminal)),
      Effect.provideService(CliConfig.CliConfig, CliConfig.defaultConfig)
    )
  })

const words = [
  ...["read", "write", "yes", "true", "1", "{}", '{"path":"a"}', "-", "--", "", ".", "a b", "-x"],
  ...["--yes", "--workspace", "--policy", "--workspace=a", "--json", "on-risk", "never", "sometimes"]
]

describe("the arguments of a call, read without the library", () => {
  it("are the usual ones", () => {
    assert.deepStrictEqual(CallArguments.read(argvOf(["call", "read"])), {
      tool: "read",
      input: "{}",
      workspace: ".",
      yes: false,
      policy: { "tools.approval_policy": undefined }
    })
    assert.deepStrictEqual(
      CallArguments.read(argvOf(["call", "write", "-", "--policy", "never", "--yes", "--workspace", "a"])),
      { tool: "write", input: "-", workspace: "a", yes: true, policy: { "tools.approval_policy": "never" } }
    )
  })

  it("are left to the library where they are unusual", () => {
    for (const unusual of [
      ["tools"],
      ["call"],
      ["call", "--help"],
      ["call", "read", "a"],
      ["call", "--yes", "read"],
      ["call", "read", "{}", "{}"],
      ["call", "read", "--workspace=a"],
      ["call", "read", "--workspace"],
      ["call", "read", "--yes", "--yes"],
      ["call", "read", "--policy", "sometimes"],
      ["call", "read", "--jsno"]
    ]) {
      assert.isUndefined(CallArguments.read(argvOf(unusual)), unusual.join(" "))
    }
  })

  it.effect("mean what they mean to the library", () =>
    Effect.promise(() =>
      FastCheck.assert(
        FastCheck.asyncProperty(
          FastCheck.constantFrom("read", "write"),
          FastCheck.array(FastCheck.constantFrom(...words), { maxLength: 6 }),
          async (tool, rest) => {
            const given = CallArguments.read(argvOf(["call", tool, ...rest]))
            FastCheck.pre(given !== undefined)
            assert.deepStrictEqual(await Effect.runPromise(byLibrary(["call", tool, ...rest])), given)
          }
        ),
        { numRuns: 200, maxSkipsPerRun: 1000 }
      )
    )
  )
})
