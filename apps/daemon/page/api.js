// Requests to the daemon.

/** What the daemon refused, or why it was not reached. */
export class Refusal extends Error {
  constructor(status, message) {
    super(message)
    this.status = status
  }
}

/** Asks and gives the JSON of the answer; throws a Refusal. */
export const ask = async (path, { method = "GET", body } = {}) => {
  let response
  try {
    response = await fetch(path, {
      method,
      ...(body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) })
    })
  } catch {
    throw new Refusal(0, "the daemon does not answer")
  }
  const answer = await response.json().catch(() => ({}))
  if (!response.ok) throw new Refusal(response.status, answer.error?.message ?? `the daemon answers ${response.status}`)
  return answer
}

/** The path of an endpoint, each piece escaped. */
export const path = (...pieces) => `/v1/${pieces.map(encodeURIComponent).join("/")}`
