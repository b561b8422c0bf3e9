/** The commands that talk to the daemon. */
import { answers } from "./answer.ts"
import { approvals } from "./approvals.ts"
import { cancel } from "./cancel.ts"
import { daemon } from "./daemon.ts"
import { remoteCall } from "./remoteCall.ts"
import { sessions } from "./sessions.ts"
import { watch } from "./watch.ts"

/** What a command line can do with the daemon; one without it is smaller, and starts sooner. */
export const remote = {
  commands: [daemon, sessions, approvals, ...answers, cancel, watch],
  /** `scv call --daemon`. */
  call: remoteCall
} as const

export type Remote = typeof remote
