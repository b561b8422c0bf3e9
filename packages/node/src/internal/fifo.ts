/**
 * FIFOs for the output of children: one for both streams keeps their order, and unlike the sockets that Node makes for
 * pipes it can be opened again by name (/dev/stdout, /dev/stderr). Node cannot make one, so mkfifo(1) does, several at a
 * time. Source: fifo(7).
 */
import { execFile } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** Both ends of a FIFO that has no name any more. Whoever takes it closes them. */
export interface Fifo {
  readonly readEnd: number
  readonly writeEnd: number
}

/** The first batch is small, since many programs of ours run one command and end. */
const firstBatch = 4

const batch = 32

/** When this few are left, more are made in the background. */
const low = 8

const { O_NONBLOCK, O_RDONLY, O_WRONLY } = fs.constants

const openBoth = (name: string): Fifo => {
  const readEnd = fs.openSync(name, O_RDONLY | O_NONBLOCK)
  try {
    return { readEnd, writeEnd: fs.openSync(name, O_WRONLY) }
  } catch (error) {
    fs.closeSync(readEnd)
    throw error
  }
}

const make = (count: number): Promise<ReadonlyArray<Fifo>> =>
  new Promise((resolve) => {
    let directory: string
    try {
      directory = fs.mkdtempSync(path.join(os.tmpdir(), "scv-fifo-"))
    } catch {
      resolve([])
      return
    }
    const names = Array.from({ length: count }, (_, index) => path.join(directory, String(index)))
    execFile("mkfifo", ["-m", "600", ...names], { timeout: 5000 }, (error) => {
      const made: Array<Fifo> = []
      try {
        if (error === null) for (const name of names) made.push(openBoth(name))
      } catch {
        // Too many open files: what there is serves.
      }
      fs.rmSync(directory, { recursive: true, force: true })
      resolve(made)
    })
  })

/** A supply of FIFOs. `take` answers undefined where this machine has none. */
export const pool: Effect.Effect<{ readonly take: Effect.Effect<Fifo | undefined> }, never, Scope.Scope> = Effect.gen(
  function* () {
    const ready: Array<Fifo> = []
    let refill: Promise<number> | undefined
    let isFirst = true
    let uses = 0
    const fill = (): Promise<number> => {
      refill ??= make(isFirst ? firstBatch : batch).then((made) => {
        isFirst = false
        ready.push(...made)
        refill = undefined
        return made.length
      })
      return refill
    }
    yield* Effect.addFinalizer(() =>
      Effect.gen(function* () {
        if (refill !== undefined) yield* Effect.promise(async () => refill)
        for (const { readEnd, writeEnd } of ready.splice(0)) {
          fs.closeSync(readEnd)
          fs.closeSync(writeEnd)
        }
      })
    )
    return {
      take: Effect.gen(function* () {
        // Others may wait for the same batch: only one that brings nothing says that there are none to be had.
        for (let made = 1; ready.length === 0 && made > 0; ) made = yield* Effect.promise(fill)
        const taken = ready.pop()
        // Nothing is made ahead for a program that runs one command.
        if (++uses > 1 && ready.length < low && taken !== undefined) void fill()
        return taken
      })
    }
  }
)
