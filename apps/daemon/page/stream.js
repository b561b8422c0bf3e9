// The daemon's events, for as long as the page is open: it connects again by itself, after the last event that came.

/** The daemon gives a sign of life each 15 seconds. */
const silence = 40_000

const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds))

/** Calls `onEvent` with each event, and `onLost` with the reason whenever there is no stream. Never returns. */
export const follow = async ({ onEvent, onLost }) => {
  let last
  let isFirst = true

  const take = (block) => {
    const fields = { id: undefined, data: "" }
    for (const line of block.split("\n")) {
      if (line.startsWith("id: ")) fields.id = line.slice(4)
      if (line.startsWith("data: ")) fields.data = line.slice(6)
    }
    if (fields.id !== undefined) last = fields.id
    if (fields.data !== "") onEvent(JSON.parse(fields.data))
  }

  const read = async () => {
    const abort = new AbortController()
    let timer
    const heard = () => {
      clearTimeout(timer)
      timer = setTimeout(() => abort.abort(), silence)
    }
    try {
      heard()
      const headers = last === undefined ? {} : { "last-event-id": last }
      const response = await fetch("/v1/events", { headers, signal: abort.signal })
      if (response.status === 401) return "signed out: scv daemon open gives an address that lets this browser in again"
      if (!response.ok) return `the daemon answers ${response.status}`
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
      let held = ""
      for (;;) {
        const { done, value } = await reader.read()
        if (done) return "the daemon has ended the connection"
        heard()
        const blocks = (held + value).split("\n\n")
        held = blocks.pop()
        blocks.forEach(take)
      }
    } catch {
      return "the daemon does not answer"
    } finally {
      clearTimeout(timer)
      abort.abort()
    }
  }

  for (;;) {
    if (!isFirst) await wait(1000)
    isFirst = false
    onLost(await read())
  }
}
