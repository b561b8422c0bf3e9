/** The commands that need no daemon: a bundle of their own, so that a call does not pay for an HTTP client. */
import { start } from "./start.ts"

start(undefined)
