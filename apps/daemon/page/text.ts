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

const twoDigits = (number: number): string => String(number).padStart(2, "0")

/** A span of milliseconds, as exactly as a person wants it: `20 ms`, `1.5 s`, `1:05`, `2:00:09`. */
export const spanOf = (milliseconds: number): string => {
  if (milliseconds < 1000) return `${Math.max(0, Math.round(milliseconds))} ms`
  if (milliseconds < 10_000) return `${(milliseconds / 1000).toFixed(1)} s`
  const seconds = Math.round(milliseconds / 1000)
  if (seconds < 60) return `${seconds} s`
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  const rest = twoDigits(seconds % 60)
  return hours === 0 ? `${minutes}:${rest}` : `${hours}:${twoDigits(minutes)}:${rest}`
}
