/** What the daemon takes at most, where no key of the configuration says so. */

/** Bytes of a request's body: as much as a line of `scv session`. */
export const bodyBytes = 4 * 1024 * 1024

/** Bytes of a body that is too long which are taken, so that the refusal is read. */
export const droppedBytes = 64 * 1024 * 1024

/** Bytes of the bodies of all calls that have not ended. */
export const heldBytes = 64 * 1024 * 1024

/** Ended calls that a session remembers. */
export const endedCalls = 100

/** Bytes of their results; that of the last one is kept whatever its size. */
export const endedBytes = 1024 * 1024

/** Questions whose answers are remembered, so that a late one can be told what was decided. */
export const answers = 1000

/** Readers of the event stream. */
export const readers = 64

/** Bytes of events that wait for one reader; one that lags by more is sent away. A question can hold a whole file. */
export const backlogBytes = 8 * 1024 * 1024

/** Events that are kept for readers that come back, and their bytes; `progress` has a share of its own. */
export const replay = { events: 20_000, bytes: 16 * 1024 * 1024 }

export const replayProgress = { events: 5_000, bytes: 4 * 1024 * 1024 }

/** Connections at once, each way in. */
export const connections = 1024

/** Seconds between two signs of life on a silent event stream. */
export const pingSeconds = 15

/** Seconds in which a stopping daemon ends its calls, and then the connections that are left. */
export const drainSeconds = 15

export const goodbyeSeconds = 2

/** Seconds for which a one-time address is good. */
export const ticketSeconds = 60

/** Seconds for which a browser is signed in after it last asked for something, and how exactly the disk knows. */
export const signInSeconds = 24 * 60 * 60

export const signInSavedSeconds = 15 * 60

/** One-time addresses, and signed-in browsers, that are known at once; the oldest has to go. */
export const tickets = 16

export const cookies = 64

/** Records that a request for the history gets at most, and their bytes. */
export const history = { events: 1000, bytes: 8 * 1024 * 1024 }

/** Bytes of entries that calls without an end take up while the history is read. */
export const openRecordBytes = 16 * 1024 * 1024
