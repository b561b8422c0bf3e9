/**
 * The life of a program and of everything that it starts, from spawn to the last of its processes. Interruption is
 * cancellation. Source: spec, "`bash`"; design, "Process lifecycle, decided".
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as BoundedOutput from "./BoundedOutput.ts"
import type { CallContext } from "./CallContext.ts"
import * as Display from "./Display.ts"
import {
  type ExitStatus,
  type Member,
  type Process,
  ProcessSpawner,
  type SpawnError,
  type SpawnRequest
} from "./ProcessSpawner.ts"
import * as Recorded from "./Recorded.ts"
import * as Utf8 from "./Utf8.ts"

/** What a process tool answers. Source: design, "Words on the wire". */
export const Output = Schema.Struct({
  exit_code: Schema.NullOr(Schema.Number).annotations({ description: "Null when a signal ended it." }),
  signal: Recorded.whole(Schema.NullOr(Schema.String)).annotations({ description: "The signal that ended it." }),
  output: Schema.String.annotations({ description: "Stdout and stderr in the order written; head and tail if long." }),
  output_bytes: Schema.Number.annotations({ description: "Bytes of all output." }),
  truncated: Schema.Boolean,
  omitted_bytes: Schema.Number.annotations({ description: "Bytes left out between head and tail." }),
  duration_ms: Schema.Number.annotations({ description: "Milliseconds from start to end." }),
  hint: Schema.optionalWith(Schema.String, { exact: true }),
  left_running: Schema.optionalWith(
    Recorded.whole(Schema.Array(Schema.Struct({ pid: Schema.Number, command: Schema.String }))).annotations({
      description: "Processes that the call started and that live on."
    }),
    { exact: true }
  )
})

export type Output = typeof Output.Type

/** Whether the program did its job. */
export const succeeded = ({ exit_code }: Output): boolean => exit_code === 0

/** Milliseconds from TERM to KILL. Source: spec, "`bash`". */
export const grace = 2000

/** Milliseconds without output after which nothing more is waited for, once the leader has ended. */
export const idle = 250

/** The most milliseconds that output is waited for after the end, however busily it comes. */
export const maxDrain = 2000

/** The most milliseconds that killed processes are waited for. */
export const maxReap = 1000

/** The least looks that killed processes get, however long one look takes on a busy machine. */
const minLooks = 5

/** Milliseconds between two pieces of progress. */
const progressEvery = 100

/** The most bytes of one piece of progress. */
const maxProgress = 4096

export interface Options {
  readonly request: Omit<SpawnRequest, "onOutput">
  readonly outputLimitBytes: number
  /** What becomes of descendants that have left the group when the leader ends by itself. */
  readonly strays: "report" | "end"
}

/** What the lifecycle knows of a program that is being ended. */
interface Ending {
  /** When the grace ends, once TERM was sent. */
  graceEnd: number | undefined
  /** The members outside the group that were sent TERM. */
  readonly told: Set<string>
  killed: boolean
}

const nameOf = ({ pid, start }: Member): string => `${pid} ${start}`

/** The waits between two looks at the members, in milliseconds: short at first, since most end at once. */
const looks = [1, 2, 4, 8, 16, 25, 50, 100] as const

/** The wait after a look. To look at many takes the processor from them, which they need to end. */
const waitAfter = (look: number, { length }: ReadonlyArray<Member>): number =>
  Math.max(looks[Math.min(look, looks.length - 1)]!, Math.min(length / 8, 25))

/** Milliseconds that a leader that was sent TERM is waited for before the first look. */
const firstWait = 4

