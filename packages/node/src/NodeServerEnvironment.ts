import { ServerEnvironment } from "@scv/core"
import * as Layer from "effect/Layer"

/** The environment of this process, as it is when the layer is built. */
export const layer: Layer.Layer<ServerEnvironment> = Layer.sync(ServerEnvironment, () =>
  Object.fromEntries(
    Object.entries(process.env).flatMap(
      ([name, value]): Array<[string, string]> => (value === undefined ? [] : [[name, value]])
    )
  )
)
