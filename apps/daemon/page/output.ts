/** Live output: the end of it, drawn a few times a second, and only where it can be seen. */
import { appendTo, emptyBox } from "./dom.ts"
import { lines } from "./text.ts"

/** How many characters are kept of one. */
const kept = 64 * 1024

/** Milliseconds between two drawings. */
const every = 100

export interface Output {
  readonly node: HTMLElement
  readonly add: (text: string) => void
  /** Takes the whole in the place of what came. */
  readonly replace: (text: string) => void
}

interface Drawn {
  readonly node: HTMLElement
  pending: string
  length: number
  /** Whether the end is what is looked at. */
  isAtEnd: boolean
}

const due = new Set<Drawn>()
let isDrawing = false

const write = (output: Drawn): void => {
  const text = lines(output.pending)
  output.pending = ""
  appendTo(output.node, text)
  output.length += text.length
  while (output.length > kept && output.node.childElementCount > 1) {
    const first = output.node.firstElementChild
    output.length -= first?.textContent?.length ?? 0
    first?.remove()
  }
}

// All are written before the first is measured, so that the page is laid out once.
const draw = (): void => {
  const written: Array<Drawn> = []
  for (const output of due) {
    if (!output.node.isConnected) due.delete(output)
    // In a disclosure that is closed it goes on waiting.
    if (output.node.closest("details:not([open])") !== null) continue
    due.delete(output)
    write(output)
    written.push(output)
  }
  for (const { isAtEnd, node } of written) if (isAtEnd) node.scrollTop = node.scrollHeight
  isDrawing = false
}

const drawLater = (): void => {
  if (isDrawing || due.size === 0) return
  isDrawing = true
  setTimeout(() => requestAnimationFrame(draw), every)
}

// Whoever opens one sees it at once.
document.addEventListener("toggle", drawLater, { capture: true })

export const output = (label: string): Output => {
  const node = emptyBox(label, "output")
  const drawn: Drawn = { node, pending: "", length: 0, isAtEnd: true }
  node.addEventListener(
    "scroll",
    () => {
      drawn.isAtEnd = node.scrollTop + node.clientHeight >= node.scrollHeight - 8
    },
    { passive: true }
  )
  const add = (text: string): void => {
    drawn.pending = (drawn.pending + text.slice(-kept)).slice(-kept)
    due.add(drawn)
    drawLater()
  }
  return {
    node,
    add,
    replace: (text) => {
      node.replaceChildren()
      drawn.length = 0
      drawn.pending = ""
      add(text)
    }
  }
}
