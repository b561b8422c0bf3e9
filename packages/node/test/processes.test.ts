import { spawnSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { ProcessGroup, ProcessSpawner } from "@scv/core"
import { NodeProcessSpawner } from "@scv/node"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { identity } from "effect/Function"
import * as Layer from "effect/Layer"
import type * as Scheduler from "effect/Scheduler"
import type * as Scope from "effect/Scope"

type Output = ProcessGroup.Output

const descriptors = () => fs.readdirSync("/proc/self/fd").length

/** What whoever started us left open for all that we start. */
const inherited = fs.readdirSync("/proc/self/fd").filter((fd) => {
  try {
    return (
      (Number.parseInt(/flags:\s*(\d+)/.exec(fs.readFileSync(`/proc/self/fdinfo/${fd}`, "utf8"))?.[1] ?? "", 8) &
        0o2000000) ===
      0
    )
  } catch {
    return false
  }
})

const readProc = (pid: string | number, name: string): string => {
  try {
    return fs.readFileSync(`/proc/${pid}/${name}`, "latin1")
  } catch {
    return ""
  }
}

interface Seen {
  readonly pid: number
  readonly state: string
  readonly group: number
  readonly command: string
}

const seen = (pid: string | number): Seen => {
  const stat = readProc(pid, "stat")
  const [state = "X", , group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  const command = readProc(pid, "cmdline").replaceAll("\0", " ").trim()
  return { pid: Number(pid), state: stat === "" ? "X" : state, group: Number(group), command }
}

/** The live processes of this machine that fit: our own look, not that of the code under test. */
const alive = (fits: (pid: string) => boolean): ReadonlyArray<Seen> =>
  fs
    .readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && fits(name))
    .map(seen)
    .filter(({ state }) => state !== "Z" && state !== "X")

const tagged = (tag: string) => alive((pid) => `\0${readProc(pid, "environ")}`.includes(`\0${tag}=`))

const killAll = (pids: ReadonlyArray<number>) => {
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL")
    } catch {
      // Gone already.
    }
  }
}

/** Waits for a condition, not for a time; the time is only the bound after which the test has failed. */
const until = (what: string, holds: () => boolean): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (const end = performance.now() + 45_000; performance.now() < end; yield* Effect.sleep(5)) if (holds()) return
    yield* Effect.dieMessage(`never happened: ${what}`)
  })

/** How many times longer a program takes to start just now than where nothing else is done: some 3 ms. At least 1. */
const slowness = (): number => {
  const times = Array.from({ length: 5 }, () => {
    const begun = performance.now()
    spawnSync("/bin/true")
    return performance.now() - begun
  }).sort((a, b) => a - b)
  return Math.max(1, (times[2] ?? 0) / 3)
}

/** Something took the time that a rule sets, and what the machine needs for the rest: `rest` where it is not busy. */
const isSoonAfter = (rule: number, rest: number, ms: number): void => {
  if (ms >= rule + rest) assert.isBelow(ms, rule + rest * slowness())
}

interface Request {
  readonly program?: string
  readonly args?: ReadonlyArray<string>
  readonly cwd?: string
  readonly environment?: Readonly<Record<string, string>>
  readonly strays?: "report" | "end"
  readonly limit?: number
  readonly scheduler?: Scheduler.Scheduler
  /** Happens before each signal, after the members were found. */
  readonly beforeSignal?: Effect.Effect<void>
}

interface Running {
  readonly tag: string
  readonly result: Effect.Effect<Output, ProcessSpawner.SpawnError>
  /** Output that came as progress. */
  readonly said: () => string
  /** Cancels; answers with what was published, and the milliseconds that it took. */
  readonly cancel: Effect.Effect<{ readonly output: Output; readonly ms: number }>
  /** The same as at a deadline: there is no grace. */
  readonly expire: Effect.Effect<{ readonly output: Output; readonly ms: number }>
  /** Ends a grace. */
  readonly hurry: Effect.Effect<void>
  readonly interrupt: Effect.Effect<Exit.Exit<Output, ProcessSpawner.SpawnError>>
}

