// Everything that comes from elsewhere is put on the page here, as text and escaped.
import { Display } from "@scv/core"

/** One line of untrusted text. */
export const inline = (text) => Display.inline(String(text))

/** Untrusted text of any number of lines. */
export const lines = (text) => Display.lines(String(text))

/** Any JSON, laid out to be read. */
export const json = (value) => JSON.stringify(value, null, 2).split("\n").map(Display.json).join("\n")

/** An element with properties and children; children that are text are escaped to one line. */
export const element = (name, properties = {}, ...children) => {
  const node = Object.assign(document.createElement(name), properties)
  node.append(...children.map((child) => (typeof child === "string" ? inline(child) : child)))
  return node
}

/** A word in a frame: a state or a risk. */
export const badge = (word) => element("span", { className: `badge ${/^\w+$/.test(word) ? word : ""}` }, word)

export const timeOf = (iso) => new Date(iso).toLocaleTimeString()

/** Characters in a part of a box. The browser lays out only the parts that are to be seen. */
const partLength = 4096

/** Where a line that does not end is broken all the same. */
const maxPartLength = 4 * partLength

const emptyBox = (label, className) => {
  const box = element("div", { className: `box ${className}`, tabIndex: 0, role: "group" })
  box.setAttribute("aria-label", inline(label))
  return box
}

const appendTo = (box, text) => {
  let rest = text
  while (rest !== "") {
    let part = box.lastElementChild
    const held = part?.textContent ?? ""
    const isFull = (held.length >= partLength && held.endsWith("\n")) || held.length >= maxPartLength
    if (part === null || isFull) {
      part = element("div")
      part.append("")
      box.append(part)
    }
    const room = maxPartLength - part.firstChild.length
    const lineEnd = rest.indexOf("\n", Math.max(0, partLength - part.firstChild.length)) + 1
    const size = Math.min(room, lineEnd === 0 ? rest.length : lineEnd)
    part.firstChild.appendData(rest.slice(0, size))
    rest = rest.slice(size)
  }
}

/** A box that scrolls, with a text that is escaped already. */
export const box = (label, text, className = "") => {
  const made = emptyBox(label, className)
  appendTo(made, text)
  return made
}

/** A disclosure whose content is made when it is first opened. */
export const disclosure = (title, make) => {
  const details = element("details", {}, element("summary", {}, title))
  details.addEventListener(
    "toggle",
    async () => {
      details.append(await make())
    },
    { once: true }
  )
  return details
}

/** How many characters of live output are kept. */
const outputLength = 64 * 1024

/** Live output: the end of it, drawn at most once a frame. */
export const output = (label) => {
  const node = emptyBox(label, "output")
  let pending = ""
  let isDue = false
  let length = 0

  const draw = () => {
    isDue = false
    const text = lines(pending)
    pending = ""
    const isAtEnd = node.scrollTop + node.clientHeight >= node.scrollHeight - 8
    appendTo(node, text)
    length += text.length
    while (length > outputLength && node.childElementCount > 1) {
      length -= node.firstElementChild.textContent.length
      node.firstElementChild.remove()
    }
    if (isAtEnd) node.scrollTop = node.scrollHeight
  }

  const add = (text) => {
    pending = (pending + text.slice(-outputLength)).slice(-outputLength)
    if (isDue) return
    isDue = true
    requestAnimationFrame(draw)
  }

  return {
    node,
    add,
    /** Takes the whole in the place of what came. */
    replace: (text) => {
      node.replaceChildren()
      length = 0
      pending = ""
      add(text)
    }
  }
}
