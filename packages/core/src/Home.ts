import * as Context from "effect/Context"

/** SCV's own directory, `$SCV_HOME`: configuration, state, the private homes of agents. */
export class Home extends Context.Tag("@scv/core/Home")<
  Home,
  {
    /** Its absolute path, with links followed as far as it exists. */
    readonly path: string
  }
>() {}

/**
 * Whether a location in a directory lies in SCV's own, where that is inside or around it. Letter case does not count,
 * since a file system may not count it either.
 */
export const holds = (home: typeof Home.Service, directory: string, location: string): boolean => {
  const own = `${home.path.toLowerCase()}/`
  return `${directory}/${location}/`.replaceAll("//", "/").toLowerCase().startsWith(own.replaceAll("//", "/"))
}
