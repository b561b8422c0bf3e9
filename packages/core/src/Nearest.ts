import { closest, distance } from "fastest-levenshtein"

/** The known name that a mistyped one most likely means, or undefined where none is near. */
export const nearest = (name: string, known: ReadonlyArray<string>): string | undefined => {
  if (known.length === 0 || name.length > 64) return undefined
  const best = closest(name.toLowerCase(), [...known])
  return distance(name.toLowerCase(), best) <= Math.max(1, Math.floor(best.length / 3)) ? best : undefined
}

/** `; did you mean \`x\`?` or nothing, then all the known names. */
export const suggestion = (name: string, known: ReadonlyArray<string>): string => {
  const near = nearest(name, known)
  return near === undefined ? "" : `; did you mean \`${near}\`?`
}
