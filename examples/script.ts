// A script without Effect. Run: npx tsx examples/script.ts
import { open } from "@scv/runtime/promise"

const scv = await open({
  workspace: ".",
  approve: (question) => question.tool === "bash"
})
try {
  console.log(await scv.call("read", { path: "package.json", limit: 40 }))
  console.log(await scv.call("bash", { command: "sleep 60" }, { signal: AbortSignal.timeout(500) }))
} finally {
  await scv.close()
}
