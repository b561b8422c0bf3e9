import * as fs from "node:fs"

/** Every descriptor of this process, as what it is open on. */
export const openFiles = (): ReadonlyArray<string> =>
  fs
    .readdirSync("/proc/self/fd")
    .flatMap((fd) => {
      try {
        return [fs.readlinkSync(`/proc/self/fd/${fd}`)]
      } catch {
        // The one that listed the others.
        return []
      }
    })
    .sort()
