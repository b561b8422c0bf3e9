/** A plan as it is shown before somebody decides: what is asked at a glance, and all of it. */
import type { PendingApproval } from "@scv/protocol"
import { box, disclosure, element, emptyBox, facts } from "./dom.ts"
import { parse, type Row } from "./summary.ts"
import { inline, json, lines } from "./text.ts"

/** Characters from which on a value gets a box of its own. */
const long = 72

type Fields = Readonly<Record<string, unknown>>

const isFields = (value: unknown): value is Fields => typeof value === "object" && value !== null

const fieldsOf = (plan: unknown): Fields => (isFields(plan) ? plan : {})

const isText = (value: unknown): value is string => typeof value === "string"

const argumentsOf = ({ args }: Fields): ReadonlyArray<string> => (Array.isArray(args) ? args.filter(isText) : [])

/** The lines of a unified diff, each in a colour of its own. */
const diff = (label: string, text: string): HTMLElement => {
  const kinds: Record<string, string> = { "+": "added", "-": "removed", "@": "place" }
  const made = emptyBox(label, "diff")
  made.append(
    ...text.split("\n").map((line) => {
      const row = element("div", { className: kinds[line.charAt(0)] ?? "" })
      row.textContent = lines(line)
      return row
    })
  )
  return made
}

const figure = ({ label, value }: Row): HTMLElement => {
  const shown = label === "change" ? diff(label, value) : box(label, lines(value), "said")
  return element("figure", {}, element("figcaption", {}, label), shown)
}

const argumentList = (args: ReadonlyArray<string>): HTMLElement =>
  element(
    "ol",
    { start: 0 },
    ...args.map((arg) => {
      const item = element("li")
      item.textContent = lines(arg)
      return item
    })
  )

const placeOf = ({ directory }: Fields, workspace: string): string => {
  const path = isFields(directory) ? directory.path : undefined
  if (!isText(path) || path === "" || path === ".") return workspace
  return path.startsWith("/") ? path : `${workspace}/${path}`
}

/** Every text of a plan that has several lines or is long, by its place in there. */
const textsOf = (value: unknown, at: string): ReadonlyArray<readonly [at: string, text: string]> => {
  if (isText(value)) return value.includes("\n") || value.length > 4 * long ? [[at, value]] : []
  if (!isFields(value)) return []
  return Object.entries(value).flatMap(([name, inner]) => textsOf(inner, at === "" ? name : `${at}.${name}`))
}

const whole = ({ plan }: PendingApproval): Node =>
  element(
    "div",
    {},
    ...textsOf(plan, "").map(([at, text]) =>
      element("figure", {}, element("figcaption", {}, at), box(`${at} of the plan`, lines(text), "plan"))
    ),
    element("figure", {}, element("figcaption", {}, "as JSON"), box("the whole plan, as JSON", json(plan), "plan"))
  )

/** What is asked: first what would be done, then with what, where and for how long. */
export const view = (question: PendingApproval): ReadonlyArray<HTMLElement> => {
  const { approval_id, call_id, digest, plan, session_id, summary, workspace } = question
  const fields = fieldsOf(plan)
  const args = argumentsOf(fields)
  const { rows, title } = parse(summary)
  const isLarge = ({ label, value }: Row) =>
    label === "change" || value.includes("\n") || value.length > long || args.includes(value)
  const { program, timeout_seconds } = fields
  const about: Array<readonly [string, string | Node]> = rows
    .filter((row) => !isLarge(row) && row.label !== "timeout")
    .map(({ label, value }) => [label === "" ? "also" : label, value])
  if (isText(program) && !rows.some(({ label }) => label === "program")) about.push(["executable", program])
  if (args.length > 0) about.push(["arguments", argumentList(args)])
  if (!rows.some(({ label }) => label === "directory")) about.push(["directory", placeOf(fields, workspace)])
  if (typeof timeout_seconds === "number") about.push(["timeout", `${timeout_seconds} s`])
  const ids: ReadonlyArray<readonly [string, string]> = [
    ["workspace", workspace],
    ["session", session_id],
    ["call", call_id],
    ["question", approval_id],
    ["digest", digest]
  ]
  return [
    element("p", { className: "title" }, inline(title)),
    element("div", { className: "what" }, ...rows.filter(isLarge).map(figure)),
    element("div", { className: "how" }, facts(about)),
    element(
      "div",
      { className: "whole" },
      disclosure("Whole plan", () => element("div", {}, facts(ids), whole(question)))
    )
  ]
}
