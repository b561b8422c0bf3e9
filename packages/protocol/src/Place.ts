/** Where a daemon is found. Source: design, "The daemon". */

/** The directory that holds what the daemon needs of the disk, below SCV's own. */
export const stateOf = (home: string): string => `${home}/state`

/** The Unix socket of the daemon whose home that is. */
export const socketOf = (home: string): string => `${stateOf(home)}/scvd.sock`

/** The file that holds the token for loopback TCP. */
export const tokenOf = (home: string): string => `${stateOf(home)}/token`
