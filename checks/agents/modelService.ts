/**
 * A stand-in for the services that the agents' models run at: on loopback, with as much of three protocols as the agents
 * need to take an answer. Codex speaks OpenAI's Responses, pi chat completions, Claude Code Anthropic's Messages.
 */
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** What the service does with every request. */
export type Behaviour =
  | { readonly does: "answer"; readonly text: string }
  /**
   * Asks for a command to be run, by the agent's own tool, or by the `bash` of an MCP server that Codex has; once its output
   * is sent it answers with a text, or is silent where there is none.
   */
  | { readonly does: "run"; readonly command: string; readonly text: string | undefined; readonly server?: string }
  | { readonly does: "refuse" }
  | { readonly does: "stay silent" }

/** What a request for an answer said. */
export interface Asked {
  readonly model: unknown
  readonly effort: unknown
  /** The key or token, undefined without one. */
  readonly credential: string | undefined
  /** The whole body. */
  readonly text: string
}

export interface ModelService {
  /** The address, without a slash at its end. */
  readonly url: string
  /** Changes what it does, and forgets what was asked. */
  readonly behave: (behaviour: Behaviour) => void
  /** The requests since then. */
  readonly asked: ReadonlyArray<Asked>
  /** Every key that it was ever asked with, an upgrade's too. */
  readonly credentials: () => ReadonlyArray<string>
}

type Json = Readonly<Record<string, unknown>>

/** What the service says: a text, or a command with the id of the request for it. */
type Said =
  | { readonly text: string }
  | { readonly command: string; readonly id: string; readonly server: string | undefined }

interface Protocol {
  readonly path: string
  readonly effort: (body: Json) => unknown
  /** The events of an answer, in order. */
  readonly events: (said: Said, id: string, model: unknown) => ReadonlyArray<Json>
  /** What follows the last event. */
  readonly end: string
  /** The body of a refused request. */
  readonly refusal: Json
}

const member = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? (value as Json)[name] : undefined

const openAiRefusal = { error: { message: "Incorrect API key provided", type: "invalid_request_error" } }

// Source: OpenAI API reference, "Responses", "Streaming events".
const responses: Protocol = {
  path: "/responses",
  effort: ({ reasoning }) => member(reasoning, "effort"),
  events: (said, id, model) => {
    const response = { id, object: "response", model, output: [] }
    const item =
      "text" in said
        ? {
            type: "message",
            id: `${id}_item`,
            role: "assistant",
            status: "completed",
            content: [{ type: "output_text", text: said.text, annotations: [] }]
          }
        : {
            type: "function_call",
            id: `${id}_item`,
            call_id: said.id,
            ...(said.server === undefined
              ? { name: "exec_command", arguments: JSON.stringify({ cmd: said.command }) }
              : {
                  namespace: `mcp__${said.server}`,
                  name: "bash",
                  arguments: JSON.stringify({ command: said.command })
                })
          }
    const usage = {
      input_tokens: 1,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 1,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 2
    }
    return [
      { type: "response.created", response },
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response: { ...response, status: "completed", output: [item], usage } }
    ]
  },
  end: "",
  refusal: openAiRefusal
}

// Source: OpenAI API reference, "Chat", "Streaming".
const chat: Protocol = {
  path: "/chat/completions",
  effort: ({ reasoning_effort }) => reasoning_effort,
  events: (said, id, model) => {
    const chunk = (delta: Json, finish_reason: string | null = null) => ({
      id,
      object: "chat.completion.chunk",
      model,
      choices: [{ index: 0, delta, finish_reason }]
    })
    if ("text" in said) return [chunk({ role: "assistant", content: said.text }), chunk({}, "stop")]
    const call = { name: "bash", arguments: JSON.stringify({ command: said.command }) }
    return [
      chunk({ role: "assistant", tool_calls: [{ index: 0, id: said.id, type: "function", function: call }] }),
      chunk({}, "tool_calls")
    ]
  },
  end: "data: [DONE]\n\n",
  refusal: openAiRefusal
}