interface World {
  readonly directory: string
  readonly at: (name: string) => string
  /** Runs a script of bash, or the program of the request. */
  readonly begin: (script: string, request?: Request) => Effect.Effect<Running>
  /** Runs it to its end. */
  readonly run: (script: string, request?: Request) => Effect.Effect<Output, ProcessSpawner.SpawnError>
}

const environment = { PATH: "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C" }

const makeWorld = (options: NodeProcessSpawner.Options, tags: Array<string>) =>
  Effect.gen(function* () {
    const directory = yield* Effect.acquireRelease(
      Effect.sync(() => fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "scv-processes-")))),
      (made) => Effect.sync(() => fs.rmSync(made, { recursive: true, force: true }))
    )
    const services = yield* Layer.build(NodeProcessSpawner.layer(options))
    // Whatever a failed test has left.
    yield* Effect.addFinalizer((exit) =>
      Effect.sync(() => {
        if (Exit.isFailure(exit)) killAll(tags.flatMap((tag) => tagged(tag).map(({ pid }) => pid)))
      })
    )
    const withHook = (beforeSignal: Effect.Effect<void>) => {
      const { spawn } = Context.get(services, ProcessSpawner.ProcessSpawner)
      return Context.make(ProcessSpawner.ProcessSpawner, {
        spawn: (request) =>
          Effect.map(spawn(request), (started) => ({
            ...started,
            signal: (signal, members) => Effect.zipRight(beforeSignal, started.signal(signal, members))
          }))
      })
    }
    const begin = (script: string, request: Request = {}): Effect.Effect<Running> =>
      Effect.gen(function* () {
        const tag = `SCV_CALL_${randomBytes(8).toString("hex")}`
        tags.push(tag)
        const hurry = yield* Deferred.make<void>()
        let partial: Output | undefined
        let said = ""
        const fiber = yield* Effect.forkDaemon(
          ProcessGroup.run(
            {
              request: {
                program: request.program ?? "/bin/bash",
                args: request.args ?? ["-c", script],
                cwd: request.cwd ?? directory,
                environment: request.environment ?? environment,
                tag
              },
              outputLimitBytes: request.limit ?? 65_536,
              strays: request.strays ?? "report"
            },
            {
              partial: (output) =>
                Effect.sync(() => {
                  partial = output
                }),
              progress: (text) =>
                Effect.sync(() => {
                  said = (said + text).slice(-65_536)
                }),
              hurry: Effect.interruptible(Deferred.await(hurry)),
              isHurried: Deferred.isDone(hurry)
            }
          ).pipe(
            Effect.provide(request.beforeSignal === undefined ? services : withHook(request.beforeSignal)),
            request.scheduler === undefined ? identity : Effect.withScheduler(request.scheduler)
          )
        )
        const interrupted = Effect.gen(function* () {
          const begun = performance.now()
          yield* Fiber.interrupt(fiber)
          const ms = performance.now() - begun
          if (partial === undefined) return yield* Effect.dieMessage("nothing was published")
          return { output: partial, ms }
        })
        const hurried = Effect.asVoid(Deferred.succeed(hurry, undefined))
        return {
          tag,
          result: Fiber.join(fiber),
          said: () => said,
          cancel: interrupted,
          expire: Effect.zipRight(hurried, interrupted),
          hurry: hurried,
          interrupt: Fiber.interrupt(fiber)
        }
      })
    return {
      directory,
      at: (name: string) => path.join(directory, name),
      begin,
      run: (script: string, request: Request = {}) => Effect.flatMap(begin(script, request), ({ result }) => result)
    } satisfies World
  })

