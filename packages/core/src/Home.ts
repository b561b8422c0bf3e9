import * as Context from "effect/Context"

/** SCV's own directory, `$SCV_HOME`: configuration, state, the private homes of agents. */
export class Home extends Context.Tag("@scv/core/Home")<
  Home,
  {
    /** Its absolute path, with links followed as far as it exists. */
    readonly path: string
    /** Absolute paths of files elsewhere that configure SCV, such as where a linked `config.toml` leads. */
    readonly files: ReadonlyArray<string>
  }
>() {}

const folded = (path: string): string => path.replace(/\/+/g, "/").toLowerCase()

/**
 * Whether a location in a directory lies in SCV's own, where that is inside or around it, or is one of the files that
 * configure SCV. Letter case does not count, since a file system may not count it either.
 */
export const holds = ({ files, path }: typeof Home.Service, directory: string, location: string): boolean => {
  const absolute = folded(`${directory}/${location}`)
  return `${absolute}/`.startsWith(folded(`${path}/`)) || files.some((file) => folded(file) === absolute)
}
