/** The output of a child, taken as it comes. */

import * as fs from "node:fs"
import * as net from "node:net"
import type { Fifo } from "./fifo.ts"

/** Bytes of one read. */
const readSize = 65_536

/** Buffers that no run uses just now: fresh ones would cost each run a part of its time. */
const spare: Array<Buffer> = []

/** Takes what comes out of a FIFO, through one buffer that is used again and again. */
export const readFifo = ({ readEnd }: Fifo, onOutput: (bytes: Uint8Array) => void) => {
  const buffer = spare.pop() ?? Buffer.allocUnsafeSlow(readSize)
  const socket = new net.Socket({
    fd: readEnd,
    readable: true,
    writable: false,
    onread: {
      buffer,
      callback: (count: number) => {
        onOutput(buffer.subarray(0, count))
        return true
      }
    }
  } as net.SocketConstructorOpts)
  socket.once("close", () => spare.push(buffer))
  return {
    socket,
    /**
     * Takes what can be read without waiting: all that an ended leader wrote. Answers whether that was the end: nobody
     * holds the output open any more.
     */
    takeRest: (): boolean => {
      // A destroyed socket's number may belong to another file by now.
      if (socket.destroyed) return true
      const rest = spare.pop() ?? Buffer.allocUnsafeSlow(readSize)
      try {
        for (let taken = 0; taken < 16 * readSize; ) {
          const count = fs.readSync(readEnd, rest, 0, rest.length, null)
          if (count === 0) return true
          onOutput(rest.subarray(0, count))
          taken += count
        }
      } catch {
        // EAGAIN: nothing more for now.
      } finally {
        spare.push(rest)
      }
      return false
    }
  }
}