/** A test in a world of its own, after which no process of any of its calls lives and no descriptor is open. */
const check =
  (options: NodeProcessSpawner.Options) => (body: (world: World) => Effect.Effect<void, unknown, Scope.Scope>) =>
    Effect.gen(function* () {
      // What Node opens once and for all is open after a first call.
      yield* Effect.scoped(Effect.flatMap(makeWorld(options, []), ({ run }) => run(":")))
      const before = descriptors()
      const tags: Array<string> = []
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* body(yield* makeWorld(options, tags))
          const left = tags.flatMap((tag) => tagged(tag).map(({ command }) => command))
          assert.deepStrictEqual(left.slice(0, 5), [], "left alive")
        })
      )
      // A destroyed socket closes its descriptor in the next turn.
      yield* until("all descriptors closed", () => descriptors() <= before)
    })

/** Functions for scripts: waits until a process leads a group of its own. */
const moved = 'moved() { until read -r _ _ _ _ g _ < "/proc/$1/stat" && [ "$g" = "$1" ]; do :; done; }; '

const hint = "background processes were ended with the call"

const isReady = ({ said }: Running, word = "ready") => until(`says ${word}`, () => said().includes(word))

const modes = [
  { name: "proc, fifo", options: {}, keepsOrder: true, isQuick: true },
  { name: "ps", options: { table: "ps" }, keepsOrder: true, isQuick: false },
  { name: "pipes", options: { output: "pipes" }, keepsOrder: false, isQuick: true }
] as const

