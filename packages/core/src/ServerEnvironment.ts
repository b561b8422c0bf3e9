import * as Context from "effect/Context"

/** The environment variables that the server itself runs with. */
export class ServerEnvironment extends Context.Tag("@scv/core/ServerEnvironment")<
  ServerEnvironment,
  Readonly<Record<string, string>>
>() {}
