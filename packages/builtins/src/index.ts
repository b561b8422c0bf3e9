export { read } from "./Read.ts"
