/** Requests to the daemon. */

/** What the daemon refused, or why it was not reached (status 0). */
export class Refusal extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** What to tell of a request that came to nothing. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** While it is not known who answers, nothing is asked: the browser would send its cookie along. */
let isOpen = false

export const setOpen = (is: boolean): void => {
  isOpen = is
}

/** Asks, and gives the JSON of the answer. Throws a {@link Refusal}. */
export const ask = async <Answer>(
  path: string,
  { body, method }: { readonly method?: string; readonly body?: unknown } = {}
): Promise<Answer> => {
  if (!isOpen) throw new Refusal(0, "the page is not live")
  const post = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }
  let response: Response
  try {
    response = await fetch(path, body === undefined ? { method: method ?? "GET" } : post)
  } catch {
    throw new Refusal(0, "the daemon does not answer")
  }
  const answer = await response.json().catch(() => undefined)
  if (!response.ok) {
    throw new Refusal(response.status, answer?.error?.message ?? `the daemon answers ${response.status}`)
  }
  return answer
}

/** The path of an endpoint, each piece escaped. */
export const path = (...pieces: ReadonlyArray<string>): string => `/v1/${pieces.map(encodeURIComponent).join("/")}`
