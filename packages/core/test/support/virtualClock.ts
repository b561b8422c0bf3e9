/** A clock that costs microseconds per step, for properties; `TestClock.adjust` costs milliseconds. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"

/** Lets every fiber that can go on do so: fibers go on in microtasks, which end before the next turn begins. */
const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve))
}

interface Sleeper {
  readonly until: number
  readonly wake: () => void
}

class VirtualClock implements Clock.Clock {
  readonly [Clock.ClockTypeId]: Clock.ClockTypeId = Clock.ClockTypeId
  private now = 0
  private readonly sleepers = new Set<Sleeper>()

  unsafeCurrentTimeMillis(): number {
    return this.now
  }

  unsafeCurrentTimeNanos(): bigint {
    return BigInt(this.now) * 1_000_000n
  }

  readonly currentTimeMillis = Effect.sync(() => this.unsafeCurrentTimeMillis())
  readonly currentTimeNanos = Effect.sync(() => this.unsafeCurrentTimeNanos())

  sleep(duration: Duration.Duration): Effect.Effect<void> {
    return Effect.async<void>((resume) => {
      const sleeper = { until: this.now + Duration.toMillis(duration), wake: () => resume(Effect.void) }
      this.sleepers.add(sleeper)
      return Effect.sync(() => this.sleepers.delete(sleeper))
    })
  }

  /** Wakes the sleeper whose time comes first, of several the one that lay down first. False where nobody sleeps. */
  wakeNext(): boolean {
    let next: Sleeper | undefined
    for (const sleeper of this.sleepers) if (next === undefined || sleeper.until < next.until) next = sleeper
    if (next === undefined) return false
    this.sleepers.delete(next)
    this.now = next.until
    next.wake()
    return true
  }
}

/** Runs an effect to its end in virtual time, which begins at 0. Fails where it has not ended by `horizon`. */
export const runVirtual = async <A, E>(effect: Effect.Effect<A, E>, horizon = 60_000): Promise<Exit.Exit<A, E>> => {
  const clock = new VirtualClock()
  const fiber = Effect.runFork(Effect.withClock(effect, clock))
  let exit: Exit.Exit<A, E> | undefined
  fiber.addObserver((end) => {
    exit = end
  })
  for (;;) {
    await turns()
    if (exit !== undefined) return exit
    if (clock.unsafeCurrentTimeMillis() > horizon) throw new Error(`it has not ended after ${horizon} ms`)
    if (!clock.wakeNext()) throw new Error("it waits for nothing")
  }
}