// Source: Anthropic API reference, "Messages", "Streaming".
const messages: Protocol = {
  path: "/messages",
  effort: ({ output_config }) => member(output_config, "effort"),
  events: (said, id, model) => {
    const usage = { input_tokens: 1, output_tokens: 1 }
    const [block, delta, stop_reason] =
      "text" in said
        ? [{ type: "text", text: "" }, { type: "text_delta", text: said.text }, "end_turn"]
        : [
            { type: "tool_use", id: said.id, name: "Bash", input: {} },
            {
              type: "input_json_delta",
              partial_json: JSON.stringify({ command: said.command, description: "Runs it" })
            },
            "tool_use"
          ]
    return [
      {
        type: "message_start",
        message: { id, type: "message", role: "assistant", model, content: [], stop_reason: null, usage }
      },
      { type: "content_block_start", index: 0, content_block: block },
      { type: "content_block_delta", index: 0, delta },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage },
      { type: "message_stop" }
    ]
  },
  end: "",
  refusal: { type: "error", error: { type: "authentication_error", message: "invalid x-api-key" } }
}

const protocols = [responses, chat, messages]

/** An event as server-sent events have it, named by its type where it has one. */
const framed = (event: Json): string => {
  const name = typeof event.type === "string" ? `event: ${event.type}\n` : ""
  return `${name}data: ${JSON.stringify(event)}\n\n`
}

const bodyOf = (text: string): Json => {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

/** Starts the service; it ends with the scope. */
export const start: Effect.Effect<ModelService, never, Scope.Scope> = Effect.gen(function* () {
  let behaviour: Behaviour = { does: "refuse" }
  let asked: Array<Asked> = []
  let count = 0
  const credentials = new Set<string>()

  const credentialOf = ({ headers }: http.IncomingMessage): string | undefined => {
    const { authorization, "x-api-key": key } = headers
    const credential = typeof key === "string" ? key : authorization?.replace(/^Bearer /i, "")
    if (credential !== undefined) credentials.add(credential)
    return credential
  }

  const answer = (request: http.IncomingMessage, text: string, response: http.ServerResponse): void => {
    const path = (request.url ?? "").replace(/\?.*$/, "")
    const protocol = protocols.find((one) => request.method === "POST" && path.endsWith(one.path))
    const json = (status: number, body: Json) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
    if (protocol === undefined) return void json(404, { error: { message: "not found" } })
    const body = bodyOf(text)
    asked.push({
      model: body.model,
      effort: protocol.effort(body),
      credential: credentialOf(request),
      text
    })
    if (behaviour.does === "stay silent") return
    if (behaviour.does === "refuse") return void json(401, protocol.refusal)
    // Output that is sent back names the id of the request that led to it.
    const id = "call_0"
    const said: Said | undefined =
      behaviour.does === "run" && !text.includes(`"${id}"`)
        ? { command: behaviour.command, id, server: behaviour.server }
        : behaviour.text === undefined
          ? undefined
          : { text: behaviour.text }
    if (said === undefined) return
    const events = protocol.events(said, `answer_${++count}`, body.model)
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.end(events.map(framed).join("") + protocol.end)
  }

  const server = http.createServer((request, response) => {
    const parts: Array<Buffer> = []
    request.on("data", (part: Buffer) => parts.push(part))
    request.on("end", () => answer(request, Buffer.concat(parts).toString("utf8"), response))
  })
  // Codex asks for a WebSocket first.
  server.on("upgrade", (request, socket) => {
    credentialOf(request)
    const status = behaviour.does === "refuse" ? "401 Unauthorized" : "404 Not Found"
    socket.on("error", () => {})
    socket.end(`HTTP/1.1 ${status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`)
  })
  yield* Effect.acquireRelease(
    Effect.async<void>((resume) => {
      server.listen(0, "127.0.0.1", () => resume(Effect.void))
    }),
    () =>
      Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    behave: (next) => {
      behaviour = next
      asked = []
    },
    get asked() {
      return asked
    },
    credentials: () => [...credentials]
  }
})
