/** What the daemon streams: what happens in its sessions, and what happens to the stream. */
import { Approval, SessionEvent } from "@scv/core"
import * as Schema from "effect/Schema"

const ofSession = Schema.Struct({ session_id: Schema.String })

const opened = Schema.Struct({
  event: Schema.Literal("session_opened"),
  ...ofSession.fields,
  workspace: Schema.String,
  policy: Approval.ApprovalPolicy
})

const closed = Schema.Struct({ event: Schema.Literal("session_closed"), ...ofSession.fields })

/** Comes first: from here on nothing is missed. */
const connected = Schema.Struct({ event: Schema.Literal("connected") })

/** Comes before what is replayed: some of what came after the given id is not kept any more; ask for the lists. */
const gap = Schema.Struct({ event: Schema.Literal("gap") })

/** Why a stream ends. */
export const EndReason = Schema.Literal("draining", "lagging", "session_closed")

export type EndReason = typeof EndReason.Type

/** Comes last. */
const end = Schema.Struct({ event: Schema.Literal("end"), reason: EndReason })

/** What happens in the daemon. Those of calls are the events of `scv session`, with the session that they are of. */
export const Happening = Schema.Union(Schema.extend(SessionEvent, ofSession), opened, closed)

export type Happening = typeof Happening.Type

/** An event of `/v1/events`. */
export const Event = Schema.Union(Happening, connected, gap, end)

export type Event = typeof Event.Type
