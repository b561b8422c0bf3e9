export { read } from "./Read.ts"
export { write } from "./Write.ts"
