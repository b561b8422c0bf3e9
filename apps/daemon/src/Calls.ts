/** The calls of one session: those that are live, and the last ones that have ended. */
import type { SessionEvent, ToolResult } from "@scv/core"
import type { CallInfo, CallState, CallSummary } from "@scv/protocol"
import * as Bounds from "./Bounds.ts"

interface Entry {
  readonly id: string
  readonly tool: string
  readonly submittedAt: string
  state: CallState
  result: ToolResult | undefined
  bytes: number
}

export class Calls {
  readonly #entries = new Map<string, Entry>()
  #ended: Array<Entry> = []
  #bytes = 0

  /** Adds a call that was submitted. */
  add(id: string, tool: string, submittedAt: string): void {
    this.#entries.set(id, { id, tool, submittedAt, state: "waiting", result: undefined, bytes: 0 })
  }

  /** Follows a call by an event of its session. */
  follow(event: SessionEvent): void {
    if (event.event === "completed") this.end(event.result)
    const entry = this.#entries.get(event.id)
    if (entry === undefined || entry.state === "ended") return
    if (event.event === "approval_requested") entry.state = "asking"
    if (event.event === "started") entry.state = "running"
  }

  /** Notes how a call ended, and forgets the oldest ones that did. */
  end(result: ToolResult): void {
    const entry = this.#entries.get(result.call_id)
    if (entry === undefined || entry.state === "ended") return
    entry.state = "ended"
    entry.result = result
    entry.bytes = JSON.stringify(result).length
    this.#ended.push(entry)
    this.#bytes += entry.bytes
    while (this.#ended.length > Bounds.endedCalls || (this.#bytes > Bounds.endedBytes && this.#ended.length > 1)) {
      const oldest = this.#ended.shift()!
      this.#bytes -= oldest.bytes
      this.#entries.delete(oldest.id)
    }
  }

  /** In the order in which they were submitted. */
  list(): ReadonlyArray<CallSummary> {
    return [...this.#entries.values()].map((entry) => this.#summary(entry))
  }

  get(id: string): CallInfo | undefined {
    const entry = this.#entries.get(id)
    if (entry === undefined) return undefined
    return { ...this.#summary(entry), ...(entry.result === undefined ? {} : { result: entry.result }) }
  }

  #summary({ id, result, state, submittedAt, tool }: Entry): CallSummary {
    return {
      call_id: id,
      tool,
      state,
      submitted_at: submittedAt,
      ...(result === undefined ? {} : { status: result.status })
    }
  }
}
