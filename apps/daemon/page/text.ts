/** Makes what comes from elsewhere safe to show. Only text that went through here gets onto the page. */
import { Display } from "@scv/core"

/** One line of untrusted text. */
export const inline = (text: unknown): string => Display.inline(String(text))

/** Untrusted text of any number of lines. */
export const lines = (text: unknown): string => Display.lines(String(text))

/** Any JSON, laid out to be read. */
export const json = (value: unknown): string => JSON.stringify(value, null, 2).split("\n").map(Display.json).join("\n")

export const timeOf = (iso: string): string => new Date(iso).toLocaleTimeString()

/** Today by the time alone. */
export const momentOf = (iso: string): string => {
  const date = new Date(iso)
  const isToday = date.toDateString() === new Date().toDateString()
  return isToday ? date.toLocaleTimeString() : date.toLocaleString()
}

/** A span of milliseconds, as exactly as a person wants it. */
export const spanOf = (milliseconds: number): string => {
  if (milliseconds < 1000) return `${Math.max(0, Math.round(milliseconds))} ms`
  const seconds = Math.round(milliseconds / 1000)
  if (seconds < 60) return milliseconds < 10_000 ? `${(milliseconds / 1000).toFixed(1)} s` : `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
