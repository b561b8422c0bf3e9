import { Directory, Utf8 } from "@scv/core"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { type Config, merge, type Source } from "./Config.ts"
import { ConfigError, ConfigErrors } from "./ConfigError.ts"
import { type Flags, type Table, type TableOptions, table } from "./keys.ts"
import { type Layer, type LayerName, ofDocument, ofFlags } from "./Layer.ts"
import * as Toml from "./Toml.ts"

/** The most bytes of a file. */
const maxBytes = 65_536

export interface LoadOptions extends TableOptions {
  /** The absolute path that `SCV_CONFIG` names. */
  readonly explicit?: string | undefined
  readonly workspace: Directory.Directory | undefined
  readonly flags?: Flags | undefined
}

/** A file that may hold a layer, and the directory that it is reached through. */
interface Place {
  readonly layer: LayerName
  readonly directory: Directory.Directory
  readonly path: string
  /** The absolute path, as messages name it. */
  readonly file: string
}

const isMissing = (error: Directory.DirectoryError): boolean => error.kind === "not_found"

/** What a place holds, or why it cannot be read; a link that leads nowhere is no missing file. */
const look = ({ directory, path }: Place) =>
  directory.read(path, { offset: 0, length: maxBytes + 1 }).pipe(
    Effect.catchIf(isMissing, (error) =>
      directory.target(path, "create").pipe(
        Effect.mapError(({ kind }) =>
          kind === "already_exists"
            ? new Directory.DirectoryError({ kind: "io", path, detail: "is a link that leads nowhere" })
            : error
        ),
        Effect.zipRight(Effect.fail(error))
      )
    ),
    Effect.either
  )

type Looked = Effect.Effect.Success<ReturnType<typeof look>>

const nothing: Layer = { settings: [], errors: [] }

const parse = ({ file, layer }: Place, { bytes }: Directory.FileRange, keys: Table): Layer => {
  const broken = (reason: string, line?: number): Layer => ({
    settings: [],
    errors: [new ConfigError({ file, reason, ...(line === undefined ? {} : { line }) })]
  })
  if (bytes.length > maxBytes) return broken(`is larger than ${maxBytes} bytes`)
  const text = Utf8.decodeStrict(bytes)
  if (text === undefined) return broken("is not UTF-8 text")
  return Either.match(Toml.parse(text), {
    onLeft: ({ line, reason }) => broken(reason, line),
    onRight: (document) => ofDocument(document, keys, { file, layer })
  })
}

const layerOf = (place: Place, looked: Looked, keys: Table): Layer =>
  Either.match(looked, {
    onRight: (range) => parse(place, range, keys),
    onLeft: (error) =>
      isMissing(error) && place.layer !== "explicit"
        ? nothing
        : { settings: [], errors: [new ConfigError({ file: place.file, reason: error.detail })] }
  })

/** The layer as which a project's file counts that is also the file of another, trusted layer. */
const twin = (place: Place, looked: Looked, others: ReadonlyArray<readonly [Place, Looked]>): LayerName | undefined => {
  if (place.layer !== "project" || Either.isLeft(looked)) return undefined
  const same = others.find(
    ([other, found]) =>
      other.layer !== "project" &&
      Either.isRight(found) &&
      Directory.isSame(found.right.file.identity, looked.right.file.identity)
  )
  return same?.[0].layer
}

const placesOf = ({ explicit, home, workspace }: LoadOptions, root: Directory.Directory): ReadonlyArray<Place> => {
  const outside = (layer: LayerName, file: string): Place => ({
    layer,
    directory: root,
    path: file.replace(/^\/+/, ""),
    file
  })
  const project = ".scv/config.toml"
  return [
    outside("user", `${home}/config.toml`),
    ...(workspace === undefined
      ? []
      : [{ layer: "project" as const, directory: workspace, path: project, file: `${workspace.path}/${project}` }]),
    ...(explicit === undefined ? [] : [outside("explicit", explicit)])
  ]
}

/**
 * Reads every layer and lays them over each other: the defaults, `$SCV_HOME/config.toml`, the workspace's
 * `.scv/config.toml`, the file that `SCV_CONFIG` names, the flags. Fails with all that is wrong in all of them at once:
 * a file that is no regular one, cannot be read, is larger than 64 KiB, no UTF-8 or no TOML, an unknown key, a value
 * that its key does not take, a key that a project may not set, and a missing file only for `SCV_CONFIG`. Source:
 * design, "Small decisions".
 */
export const load = (options: LoadOptions): Effect.Effect<Config, ConfigErrors, Directory.Directories> =>
  Effect.gen(function* () {
    const { open } = yield* Directory.Directories
    const root = yield* Effect.mapError(
      open("/"),
      ({ detail }) => new ConfigErrors({ errors: [new ConfigError({ file: "/", reason: detail })] })
    )
    const keys = table(options)
    const looked = yield* Effect.forEach(placesOf(options, root), (place) =>
      Effect.map(look(place), (found) => [place, found] as const)
    )
    const files = looked.map(([place, found]) => {
      const countsAs = twin(place, found, looked)
      const source: Source = {
        layer: place.layer,
        file: place.file,
        exists: Either.isRight(found) || !isMissing(found.left),
        ...(countsAs === undefined ? {} : { countsAs })
      }
      return { source, ...(countsAs === undefined ? layerOf(place, found, keys) : nothing) }
    })
    const layers: ReadonlyArray<Layer> = [...files, ofFlags(options.flags ?? {}, keys)]
    const errors = layers.flatMap((layer) => layer.errors)
    if (Arr.isNonEmptyArray(errors)) return yield* new ConfigErrors({ errors })
    return merge(
      keys,
      layers.flatMap((layer) => layer.settings),
      files.map(({ source }) => source)
    )
  }).pipe(Effect.scoped)