/** Runs a program to its end and answers with what came of it. Interruption publishes the output so far to `partial`. */
export const run = (
  { outputLimitBytes, request, strays }: Options,
  context: Pick<CallContext<Output>, "partial" | "progress" | "hurry" | "isHurried">
): Effect.Effect<Output, SpawnError, ProcessSpawner> =>
  Effect.gen(function* () {
    const { spawn } = yield* ProcessSpawner
    const clock = yield* Effect.clock
    const begun = clock.unsafeCurrentTimeMillis()
    const collector = BoundedOutput.collector(outputLimitBytes)
    const progress = progressOf(context.progress)
    let lastOutput = begun
    const onOutput = (bytes: Uint8Array): void => {
      lastOutput = clock.unsafeCurrentTimeMillis()
      collector.push(bytes)
      progress.push(bytes)
    }
    const ending: Ending = { graceEnd: undefined, told: new Set(), killed: false }
    let exit: ExitStatus | undefined

    const outputOf = (process: Process, left: ReadonlyArray<Member>, wereEnded: boolean): Output => {
      const hints = [
        ...(wereEnded ? ["background processes were ended with the call"] : []),
        ...(process.keepsOrder ? [] : ["the order of stdout and stderr is not kept on this machine"])
      ]
      return {
        exit_code: exit?.code ?? null,
        signal: exit?.signal ?? null,
        ...collector.kept(),
        duration_ms: clock.unsafeCurrentTimeMillis() - begun,
        ...(hints.length === 0 ? {} : { hint: hints.join("; ") }),
        ...(left.length === 0
          ? {}
          : { left_running: left.map(({ command, pid }) => ({ pid, command: Display.bounded(command, 200) })) })
      }
    }

    /** Waits for the end of the output, or until nothing has come for a while. */
    const drain = (process: Process): Effect.Effect<void> => {
      const since = clock.unsafeCurrentTimeMillis()
      const quiet: Effect.Effect<void> = Effect.suspend(() => {
        const now = clock.unsafeCurrentTimeMillis()
        const left = Math.min(Math.max(since, lastOutput) + idle, since + maxDrain) - now
        return left <= 0 ? Effect.void : Effect.zipRight(Effect.sleep(left), quiet)
      })
      const ended = Effect.raceFirst(Effect.interruptible(process.outputEnd), Effect.interruptible(quiet))
      // Most programs leave nobody who holds the output, and a race takes longer than all that is left to do.
      return Effect.if(process.hasOutputEnded, { onTrue: () => Effect.void, onFalse: () => ended })
    }

    const isUntold = (member: Member): boolean => !member.inGroup && !ending.told.has(nameOf(member))

    /** Sends TERM; a stopped process acts on it only when it goes on. */
    const tell = (process: Process, members: ReadonlyArray<Member>): Effect.Effect<void> =>
      Effect.gen(function* () {
        if (members.length === 0) return
        for (const member of members) if (!member.inGroup) ending.told.add(nameOf(member))
        yield* process.signal("TERM", members)
        yield* process.signal("CONT", members)
      })

    /**
     * Looks at the members, at growing distances, until there are none that count, or until a moment; answers with all
     * that the last look saw. Who has left the group without having been told is told; the group is told once, since it
     * may be cleaning up.
     */
    const awaitNone = (
      process: Process,
      counts: (member: Member) => boolean,
      until: number
    ): Effect.Effect<ReadonlyArray<Member>> =>
      Effect.gen(function* () {
        for (let look = 0; ; look++) {
          const members = yield* process.members
          const left = members.filter(counts)
          yield* tell(process, left.filter(isUntold))
          const rest = until - clock.unsafeCurrentTimeMillis()
          if (left.length === 0 || rest <= 0) return members
          yield* Effect.sleep(Math.min(rest, waitAfter(look, left)))
        }
      })

    const firstEnd = (process: Process): Effect.Effect<void> =>
      Effect.raceFirst(Effect.asVoid(process.exit), Effect.sleep(firstWait))

    /** Ends the members that count: TERM, the grace, KILL. Answers with all that are left: who cannot be ended is. */
    const end = (process: Process, counts: (member: Member) => boolean): Effect.Effect<ReadonlyArray<Member>> =>
      Effect.gen(function* () {
        if (!ending.killed && !(yield* context.isHurried)) {
          const members = (yield* process.members).filter(counts)
          // Where all that were told are gone already, those who count only since have a grace of their own.
          if (ending.graceEnd === undefined || members.every(isUntold)) {
            ending.graceEnd = clock.unsafeCurrentTimeMillis() + grace
            yield* tell(process, members)
          }
          const left = yield* Effect.raceFirst(
            Effect.interruptible(Effect.zipRight(firstEnd(process), awaitNone(process, counts, ending.graceEnd))),
            Effect.interruptible(Effect.as(context.hurry, undefined))
          )
          if (left !== undefined && !left.some(counts)) return left
        }
        ending.killed = true
        const until = clock.unsafeCurrentTimeMillis() + maxReap
        for (let look = 0; ; look++) {
          const members = yield* process.members
          const left = members.filter(counts)
          if (left.length === 0 || (look >= minLooks && clock.unsafeCurrentTimeMillis() >= until)) return members
          // Again and again: what forks while it is killed is found by the next look.
          yield* process.signal("KILL", left)
          yield* Effect.sleep(waitAfter(look, left))
        }
      })

    /** Who of those that were left is there after a wait: of none, none. */
    const stillOf = (process: Process, left: ReadonlyArray<Member>): Effect.Effect<ReadonlyArray<Member>> =>
      left.length === 0 ? Effect.succeed(left) : process.members

    /** The leader ends by itself; what it leaves behind is ended or reported. */
    const settle = (process: Process): Effect.Effect<Output> =>
      Effect.gen(function* () {
        exit = yield* process.exit
        yield* drain(process)
        const members = yield* process.members
        const isOurs = strays === "end" ? () => true : (member: Member) => member.inGroup
        const wereEnded = members.some(isOurs)
        if (!wereEnded) return outputOf(process, members, false)
        const left = yield* end(process, isOurs)
        yield* drain(process)
        return outputOf(process, yield* stillOf(process, left), true)
      })

    /** The call is cancelled or out of time: everything that is known of it ends. */
    const abandon = (process: Process): Effect.Effect<void> =>
      Effect.gen(function* () {
        const left = yield* end(process, () => true)
        yield* Effect.raceFirst(
          Effect.interruptible(
            Effect.map(process.exit, (status) => {
              exit = status
            })
          ),
          Effect.interruptible(Effect.sleep(idle))
        )
        yield* drain(process)
        yield* context.partial(outputOf(process, yield* stillOf(process, left), false))
      })

    return yield* Effect.scoped(
      Effect.uninterruptibleMask((restore) =>
        Effect.gen(function* () {
          const process = yield* spawn({ ...request, onOutput })
          yield* Effect.forkScoped(Effect.interruptible(progress.report))
          const output = yield* Effect.onInterrupt(restore(settle(process)), () => abandon(process))
          // A cancel that comes from here on finds it all.
          yield* context.partial(output)
          return output
        })
      )
    )
  })

/** Hands output on as it comes: at most one piece in {@link progressEvery}, the newest {@link maxProgress} bytes of it. */
const progressOf = (say: (text: string) => Effect.Effect<void>) => {
  let pending: Array<Uint8Array> = []
  let size = 0
  const take = (): string => {
    const bytes = new Uint8Array(size)
    let at = 0
    for (const part of pending) {
      bytes.set(part, at)
      at += part.length
    }
    pending = []
    size = 0
    return Utf8.decode(bytes)
  }
  return {
    push: (bytes: Uint8Array): void => {
      const newest = bytes.length > maxProgress ? bytes.subarray(bytes.length - maxProgress) : bytes
      // The buffer is used again. A `slice` would be one of Node's, which copies nothing.
      pending.push(new Uint8Array(newest))
      size += newest.length
      while (size - pending[0]!.length >= maxProgress) size -= pending.shift()!.length
    },
    report: Effect.forever(
      Effect.zipRight(
        Effect.sleep(progressEvery),
        Effect.suspend(() => (size === 0 ? Effect.void : say(take())))
      )
    )
  }
}
