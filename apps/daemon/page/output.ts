/** Live output: the end of it, drawn a few times a second, and only where it can be seen. */
import { appendTo, emptyBox } from "./dom.ts"
import { lines } from "./text.ts"

/** How many characters are kept of one. */
const kept = 64 * 1024

/** Characters in a part of one: what is laid out again when some are added. */
const partLength = 1024

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
  /** Whether it is on the screen, or nearly. */
  isSeen: boolean
}

const due = new Set<Drawn>()
let isDrawing = false

const write = (output: Drawn): void => {
  const text = lines(output.pending)
  output.pending = ""
  appendTo(output.node, text, partLength)
  output.length += text.length
  while (output.length > kept && output.node.childElementCount > 1) {
    const first = output.node.firstElementChild
    output.length -= first?.textContent?.length ?? 0
    first?.remove()
  }
}

// All are written before the first is measured, so that the page is laid out once.
const draw = (): void => {
  isDrawing = false
  const written = [...due].filter(({ isSeen }) => isSeen)
  for (const output of written) {
    due.delete(output)
    write(output)
  }
  for (const { isAtEnd, node } of written) if (isAtEnd) node.scrollTop = node.scrollHeight
}

const drawLater = (): void => {
  if (isDrawing) return
  isDrawing = true
  setTimeout(() => requestAnimationFrame(draw), every)
}

const drawnOf = new WeakMap<Element, Drawn>()

/** Who is not seen waits: to draw it would cost as much. */
const watcher = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      const drawn = drawnOf.get(target)
      if (drawn !== undefined) drawn.isSeen = isIntersecting
      if (!target.isConnected) watcher.unobserve(target)
    }
    drawLater()
  },
  { rootMargin: "200px" }
)

export const output = (label: string): Output => {
  const node = emptyBox(label, "output")
  const drawn: Drawn = { node, pending: "", length: 0, isAtEnd: true, isSeen: false }
  drawnOf.set(node, drawn)
  watcher.observe(node)
  node.addEventListener(
    "scroll",
    () => {
      drawn.isAtEnd = node.scrollTop + node.clientHeight >= node.scrollHeight - 8
    },
    { passive: true }
  )
  const add = (text: string): void => {
    drawn.pending += text.slice(-kept)
    if (drawn.pending.length > 2 * kept) drawn.pending = drawn.pending.slice(-kept)
    due.add(drawn)
    if (drawn.isSeen) drawLater()
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
