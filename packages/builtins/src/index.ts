export { bash } from "./Bash.ts"
export { read } from "./Read.ts"
export { write } from "./Write.ts"
