/** The processes of one call, found again wherever they are, and signalled only while they are who they were. */
import { setTimeout as pause } from "node:timers/promises"
import type { ProcessSpawner } from "@scv/core"
import { codeOf } from "./errno.ts"
import { byProc, type Entry, type ProcessTable } from "./processTable.ts"

/** For how long after the start descendants are known to have the numbers that follow the leader's own, in ms. */
const trustNumbers = 2000

/** How often a look that may have missed somebody is taken again, and the pause in between, in milliseconds. */
const maxLooks = 10
const lookAgain = 2

/** The kernel's own threads are children of this one, and have no environment. */
const kernelParent = 2

/** A leader and all that it starts. */
export class Family {
  /** Members of the group by number, with their start times, from when nobody else could have the group's number. */
  readonly #known = new Map<number, string>()
  /** Processes that never show an environment, by number, with their start times. */
  readonly #blank = new Map<number, string>()
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
  #range(): readonly [from?: number, to?: number] {
    const newest = byProc.newest()
    const isShort = performance.now() - this.#begun < trustNumbers
    return isShort && newest >= this.#pid ? [this.#pid, newest] : []
  }

  /** Descendants are not older than the leader. */
  #canBeOurs({ pid, start }: Entry): boolean {
    if (pid === process.pid) return false
    return this.#table !== byProc || Number(start) >= Number(this.#start)
  }

  /**
   * The live members. A process that was forked during a look by one that ended in it is seen by neither, and one that is
   * between two programs shows no environment: where a look finds nobody it is taken again until it was undisturbed.
   */
  async members(): Promise<ReadonlyArray<ProcessSpawner.Member>> {
    if (this.#table !== byProc) return (await this.#look()).members
    if (this.#isReaped && byProc.newest() === this.#pid) return []
    for (let range = this.#range(), looks = 1; ; looks++) {
      const newest = byProc.newest()
      const { blank, members } = await this.#look(...range)
      const last = byProc.newest()
      if (members.length > 0 || (blank.length === 0 && last === newest)) return members
      if (looks === maxLooks) {
        for (const { pid, start } of blank) this.#blank.set(pid, start)
        return members
      }
      if (blank.length > 0) await pause(lookAgain)
      range = blank.length === 0 && last > newest ? [newest + 1, last] : this.#range()
    }
  }

  /** One look at the members, and at who may become one: live processes that show no environment. */
  async #look(...range: readonly [from?: number, to?: number]): Promise<{
    readonly members: ReadonlyArray<ProcessSpawner.Member>
    readonly blank: ReadonlyArray<Entry>
  }> {
    const entries = (await this.#table.list(...range)).filter((entry) => this.#canBeOurs(entry))
    const leader = entries.find(({ pid }) => pid === this.#pid)
    const isGroupsOwn = !this.#isReaped || leader === undefined || leader.start === this.#start
    const found = new Map<number, Entry>()
    const tagged = new Map<number, boolean | undefined>()
    const hasTag = (pid: number): boolean => {
      if (!tagged.has(pid)) tagged.set(pid, this.#table.hasTag(pid, this.#tag))
      return tagged.get(pid) === true
    }
    const isOurs = (entry: Entry): boolean => {
      if (entry.pid === this.#pid) return !this.#isReaped
      if (entry.group === this.#pid && isGroupsOwn) {
        if (!this.#isReaped || this.#known.get(entry.pid) === entry.start) return true
      }
      if (found.has(entry.parent) || (entry.parent === this.#pid && !this.#isReaped)) return true
      return hasTag(entry.pid)
    }
    // A child is known by its parent, which may stand behind it.
    for (let before = -1; before !== found.size; ) {
      before = found.size
      for (const entry of entries) if (!found.has(entry.pid) && isOurs(entry)) found.set(entry.pid, entry)
    }
    const isBlank = (entry: Entry): boolean =>
      entry.isAlive &&
      entry.parent !== kernelParent &&
      !found.has(entry.pid) &&
      tagged.has(entry.pid) &&
      tagged.get(entry.pid) === undefined &&
      this.#blank.get(entry.pid) !== entry.start
    const members = [...found.values()]
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
    return { members, blank: entries.filter(isBlank) }
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
