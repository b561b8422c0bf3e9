import { open } from "@scv/runtime/promise"

const scv = await open({ workspace: process.argv[2]!, approve: () => true })
const { status } = await scv.call("bash", { command: "echo hi" })
process.stdout.write(`${status}\n`)
await scv.close()
process.stdout.write("closed\n")
