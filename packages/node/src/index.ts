export * as NodeDigest from "./NodeDigest.ts"
export * as NodeDirectory from "./NodeDirectory.ts"
export * as NodeHome from "./NodeHome.ts"
