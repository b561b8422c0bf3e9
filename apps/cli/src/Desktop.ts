/** The desktop of whoever runs a command, where there is one. */
import { spawn } from "node:child_process"
import * as Effect from "effect/Effect"

/** The program that opens an address there. */
const opener = (): string | undefined => {
  if (process.platform === "darwin") return "open"
  const hasDisplay = [process.env.DISPLAY, process.env.WAYLAND_DISPLAY].some(
    (name) => name !== undefined && name !== ""
  )
  return hasDisplay ? "xdg-open" : undefined
}

/** How long it may take to say that it cannot. */
const patience = "3 seconds"

/** Opens an address in the browser; false where there is no desktop, or its opener fails at once. */
export const open = (url: string): Effect.Effect<boolean> =>
  Effect.suspend(() => {
    const program = opener()
    if (program === undefined) return Effect.succeed(false)
    return Effect.async<boolean>((resume) => {
      const child = spawn(program, [url], { detached: true, stdio: "ignore" })
      child.once("error", () => resume(Effect.succeed(false)))
      child.once("exit", (code) => resume(Effect.succeed(code === 0)))
      // A browser that it starts may stay its child.
      child.unref()
    }).pipe(Effect.timeoutTo({ duration: patience, onTimeout: () => true, onSuccess: (is) => is }))
  })
