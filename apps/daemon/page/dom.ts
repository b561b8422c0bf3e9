/** Elements, made without markup: text that is put into one is escaped first. */
import { inline } from "./text.ts"

/** An element of `index.html`. */
export const byId = <Kind extends HTMLElement>(id: string, kind: new () => Kind): Kind => {
  const found = document.getElementById(id)
  if (found instanceof kind) return found
  throw new Error(`index.html has no ${id}`)
}

/** An element with properties and children; children that are text are escaped to one line. */
export const element = <Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  properties: Partial<HTMLElementTagNameMap[Name]> = {},
  ...children: ReadonlyArray<Node | string>
): HTMLElementTagNameMap[Name] => {
  const node = Object.assign(document.createElement(name), properties)
  node.append(...children.map((child) => (typeof child === "string" ? inline(child) : child)))
  return node
}

/** A word in a frame: a state or a risk. */
export const badge = (word: string): HTMLSpanElement =>
  element("span", { className: `badge ${/^\w+$/.test(word) ? word : ""}` }, word.replaceAll("_", " "))

/** Names and values; a value that is text is escaped. */
export const facts = (rows: ReadonlyArray<readonly [name: string, value: string | Node]>): HTMLDListElement =>
  element("dl", {}, ...rows.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]))

/** A disclosure whose content is made when it is first opened. */
export const disclosure = (summary: string | Node, make: () => Node | Promise<Node>): HTMLDetailsElement => {
  const className = typeof summary === "string" ? "link" : "line"
  const details = element("details", {}, element("summary", { className }, summary))
  details.addEventListener(
    "toggle",
    async () => {
      details.append(await make())
    },
    { once: true }
  )
  return details
}

/** Characters in a part of a box. The browser lays out only the parts that are to be seen. */
const partOfBox = 4096

/** How many times as long a part gets where a line does not end. */
const stretch = 4

/** A box that scrolls, and is empty. */
export const emptyBox = (label: string, className = ""): HTMLDivElement => {
  const made = element("div", { className: `box ${className}`, tabIndex: 0, role: "group" })
  made.setAttribute("aria-label", inline(label))
  return made
}

/** Adds text that is escaped already to a box, in parts of about that many characters. */
export const appendTo = (box: HTMLElement, text: string, length = partOfBox): void => {
  const tail = box.lastElementChild?.firstChild
  let part = tail instanceof Text ? tail : undefined
  let rest = text
  while (rest !== "") {
    if (part === undefined || (part.length >= length && part.data.endsWith("\n")) || part.length >= stretch * length) {
      part = document.createTextNode("")
      box.append(element("div", { className: "part" }, part))
    }
    const room = stretch * length - part.length
    const lineEnd = rest.indexOf("\n", Math.max(0, length - part.length)) + 1
    const size = Math.min(room, lineEnd === 0 ? rest.length : lineEnd)
    part.appendData(rest.slice(0, size))
    rest = rest.slice(size)
  }
}

/** A box with a text that is escaped already. */
export const box = (label: string, text: string, className = ""): HTMLDivElement => {
  const made = emptyBox(label, className)
  appendTo(made, text)
  return made
}
