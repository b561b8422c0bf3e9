import * as Arr from "effect/Array"
import * as Record from "effect/Record"

/** What stands at a dotted name. */
export type Leaf<A> = readonly [name: string, value: A]

/** Dotted names as tables in tables: `leaf` makes what stands at a name, `branch` a table that others stand in. */
export const nest = <A, B>(
  leaves: ReadonlyArray<Leaf<A>>,
  leaf: (value: A) => B,
  branch: (table: Record<string, B>) => B
): Record<string, B> =>
  Record.map(
    Arr.groupBy(leaves, ([name]) => name.split(".", 1)[0] ?? ""),
    (group, head) => {
      const [[name, value]] = group
      if (name === head) return leaf(value)
      return branch(
        nest(
          group.map(([name, value]): Leaf<A> => [name.slice(head.length + 1), value]),
          leaf,
          branch
        )
      )
    }
  )
