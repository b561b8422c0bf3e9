export * as SessionToolkit from "./SessionToolkit.ts"
