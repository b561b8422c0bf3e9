/** The processes of one call, found again wherever they are, and signalled only while they are who they were. */
import { performance } from "node:perf_hooks"
import { setImmediate } from "node:timers/promises"
import type { ProcessSpawner } from "@scv/core"
import { codeOf } from "./errno.ts"
import { byProc, type Entry, type ProcessTable } from "./processTable.ts"

/** For how long after the start descendants are known to have the numbers that follow the leader's own, in ms. */
const trustNumbers = 2000

/** How long one look goes on for processes that cannot be told yet: as many milliseconds, and as many times, at least. */
const patience = 250
const attempts = 50

/** How many numbers given just before a look can be of processes that are not to be seen yet. */
const unborn = 16

/** A leader and all that it starts. */
export class Family {
  /** Members of the group by number, with their start times, from when nobody else could have the group's number. */
  readonly #known = new Map<number, string>()
  readonly #table: ProcessTable
  readonly #pid: number
  readonly #tag: string
  readonly #start: string
  readonly #begun = performance.now()
  #isReaped = false

  constructor(table: ProcessTable, pid: number, tag: string, start: string) {
    this.#table = table
    this.#pid = pid
    this.#tag = tag
    this.#start = start
  }

  /**
   * To be called in the moment of the leader's end: until now a zombie held its number, and for as long as a member of
   * the group lives it still means this group.
   */
  leaderEnded(): void {
    this.#isReaped = true
    if (this.#table !== byProc || !this.#groupIsInUse()) return
    for (const entry of byProc.list(...this.#range())) {
      if (entry.group === this.#pid && entry.isAlive) this.#known.set(entry.pid, entry.start)
    }
  }

  #groupIsInUse(): boolean {
    try {
      process.kill(-this.#pid, 0)
      return true
    } catch (error) {
      return codeOf(error) !== "ESRCH"
    }
  }

  /** The numbers that descendants can have, where that is known: a short call's are those given since its own. */
  #range(newest = byProc.newest()): readonly [from?: number, to?: number] {
    const isShort = performance.now() - this.#begun < trustNumbers
    return isShort && newest >= this.#pid ? [this.#pid, newest] : []
  }

  /** Descendants are not older than the leader. */
  #canBeOurs({ pid, start }: Entry): boolean {
    if (pid === process.pid) return false
    return this.#table !== byProc || Number(start) >= Number(this.#start)
  }

  async members(): Promise<ReadonlyArray<ProcessSpawner.Member>> {
    const isProc = this.#table === byProc
    let newest = isProc ? byProc.newest() : Number.NaN
    if (this.#isReaped && newest === this.#pid) return []
    let entries = await this.#table.list(...(isProc ? this.#range(newest) : []))
    const leader = entries.find(({ pid }) => pid === this.#pid)
    const isGroupsOwn = !this.#isReaped || leader === undefined || leader.start === this.#start
    const found = new Map<number, Entry>()
    const isOurs = (entry: Entry): boolean | undefined => {
      if (entry.pid === this.#pid) return !this.#isReaped
      if (entry.group === this.#pid && isGroupsOwn) {
        if (!this.#isReaped || this.#known.get(entry.pid) === entry.start) return true
      }
      if (entry.parent === this.#pid && !this.#isReaped) return true
      return this.#table.hasTag(entry.pid, this.#tag)
    }
    let seen = newest - unborn
    const until = performance.now() + patience
    for (let attempt = 0; ; attempt++) {
      const unsure: Array<number> = []
      let rest = entries.filter((entry) => {
        if (!this.#canBeOurs(entry)) return false
        const answer = isOurs(entry)
        if (answer === true) found.set(entry.pid, entry)
        else if (answer === undefined) unsure.push(entry.pid)
        return answer !== true
      })
      // A child is known by its parent, which may stand behind it.
      for (let before = -1; before !== found.size; ) {
        before = found.size
        for (const entry of rest) if (found.has(entry.parent)) found.set(entry.pid, entry)
        rest = rest.filter(({ pid }) => !found.has(pid))
      }
      if (!isProc) break
      // Who had a child during the look, and ended before it was looked at, is found by the child's number; twice, since
      // a number is given before its process can be seen.
      const now = byProc.newest()
      const isQuiet = now === seen && unsure.every((pid) => found.has(pid))
      if (isQuiet || (attempt >= attempts && performance.now() > until)) break
      const given = now === seen ? [] : byProc.list(...(now > seen ? [seen + 1, now] : []))
      entries = [...byProc.get(unsure), ...given]
      seen = newest
      newest = now
      await setImmediate()
    }
    return [...found.values()]
      .filter(({ isAlive }) => isAlive)
      .map((entry) => {
        const inGroup = entry.group === this.#pid && isGroupsOwn
        if (inGroup) this.#known.set(entry.pid, entry.start)
        const table = this.#table
        return {
          pid: entry.pid,
          start: entry.start,
          inGroup,
          get command() {
            return table.commandOf(entry.pid)
          }
        }
      })
  }

  async signal(signal: ProcessSpawner.Signal, members: ReadonlyArray<ProcessSpawner.Member>): Promise<void> {
    const inGroup = members.filter((member) => member.inGroup)
    const outside = members.filter((member) => !member.inGroup)
    // Until the leader is reaped nobody else can have the group's number; later a member that lives vouches for it.
    if (inGroup.length > 0 && (!this.#isReaped || (await this.#present(inGroup)).length > 0)) kill(-this.#pid, signal)
    for (const { pid } of await this.#present(outside)) kill(pid, signal)
  }

  /** Those of some members that still are who they were. */
  async #present(members: ReadonlyArray<ProcessSpawner.Member>): Promise<ReadonlyArray<ProcessSpawner.Member>> {
    if (members.length === 0) return []
    const entries = new Map((await this.#table.get(members.map(({ pid }) => pid))).map((entry) => [entry.pid, entry]))
    return members.filter(({ pid, start }) => {
      const entry = entries.get(pid)
      return entry?.isAlive === true && entry.start === start
    })
  }
}

/** Signals a process or, by a negative number, a group. Who is gone already needs none. */
const kill = (pid: number, signal: ProcessSpawner.Signal): void => {
  if (pid === 0 || pid === -1 || pid === 1) return
  try {
    process.kill(pid, `SIG${signal}`)
  } catch {
    // ESRCH, or EPERM for what has become another user's: the members that are found afterwards tell.
  }
}
