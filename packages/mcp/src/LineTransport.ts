/** JSON-RPC messages on lines, in the form that the protocol's server takes them. Source: MCP, "stdio". */
import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  ProtocolErrorCode,
  type RequestId,
  type Transport
} from "@modelcontextprotocol/server"
import { Display } from "@scv/core"

const parse = (line: string): unknown => {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

const isMessage = (value: unknown): value is JSONRPCMessage =>
  isJSONRPCRequest(value) ||
  isJSONRPCNotification(value) ||
  isJSONRPCResultResponse(value) ||
  isJSONRPCErrorResponse(value)

/** The id of what was meant as a request, where there is one to answer to. */
const requestIdOf = (value: unknown): RequestId | undefined => {
  if (typeof value !== "object" || value === null || "result" in value || "error" in value) return undefined
  const id = "id" in value ? value.id : undefined
  return typeof id === "string" || Number.isInteger(id) ? (id as RequestId) : undefined
}

const expected = "expected one JSON-RPC 2.0 message a line"

const refusal = (id: RequestId, message: string): JSONRPCMessage => ({
  jsonrpc: "2.0",
  id,
  error: { code: ProtocolErrorCode.InvalidRequest, message: `Invalid Request: ${message}` }
})

/** Why a request is refused whose id is that of another one. */
export const idInUse = (id: RequestId): string =>
  `the id ${Display.bounded(JSON.stringify(id), 60)} is that of a request that has not been answered yet`

export class LineTransport implements Transport {
  onmessage?: Transport["onmessage"]
  onclose?: () => void
  onerror?: (error: Error) => void

  readonly #write: (line: string) => Promise<void>
  readonly #onFault: (fault: string) => void
  readonly #unanswered = new Set<RequestId>()
  readonly #waiters = new Set<() => void>()
  #isClosed = false

  constructor(write: (line: string) => Promise<void>, onFault: (fault: string) => void) {
    this.#write = write
    this.#onFault = onFault
  }

  async start(): Promise<void> {}

  /** Takes a line that came in. One that is no message is reported, and answered where it has an id. */
  receive(line: string): void {
    if (line.trim() === "" || this.#isClosed) return
    const value = parse(line)
    if (!isMessage(value)) {
      this.#refuse(value)
      return
    }
    if (isJSONRPCRequest(value)) {
      // Two could be told apart no more: neither could be cancelled alone, and the answer of one would be taken for both.
      if (this.#unanswered.has(value.id)) {
        this.#onFault(idInUse(value.id))
        this.#put(refusal(value.id, idInUse(value.id))).catch(() => {})
        return
      }
      // It is answered when the connection ends.
      if (value.method !== "subscriptions/listen") this.#unanswered.add(value.id)
    } else if (isJSONRPCNotification(value) && value.method === "notifications/cancelled") {
      this.#settle(value.params?.requestId as RequestId)
    }
    this.onmessage?.(value)
  }

  async send(message: JSONRPCMessage): Promise<void> {
    await this.#put(message)
    if ((isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) && message.id !== undefined) {
      this.#settle(message.id)
    }
  }

  /** Calls back once every request that came is answered or cancelled. Returns how to stop waiting. */
  onceAnswered(callback: () => void): () => void {
    if (this.#unanswered.size === 0) callback()
    else this.#waiters.add(callback)
    return () => this.#waiters.delete(callback)
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.onclose?.()
  }

  async #put(message: JSONRPCMessage): Promise<void> {
    if (!this.#isClosed) await this.#write(`${JSON.stringify(message)}\n`)
  }

  #refuse(value: unknown): void {
    const fault = value === undefined ? "no JSON" : "something else"
    this.#onFault(`${expected}, got ${fault}`)
    const id = requestIdOf(value)
    if (id !== undefined) this.#put(refusal(id, expected)).catch(() => {})
  }

  #settle(id: RequestId): void {
    this.#unanswered.delete(id)
    if (this.#unanswered.size > 0) return
    const waiters = [...this.#waiters]
    this.#waiters.clear()
    for (const waiter of waiters) waiter()
  }
}
