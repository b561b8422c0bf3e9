import { assert, describe, it } from "@effect/vitest"
import { type AuditEntry, AuditTrail } from "@scv/core"
import * as FastCheck from "effect/FastCheck"

type Entry = AuditEntry.AuditEntry

const common = (session: string, serial: number) => ({
  v: 1 as const,
  time: "2025-01-31T00:00:00.000Z",
  session,
  serial
})

const start = (serial: number, session = "s"): Entry => ({
  ...common(session, serial),
  entry: "start",
  call_id: `id ${serial}`,
  tool: "echo",
  surface: "test",
  pid: 1,
  workspace: "/w",
  policy: "on-risk",
  assume_yes: false
})

const plan = (serial: number, text: string, by?: string): Entry => ({
  ...common("s", serial),
  entry: "plan",
  risk: "process",
  plan: { text },
  digest: text,
  ...(by === undefined ? {} : { decision: { decision: "approve", by } })
})

const answer = (serial: number): Entry => ({
  ...common("s", serial),
  entry: "decision",
  decision: { decision: "approve", by: "a person" }
})

const end = (serial: number, session = "s"): Entry => ({
  ...common(session, serial),
  entry: "end",
  status: "completed",
  result: { bytes: 1 },
  duration_ms: 5
})

describe("the joiner", () => {
  it("makes one record of the entries of a call", () => {
    const { push } = AuditTrail.joiner(1000)
    for (const entry of [start(1), start(2), plan(1, "a"), answer(1)]) assert.deepStrictEqual(push(entry, 1), [])
    assert.deepStrictEqual(push(end(1), 1), [
      {
        time: "2025-01-31T00:00:00.000Z",
        session: "s",
        serial: 1,
        call_id: "id 1",
        tool: "echo",
        surface: "test",
        pid: 1,
        workspace: "/w",
        policy: "on-risk",
        assume_yes: false,
        risk: "process",
        plan: { text: "a" },
        digest: "a",
        decision: { decision: "approve", by: "a person" },
        status: "completed",
        result: { bytes: 1 },
        duration_ms: 5
      }
    ])
  })

  it("takes the last plan of a call, and no decision about an earlier one", () => {
    const { end: rest, push } = AuditTrail.joiner(1000)
    for (const entry of [start(1), plan(1, "a", "policy"), plan(1, "b")]) push(entry, 1)
    const [record] = rest()
    assert.deepInclude(record, { plan: { text: "b" }, status: "unfinished" })
    assert.isUndefined(record?.decision)
  })

  it("shows an end whose beginning is not kept any more", () => {
    assert.deepStrictEqual(AuditTrail.joiner(1000).push(end(9), 1), [
      { session: "s", serial: 9, status: "completed", result: { bytes: 1 }, duration_ms: 5 }
    ])
  })

  it("gives up the oldest of the unfinished where they become too many", () => {
    const { end: rest, push } = AuditTrail.joiner(25)
    assert.deepStrictEqual(push(start(1), 10), [])
    assert.deepStrictEqual(push(start(2), 10), [])
    assert.deepStrictEqual(
      push(start(3), 10).map(({ serial, status }) => [serial, status]),
      [[1, "unfinished"]]
    )
    assert.deepStrictEqual(
      rest().map(({ serial }) => serial),
      [2, 3]
    )
  })

  it.prop(
    "gives each call once, however the calls of sessions are mixed",
    {
      order: FastCheck.array(
        FastCheck.record({ session: FastCheck.constantFrom("s", "t", "1 s"), serial: FastCheck.nat(3) })
      )
    },
    ({ order }) => {
      const { end: rest, push } = AuditTrail.joiner(Number.POSITIVE_INFINITY)
      const begun = new Set<string>()
      const ended = new Set<string>()
      const records: Array<AuditTrail.AuditRecord> = []
      for (const { serial, session } of order) {
        const key = `${session}/${serial}`
        if (ended.has(key)) continue
        records.push(...push(begun.has(key) ? end(serial, session) : start(serial, session), 1))
        ;(begun.has(key) ? ended : begun).add(key)
      }
      records.push(...rest())
      const statusOf = (key: string) => (ended.has(key) ? "completed" : "unfinished")
      assert.sameDeepMembers(
        records.map(({ call_id, serial, session, status }) => [`${session}/${serial}`, call_id, status]),
        [...begun].map((key) => [key, `id ${key.split("/")[1]}`, statusOf(key)])
      )
    }
  )
})
