/**
 * Whether what answers is the daemon that this page is of. While that is stopped its port is free for anybody, and a
 * browser would hand the cookie to whoever took it; so it is asked without one first.
 */

export type Identity = "the same" | "another" | "silent"

const hex = (bytes: Uint8Array): string => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("")

let key: CryptoKey | undefined

/** Asks for the key that the daemon proves itself by. The browser has just had this page from there. */
const learn = async (): Promise<void> => {
  const response = await fetch("/page/key")
  if (!response.ok) return
  const raw = new TextEncoder().encode(await response.text())
  key = await crypto.subtle.importKey("raw", raw, { name: "HMAC", hash: "SHA-256" }, false, ["sign"])
}

export const identify = async (): Promise<Identity> => {
  try {
    if (key === undefined) {
      await learn()
      return "the same"
    }
    const nonce = hex(crypto.getRandomValues(new Uint8Array(16)))
    const response = await fetch(`/page/proof?nonce=${nonce}`, {
      credentials: "omit",
      signal: AbortSignal.timeout(5000)
    })
    const message = new TextEncoder().encode(`${location.host}\n${nonce}`)
    const proof = hex(new Uint8Array(await crypto.subtle.sign("HMAC", key, message)))
    return (await response.text()) === proof ? "the same" : "another"
  } catch {
    return "silent"
  }
}
