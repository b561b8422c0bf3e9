import { ProcessSpawner } from "@scv/core"
import { codeOf } from "./errno.ts"

const words: Record<string, readonly [kind: ProcessSpawner.SpawnError["kind"], detail: string]> = {
  ENOENT: ["unavailable", "no such program"],
  EACCES: ["permission", "is not executable"],
  E2BIG: ["limit", "the arguments and the environment are longer than the system allows"],
  EMFILE: ["io", "too many open files in this process"],
  ENFILE: ["io", "too many open files on this machine"],
  EAGAIN: ["io", "no more processes are allowed"],
  ENOMEM: ["io", "not enough memory"]
}

/** Why a program does not start, in the words of the contract. */
export const spawnError = (program: string, error: unknown): ProcessSpawner.SpawnError => {
  const code = codeOf(error) ?? "an unknown error"
  const [kind, detail] = words[code] ?? ["io", `the system answers ${code}`]
  return new ProcessSpawner.SpawnError({ kind, message: `${program}: ${detail}` })
}
