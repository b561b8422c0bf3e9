/** The daemon's events, for as long as the page is open: it connects again by itself, after the last event that came. */
import type { Event } from "@scv/protocol"
import { setOpen } from "./api.ts"
import { identify } from "./identity.ts"

/** Milliseconds without a sign of life, of which the daemon gives one each 15 seconds. */
const silence = 40_000

/** Milliseconds between two attempts: at first, and at most. */
const pause = { first: 500, most: 5000 }

const wait = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

/** Why there is no stream. */
export type Lost = "silent" | "another" | "signed out" | "ended" | "refused"

interface Following {
  readonly onEvent: (event: Event) => void
  readonly onLost: (why: Lost) => void
}

/** Puts together what came in pieces: calls `take` with each block that is whole. */
const blocks = (take: (block: string) => void) => {
  let held: Array<string> = []
  return (piece: string): void => {
    const isSplit = piece.startsWith("\n") && held.at(-1)?.endsWith("\n") === true
    held.push(piece)
    // One event can be many pieces: they are looked through once.
    if (!isSplit && !piece.includes("\n\n")) return
    const whole = held.join("").split("\n\n")
    held = [whole.pop() ?? ""]
    whole.forEach(take)
  }
}

/** Follows the events. Never returns. */
export const follow = async ({ onEvent, onLost }: Following): Promise<never> => {
  let last: string | undefined
  let hasConnected = false

  const take = (block: string): void => {
    let data = ""
    for (const line of block.split("\n")) {
      if (line.startsWith("id: ")) last = line.slice(4)
      if (line.startsWith("data: ")) data = line.slice(6)
    }
    if (data !== "") onEvent(JSON.parse(data))
  }

  const read = async (): Promise<Lost> => {
    const identity = await identify()
    if (identity !== "the same") return identity
    const abort = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const heard = () => {
      clearTimeout(timer)
      timer = setTimeout(() => abort.abort(), silence)
    }
    try {
      heard()
      const headers: Record<string, string> = last === undefined ? {} : { "last-event-id": last }
      const response = await fetch("/v1/events", { headers, signal: abort.signal })
      if (response.status === 401) return "signed out"
      if (!response.ok || response.body === null) return "refused"
      setOpen(true)
      hasConnected = true
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
      const push = blocks(take)
      for (;;) {
        const { done, value } = await reader.read()
        if (done) return "ended"
        heard()
        push(value)
      }
    } catch {
      return "silent"
    } finally {
      setOpen(false)
      clearTimeout(timer)
      abort.abort()
    }
  }

  for (let delay = pause.first; ; delay = Math.min(delay * 2, pause.most)) {
    hasConnected = false
    onLost(await read())
    if (hasConnected) delay = pause.first
    await wait(delay)
  }
}
