/** Medians over interleaved rounds, and how they are shown. All times are in microseconds. */
import * as Effect from "effect/Effect"

/** Two ways to do the same, each of which repeats it `operations` times in one round. */
export interface Contest<E = never> {
  readonly ours: Effect.Effect<unknown, E>
  readonly bare: Effect.Effect<unknown, E>
  readonly operations: number
  readonly rounds: number
  /** Rounds that come first and do not count. */
  readonly warmUp: number
}

/** What one operation takes, and how the two compare. */
export interface Measured {
  readonly ours: number
  readonly bare: number
  readonly difference: number
  readonly ratio: number
}

/** What is aimed at: of ours alone, of its difference to the bare way, or of its ratio to that; each at most. */
export type Aim =
  | { readonly of: "ours" | "difference" | "ratio"; readonly atMost: number }
  | { readonly of: "nothing"; readonly show: "difference" | "ratio" }

export interface Row {
  readonly name: string
  readonly measured: Measured
  readonly aim: Aim
}

/** Some rows that are measured together. */
export type Benchmark = Effect.Effect<ReadonlyArray<Row>>

/** How long an effect takes, whatever it answers. */
export const time = <E>(effect: Effect.Effect<unknown, E>): Effect.Effect<number, E> =>
  Effect.gen(function* () {
    const start = process.hrtime.bigint()
    yield* effect
    return Number(process.hrtime.bigint() - start) / 1000
  })

const median = (values: ReadonlyArray<number>): number => {
  const ascending = [...values].sort((a, b) => a - b)
  const middle = ascending.length >> 1
  return ascending.length % 2 === 1 ? ascending[middle]! : (ascending[middle - 1]! + ascending[middle]!) / 2
}

/** The medians of rounds. They are compared round by round, so that a machine that changes its pace changes little. */
export const summed = (rounds: ReadonlyArray<{ readonly ours: number; readonly bare: number }>): Measured => ({
  ours: median(rounds.map(({ ours }) => ours)),
  bare: median(rounds.map(({ bare }) => bare)),
  difference: median(rounds.map(({ bare, ours }) => ours - bare)),
  ratio: median(rounds.map(({ bare, ours }) => ours / bare))
})

/** Runs both sides in turns, so that whatever else the machine does meets both alike. */
export const interleaved = <E>({ bare, operations, ours, rounds, warmUp }: Contest<E>): Effect.Effect<Measured, E> =>
  Effect.gen(function* () {
    const times: Array<{ readonly ours: number; readonly bare: number }> = []
    for (let round = -warmUp; round < rounds; round++) {
      const spent = { ours: 0, bare: 0 }
      for (const side of round % 2 === 0 ? (["ours", "bare"] as const) : (["bare", "ours"] as const)) {
        spent[side] = (yield* time(side === "ours" ? ours : bare)) / operations
      }
      if (round >= 0) times.push(spent)
    }
    return summed(times)
  })

/** `operations` times the same effect, in one fiber. */
export const repeated = <E>(operations: number, effect: Effect.Effect<unknown, E>): Effect.Effect<void, E> =>
  Effect.gen(function* () {
    for (let i = 0; i < operations; i++) yield* effect
  })

const duration = (us: number): string => (us < 1000 ? `${us.toFixed(1)} us` : `${(us / 1000).toFixed(1)} ms`)

const signed = (us: number): string => `${us < 0 ? "-" : "+"}${duration(Math.abs(us))}`

const shown = ({ aim, measured: { bare, difference, ours, ratio }, name }: Row): ReadonlyArray<string> => {
  const asRatio = aim.of === "ratio" || (aim.of === "nothing" && aim.show === "ratio")
  const compared = asRatio ? `${ratio.toFixed(2)}x` : signed(difference)
  const cells = [name, duration(ours), duration(bare), compared]
  if (aim.of === "nothing") return [...cells, "-", "-"]
  const [value, wanted] = {
    ours: [ours, `ours ${duration(aim.atMost)}`] as const,
    difference: [difference, signed(aim.atMost)] as const,
    ratio: [ratio, `${aim.atMost.toFixed(2)}x`] as const
  }[aim.of]
  return [...cells, wanted, value <= aim.atMost ? "met" : "missed"]
}

/** The rows as lines of aligned columns. */
export const table = (rows: ReadonlyArray<Row>): string => {
  const lines = [["name", "ours", "bare", "compared", "aim", ""], ...rows.map(shown)]
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((cells) => cells[column]!.length)))
  const isText = (column: number): boolean => column === 0 || column === widths.length - 1
  return lines
    .map((cells) =>
      cells
        .map((cell, column) => (isText(column) ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)))
        .join("  ")
        .trimEnd()
    )
    .join("\n")
}
