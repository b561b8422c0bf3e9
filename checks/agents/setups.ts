/** How each agent is set up to ask the stand-in for its model, by files that a user would write. */
import * as fs from "node:fs"
import * as path from "node:path"
import type { Cli } from "./clis.ts"
import type { World } from "./world.ts"

/** The key that the service is to be asked with. */
export const key = "sk-of-the-private-home"

/** The token that a provider brings by itself. */
export const token = "token-of-a-provider"

export interface Setup {
  /** What leads the agent to the service, and signs nobody in. */
  readonly lead: (world: World, url: string) => void
  /** Sets it up whole; with `import`, in the user's own setup, from where that command is to copy it. */
  readonly write: (world: World, url: string) => void
  readonly isImported: boolean
  /** What `scv agents status` says of that. */
  readonly status: RegExp
  /** A model that the service is to be asked for, and an effort, both as they are selected and as they arrive. */
  readonly model: { readonly selected: string; readonly asked: string }
  readonly effort: { readonly selected: string; readonly asked: string }
}

/** The private home of an agent. */
export const privateHome = ({ scvHome }: World, agent: string): string => path.join(scvHome, "adapters", agent)

const write = (directory: string, name: string, text: string): void => {
  fs.mkdirSync(directory, { recursive: true, mode: 0o700 })
  fs.writeFileSync(path.join(directory, name), text)
}

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

export const setups: Readonly<Record<Cli["agent"], Setup>> = {
  codex: {
    lead: (world, url) => write(privateHome(world, "codex"), "config.toml", `openai_base_url = "${url}/v1"\n`),
    write: ({ setup }, url) => {
      const config = `
model = "some-model"
model_provider = "relay"
check_for_update_on_startup = false

[features]
plugins = false

[model_providers.relay]
name = "A relay"
base_url = "${url}/v1"
wire_api = "responses"
requires_openai_auth = true
`
      write(setup, "config.toml", config)
      write(setup, "auth.json", json({ OPENAI_API_KEY: key }))
    },
    isImported: true,
    status: /^codex +signed in with an API key$/,
    model: { selected: "another-model", asked: "another-model" },
    effort: { selected: "high", asked: "high" }
  },
  claude: {
    lead: () => {},
    write: (world, url) => {
      const env = {
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_AUTH_TOKEN: key,
        // A refusal is otherwise asked about again for minutes.
        CLAUDE_CODE_MAX_RETRIES: "1",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1"
      }
      const settings = json({ env, permissions: { allow: ["Bash"] } })
      write(path.join(privateHome(world, "claude"), ".claude"), "settings.json", settings)
    },
    isImported: false,
    status: /^claude +signed in/,
    model: { selected: "another-model", asked: "another-model" },
    effort: { selected: "high", asked: "high" }
  },
  pi: {
    lead: () => {},
    write: (world, url) => {
      const model = (id: string) => ({ id, reasoning: true })
      const relay = {
        baseUrl: `${url}/v1`,
        api: "openai-completions",
        apiKey: key,
        models: [model("some-model"), model("another-model")]
      }
      write(path.join(privateHome(world, "pi"), ".pi/agent"), "models.json", json({ providers: { relay } }))
      const templates = 'model_args = ["--model", "{model}"]\neffort_args = ["--thinking", "{effort}"]\n'
      write(world.scvHome, "config.toml", `[agents.pi]\n${templates}`)
    },
    isImported: false,
    status: /^pi +signed in/,
    model: { selected: "relay/another-model", asked: "another-model" },
    effort: { selected: "high", asked: "high" }
  }
}