for (const { isQuick, keepsOrder, name, options } of modes) {
  const checked = check(options)
  /** Looks by ps take tens of milliseconds each, and more on a busy machine. */
  const slack = isQuick ? 1000 : 3000
  /** By ps each signal looks at each member on its own. */
  const children = isQuick ? 200 : 40
  const orderHint = "the order of stdout and stderr is not kept on this machine"
  const hinted = (text?: string) => {
    const all = [...(text === undefined ? [] : [text]), ...(keepsOrder ? [] : [orderHint])].join("; ")
    return all === "" ? {} : { hint: all }
  }
  const isEnded = (output: Output, word = "ready") => assert.strictEqual(output.output, `${word}\n`)

  describe(`processes (${name})`, () => {
    it.live("that end by themselves are told whole", () =>
      checked(({ run }) =>
        Effect.gen(function* () {
          const { duration_ms, ...rest } = yield* run("echo one; echo two")
          assert.deepStrictEqual(rest, {
            exit_code: 0,
            signal: null,
            output: "one\ntwo\n",
            output_bytes: 8,
            truncated: false,
            omitted_bytes: 0,
            ...hinted()
          })
          assert.isAtLeast(duration_ms, 0)
          for (const code of [1, 2, 126, 127, 128, 255]) {
            assert.deepInclude(yield* run(`exit ${code}`), { exit_code: code, signal: null, output: "" })
          }
        })
      )
    )

    it.live("are followed as they write, piece by piece", () =>
      checked(({ begin }) =>
        Effect.gen(function* () {
          const running = yield* begin('for i in 1 2 3 4 5 6 7 8; do echo "line $i"; sleep 0.01; done; exec sleep 600')
          yield* isReady(running, "line 8\n")
          assert.strictEqual(running.said(), [1, 2, 3, 4, 5, 6, 7, 8].map((i) => `line ${i}\n`).join(""))
          yield* running.expire
        })
      )
    )

    it.live("that a signal ended are told by its name", () =>
      checked(({ run }) =>
        Effect.gen(function* () {
          for (const signal of ["TERM", "KILL", "SEGV", "HUP", "USR1", "ABRT", "PIPE"]) {
            const output = yield* run(`ulimit -c 0; echo ready; kill -${signal} $$; echo on`)
            assert.deepInclude(output, { exit_code: null, signal: `SIG${signal}`, output: "ready\n" })
          }
        })
      )
    )

    it.live("that ignore TERM are killed after the grace", () =>
      checked(({ begin }) =>
        Effect.gen(function* () {
          const running = yield* begin("trap '' TERM; echo ready; exec sleep 60")
          yield* isReady(running)
          const { ms, output } = yield* running.cancel
          assert.deepInclude(output, { exit_code: null, signal: "SIGKILL" })
          isEnded(output)
          assert.isAtLeast(ms, 1990)
          isSoonAfter(2000, slack, ms)
        })
      )
    )

    it.live("that a grandchild outlives have one grace for all", () =>
      checked(({ begin }) =>
        Effect.gen(function* () {
          const running = yield* begin("(trap '' TERM; echo ready; exec sleep 60) & wait")
          yield* isReady(running)
          const { ms, output } = yield* running.cancel
          assert.deepInclude(output, { exit_code: null, signal: "SIGTERM" })
          assert.isAtLeast(ms, 1990)
          isSoonAfter(2000, slack, ms)
        })
      )
    )

    it.live("may use the grace, until it is ended", () =>
      checked(({ begin }) =>
        Effect.gen(function* () {
          const obeying = yield* begin(
            "trap 'echo bye; exit 7' TERM; echo ready; while :; do sleep 0.05; done 2> /dev/null"
          )
          yield* isReady(obeying)
          const ended = yield* obeying.cancel
          assert.deepInclude(ended.output, { exit_code: 7, signal: null, output: "ready\nbye\n" })

          const slow = yield* begin("trap 'echo got' TERM; echo ready; while :; do sleep 0.05; done 2> /dev/null")
          yield* isReady(slow)
          const cancelled = yield* Effect.fork(slow.cancel)
          yield* isReady(slow, "got")
          yield* slow.hurry
          const { ms, output } = yield* Fiber.join(cancelled)
          assert.strictEqual(output.signal, "SIGKILL")
          isSoonAfter(0, isQuick ? 1500 : 4000, ms)
        })
      )
    )

    it.live("have no grace at a deadline", () =>
      checked(({ begin }) =>
        Effect.gen(function* () {
          const running = yield* begin("trap 'echo got' TERM; echo ready; while :; do sleep 0.05; done 2> /dev/null")
          yield* isReady(running)
          const { ms, output } = yield* running.expire
          assert.strictEqual(output.signal, "SIGKILL")
          isEnded(output)
          isSoonAfter(0, slack, ms)
        })
      )
    )

    for (const how of ["cancel", "expire"] as const) {
      it.live(`that escaped are found and ended (${how})`, () =>
        checked(({ begin }) =>
          Effect.gen(function* () {
            const secret = `60.${randomBytes(4).readUInt32LE()}`
            const running = yield* begin(
              [
                "setsid sleep 60 &",
                "(setsid sleep 60 &)",
                "(setsid bash -c 'sleep 60 & (setsid sleep 60 &) ; wait' > /dev/null 2>&1 &)",
                // Hides the tag, and is known by its parent.
                `env -i /usr/bin/setsid /usr/bin/sleep ${secret} &`,
                "echo ready; sleep 60"
              ].join("\n")
            )
            yield* isReady(running)
            const hidden = () => alive((pid) => readProc(pid, "cmdline").includes(secret))
            yield* until(
              "all have moved",
              () =>
                tagged(running.tag).filter(({ command }) => command === "sleep 60").length === 5 &&
                new Set([...tagged(running.tag), ...hidden()].map(({ group }) => group)).size === 6
            )
            const { ms, output } = yield* running[how]
            isEnded(output)
            assert.isUndefined(output.left_running)
            assert.lengthOf(hidden(), 0)
            isSoonAfter(0, slack, ms)
          })
        )
      )
    }

    it.live("that left on purpose are named and live on", () =>
      checked(({ run }) =>
        Effect.gen(function* () {
          const output = yield* run(`${moved} setsid sleep 60 & moved $!; echo ready`)
          isEnded(output)
          assert.strictEqual(output.exit_code, 0)
          assert.deepStrictEqual(
            output.left_running?.map(({ command }) => command),
            ["sleep 60"]
          )
          assert.strictEqual(output.hint, hinted().hint)
          const pids = output.left_running?.map(({ pid }) => pid) ?? []
          assert.deepStrictEqual(
            pids.map((pid) => seen(pid).command),
            ["sleep 60"]
          )
          killAll(pids)
          yield* until("killed", () => pids.every((pid) => "XZ".includes(seen(pid).state)))
        })
      )
    )

    it.live("that left on purpose are ended where that is asked for", () =>
      checked(({ run }) =>
        Effect.gen(function* () {
          const output = yield* run(`${moved} setsid sleep 60 & moved $!; echo ready`, { strays: "end" })
          isEnded(output)
          assert.isUndefined(output.left_running)
          assert.deepInclude(output, { exit_code: 0, ...hinted(hint) })
        })
      )
    )

    it.live("that stay in the background are ended, however the leader ends", () =>
      checked(({ run }) =>
        Effect.gen(function* () {
          for (const [ending, told] of [
            ["exit 0", { exit_code: 0, signal: null }],
            ["exit 3", { exit_code: 3, signal: null }],
            ["kill -SEGV $$", { exit_code: null, signal: "SIGSEGV" }]
          ] as const) {
            for (const child of ["sleep 60 &", "sleep 60 > /dev/null 2>&1 &", "(sleep 60 &);"]) {
              const output = yield* run(`ulimit -c 0; ${child} echo ready; ${ending}`)
              assert.deepInclude(output, { ...told, ...hinted(hint), output: "ready\n" }, `${child} ${ending}`)
              assert.isUndefined(output.left_running)
              isSoonAfter(250, 2 * slack, output.duration_ms)
            }
          }
        })
      )
    )

    it.live(
      "of which there are 200 are all ended",
      () =>
        checked(({ begin }) =>
          Effect.gen(function* () {
            for (const how of ["cancel", "expire"] as const) {
              const running = yield* begin(`for i in {1..${children}}; do sleep 60 & done; echo ready; wait`)
              yield* isReady(running)
              const { ms, output } = yield* running[how]
              isEnded(output)
              assert.isUndefined(output.left_running)
              assert.lengthOf(tagged(running.tag), 0)
              if (isQuick) isSoonAfter(0, 1500, ms)
            }
          })
        ),
      60_000
    )

    if (!isQuick) {
      // `signal` runs ps once for each member, one after the other, before it sends anything.
      it.live("of which there are very many are killed at once (ps)", () =>
        checked(({ begin }) =>
          Effect.gen(function* () {
            const running = yield* begin("for i in {1..100}; do sleep 60 & done; echo ready; wait")
            yield* isReady(running)
            isSoonAfter(0, 1000, (yield* running.expire).ms)
          })
        )
      )
    }

    for (const how of ["cancel", "expire"] as const) {
      it.live(`that are stopped are ended (${how})`, () =>
        checked(({ begin }) =>
          Effect.gen(function* () {
            const running = yield* begin("echo ready; (kill -STOP $BASHPID; sleep 60) & kill -STOP $$; sleep 60")
            yield* isReady(running)
            yield* until("both stopped", () => tagged(running.tag).filter(({ state }) => state === "T").length === 2)
            const { ms, output } = yield* running[how]
            assert.strictEqual(output.signal, how === "cancel" ? "SIGTERM" : "SIGKILL")
            isEnded(output)
            isSoonAfter(0, slack, ms)
          })
        )
      )
    }

    it.live(
      "that hold the output open are not waited for long",
      () =>
        checked(({ run }) =>
          Effect.gen(function* () {
            const idle = yield* run(`${moved} setsid sleep 60 & moved $!; echo ready`)
            assert.isAtLeast(idle.duration_ms, 250)
            isSoonAfter(250, slack, idle.duration_ms)
            const busy = yield* run(`${moved} setsid yes & moved $!; exit 3`)
            assert.strictEqual(busy.exit_code, 3)
            assert.isAtLeast(busy.duration_ms, 2000)
            isSoonAfter(2000, slack, busy.duration_ms)
            const pids = [idle, busy].flatMap(({ left_running = [] }) => left_running.map(({ pid }) => pid))
            assert.lengthOf(pids, 2)
            killAll(pids)
            yield* until("killed", () => pids.every((pid) => "XZ".includes(seen(pid).state)))
          })
        ),
      40_000
    )

    it.live("that are dead already hold nothing up", () =>
      checked(({ at, begin, run }) =>
        Effect.gen(function* () {
          // A zombie in the group, whose parent has moved to another session and does not wait for it.
          const program = [
            "$child = fork; exit unless $child; POSIX::setsid();",
            'do { open S, "/proc/$child/stat"; $stat = <S> } until $stat =~ /\\) Z/;',
            'open F, ">", "moved"; close F; sleep 60'
          ].join(" ")
          const script = `perl -MPOSIX -e '${program}' > /dev/null 2>&1 & until [ -e moved ]; do :; done; echo ready;`
          const output = yield* run(script)
          isEnded(output)
          assert.strictEqual(output.hint, hinted().hint)
          assert.lengthOf(output.left_running ?? [], 1)
          const pids = output.left_running?.map(({ pid }) => pid) ?? []
          killAll(pids)
          yield* until("killed", () => pids.every((pid) => "XZ".includes(seen(pid).state)))

          fs.rmSync(at("moved"))
          const running = yield* begin(`${script} sleep 60`)
          yield* isReady(running)
          const { ms } = yield* running.cancel
          isSoonAfter(0, slack, ms)
        })
      )
    )

    it.live(
      "that end after the leader lose no line",
      () =>
        checked(({ at, run }) =>
          Effect.gen(function* () {
            for (let round = 0; round < 40; round++) {
              const output = yield* run("exec > >(tee copy); echo hi")
              assert.strictEqual(output.output, "hi\n", `round ${round}`)
              assert.strictEqual(fs.readFileSync(at("copy"), "utf8"), "hi\n", `round ${round}`)
            }
          })
        ),
      40_000
    )

    it.live("may have written more than a pipe holds just before they end", () =>
      checked(({ run }) =>
        Effect.gen(function* () {
          for (const size of [65_535, 65_536, 65_537, 1_000_000]) {
            const output = yield* run(`head -c ${size} /dev/zero`, { limit: 16 })
            assert.strictEqual(output.output_bytes, size)
            assert.strictEqual(output.omitted_bytes, size - 16)
          }
        })
      )
    )

    if (keepsOrder) {
      it.live("write to both streams in one order", () =>
        checked(({ run }) =>
          Effect.gen(function* () {
            const { output } = yield* run("for i in {1..400}; do echo o$i; echo e$i >&2; done")
            const expected = Array.from({ length: 400 }, (_, i) => `o${i + 1}\ne${i + 1}\n`).join("")
            assert.isTrue(output === expected, "the order is not kept")
          })
        )
      )

      it.live("can open their streams by name", () =>
        checked(({ run }) =>
          Effect.gen(function* () {
            const script = "echo a > /dev/stdout; echo b > /dev/stderr; echo c > /dev/fd/1; echo d | tee /dev/stderr"
            assert.deepInclude(yield* run(script), { exit_code: 0, output: "a\nb\nc\nd\nd\n" })
          })
        )
      )

      // A take that waited for a fill finds the supply empty where more than a batch of them wait, and falls back to pipes.
      it.live("keep the order also when many run at once", () =>
        checked(({ run }) =>
          Effect.gen(function* () {
            const outputs = yield* Effect.forEach(
              Array.from({ length: 20 }, (_, index) => index),
              (index) => run(`for i in {1..50}; do echo o${index}; echo e${index} >&2; done`),
              { concurrency: "unbounded" }
            )
            const right = outputs.filter(({ output }, index) => output === `o${index}\ne${index}\n`.repeat(50))
            assert.strictEqual(right.length, 20)
            assert.strictEqual(outputs.filter((output) => output.hint !== undefined).length, 0)
          })
        )
      )
    }

    it.live("that cannot be started say why", () =>
      checked(({ at, directory, run }) =>
        Effect.gen(function* () {
          fs.writeFileSync(at("plain"), "echo no\n", { mode: 0o644 })
          const cases: ReadonlyArray<readonly [kind: string, request: Request]> = [
            ["unavailable", { program: at("missing") }],
            ["permission", { program: at("plain") }],
            ["permission", { program: directory }],
            ["limit", { args: ["-c", `: ${"x".repeat(131_072)}`] }],
            ["limit", { environment: { ...environment, LONG: "x".repeat(131_072) } }]
          ]
          for (const [kind, request] of cases) {
            const error = yield* Effect.flip(run(":", request))
            assert.strictEqual(error.kind, kind, request.program ?? "bash")
            assert.isBelow(error.message.length, 300)
          }
        })
      )
    )

    it.live("whose directory is gone are an error", () =>
      checked(({ at, run }) =>
        Effect.gen(function* () {
          fs.mkdirSync(at("gone"))
          fs.rmdirSync(at("gone"))
          const error = yield* Effect.flip(run(":", { cwd: at("gone") }))
          assert.include(["unavailable", "changed", "io"], error.kind)
        })
      )
    )

    it.live("may write bytes that are no text", () =>
      checked(({ run }) =>
        Effect.gen(function* () {
          const output = yield* run("printf 'a\\000\\377\\376b\\303'")
          assert.deepInclude(output, { output: "a\0\ufffd\ufffdb\ufffd", output_bytes: 6, truncated: false })
          const all = yield* run("head -c 100000 /dev/urandom", { limit: 1000 })
          assert.strictEqual(all.output_bytes, 100_000)
          assert.isTrue(all.truncated)
          assert.isBelow(Buffer.byteLength(all.output), 1100)
        })
      )
    )

    it.live(
      "may write 1 GB, which is counted in constant memory",
      () =>
        checked(({ begin, run }) =>
          Effect.gen(function* () {
            yield* run("head -c 64M /dev/zero")
            const before = process.memoryUsage.rss()
            let peak = before
            const running = yield* begin("head -c 1G /dev/zero")
            const sampler = yield* Effect.fork(
              Effect.forever(
                Effect.zipRight(
                  Effect.sleep(10),
                  Effect.sync(() => {
                    peak = Math.max(peak, process.memoryUsage.rss())
                  })
                )
              )
            )
            const { output, ...rest } = yield* running.result
            yield* Fiber.interrupt(sampler)
            assert.deepInclude(rest, { exit_code: 0, output_bytes: 2 ** 30, truncated: true })
            assert.strictEqual(rest.omitted_bytes, 2 ** 30 - 65_536)
            assert.isBelow(output.length, 65_536 + 100)
            assert.isBelow((peak - before) / 2 ** 20, 64, "MiB")
          })
        ),
      60_000
    )

    it.live("get nothing of ours but what they are given", () =>
      checked(({ begin }) =>
        Effect.gen(function* () {
          const told = yield* begin(
            [
              "cat; readlink /proc/self/fd/0",
              'read -r pid _ _ _ group session terminal _ < "/proc/$$/stat"',
              '[ "$pid $group $session $terminal" = "$$ $$ $$ 0" ] && echo alone',
              "(: < /dev/tty) 2> /dev/null || echo no terminal",
              "ls /proc/self/fd"
            ].join("\n")
          )
          const { output } = yield* told.result
          assert.isTrue(output.startsWith("/dev/null\nalone\nno terminal\n0\n1\n2\n"))
          // One of them lists the others.
          const open = output.trim().split("\n").slice(6)
          assert.lengthOf(
            open.filter((fd) => !inherited.includes(fd)),
            1
          )

          const variables = yield* begin("", { program: "/usr/bin/env", args: [] })
          assert.deepStrictEqual(
            (yield* variables.result).output.trim().split("\n").sort(),
            ["LC_ALL=C", `PATH=${environment.PATH}`, `${variables.tag}=1`].sort()
          )
        })
      )
    )

    it.live("start in the directory that is asked for", () =>
      checked(({ at, run }) =>
        Effect.gen(function* () {
          fs.mkdirSync(at("there"))
          assert.strictEqual((yield* run("pwd -P", { cwd: at("there") })).output, `${at("there")}\n`)
        })
      )
    )

    it.live("end at once when they are cancelled", () =>
      checked(({ begin }) =>
        Effect.gen(function* () {
          const running = yield* begin("echo ready; exec sleep 60")
          yield* isReady(running)
          const { ms, output } = yield* running.cancel
          assert.deepInclude(output, { exit_code: null, signal: "SIGTERM", output: "ready\n", ...hinted() })
          isSoonAfter(0, isQuick ? 500 : 1500, ms)
        })
      )
    )

    it.live(
      "are ended in whichever moment the cancel comes",
      () =>
        checked(({ begin }) =>
          Effect.gen(function* () {
            for (let i = 0; i < (isQuick ? 40 : 15); i++) {
              const running = yield* begin("sleep 0.02 & echo ready; setsid sleep 60 & sleep 0.01", { strays: "end" })
              for (let turn = 0; turn < i; turn++) yield* Effect.promise(() => new Promise(setImmediate))
              yield* running.interrupt
              assert.lengthOf(tagged(running.tag), 0, `turn ${i}`)
            }
          })
        ),
      60_000
    )

    // The listeners are set some steps of the fiber after the start: where it yields in between, the exit goes unheard.
    it.live("are heard from the first moment on, wherever the fiber that starts them yields", () =>
      checked(({ run }) =>
        Effect.gen(function* () {
          for (let operations = 12; operations < 40; operations++) {
            const scheduler: Scheduler.Scheduler = {
              shouldYield: (fiber) => (fiber.currentOpCount > operations ? 0 : false),
              // Later than the events of this turn.
              scheduleTask: (task) => void setTimeout(() => setImmediate(task), 10)
            }
            const { exit_code } = yield* run(":", { program: "/bin/true", scheduler }).pipe(Effect.timeout(3000))
            assert.strictEqual(exit_code, 0)
          }
        })
      )
    )

    // `end` sends TERM once: an escapee that is in the group when it looks, and out of it when it signals, gets none.
    it.live("that escape between the look and the signal get TERM too", () =>
      checked(({ at, begin }) =>
        Effect.gen(function* () {
          let isFirst = true
          const running: Running = yield* begin(
            "(until [ -e go ]; do :; done; exec setsid sleep 60) & echo ready; wait",
            {
              beforeSignal: Effect.suspend(() => {
                if (!isFirst) return Effect.void
                isFirst = false
                fs.writeFileSync(at("go"), "")
                return until("moved", () =>
                  tagged(running.tag).some(({ command, group, pid }) => group === pid && command === "sleep 60")
                )
              })
            }
          )
          yield* isReady(running)
          const { ms } = yield* running.cancel
          isSoonAfter(0, 1500, ms)
        })
      )
    )

    // A cancel while the background is being ended sends no TERM to those outside the group: they only get KILL.
    it.live("that left on purpose get TERM too when the cancel comes while others are being ended", () =>
      checked(({ begin }) =>
        Effect.gen(function* () {
          const loop = "while :; do sleep 0.05; done 2> /dev/null"
          const running = yield* begin(
            [
              `setsid bash -c 'trap "echo stray; exit" TERM; touch first; ${loop}' & until [ -e first ]; do :; done`,
              `bash -c 'trap "echo term" TERM; touch second; ${loop}' & until [ -e second ]; do :; done`
            ].join("\n")
          )
          yield* isReady(running, "term")
          const { output } = yield* running.cancel
          assert.include(output.output, "stray")
        })
      )
    )
  })
}
