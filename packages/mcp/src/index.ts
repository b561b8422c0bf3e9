export * as Http from "./Http.ts"
export type { Options } from "./Server.ts"
export * as Stdio from "./Stdio.ts"
