/** What `--help` prints. One text a command, written to be read at a terminal by somebody who has never used it. */

import { agents as known } from "@scv/agents"

const names = known.map(({ name }) => name).join(", ")

const importable = known.flatMap(({ importer, name }) => (importer === undefined ? [] : [name])).join(", ")

const root = `scv: the hands of an AI agent. It validates a tool call, shows what would be done, asks where that is
needed, runs it within bounds, and leaves nothing behind.

Usage: scv COMMAND [OPTIONS]

Commands:
  call TOOL [INPUT]   make one call and print its answer, one line of JSON
  tools               list the tools
  session             serve calls over JSON lines on stdin and stdout
  mcp                 serve the tools to an MCP client on stdin and stdout
  agents              see to the sign-ins of the agents that can be delegated to
  skills              list the skills, and what is wrong with the others
  audit               show the record of all calls
  config              show what is configured and where it comes from
  doctor              tell what this machine has and lacks
  completions SHELL   print a completion script for bash, zsh or fish

With the daemon, which keeps sessions and asks in one place:
  daemon              start and stop it, tell how it is, and open its page
  sessions            list its sessions and their calls
  approvals           list the questions that wait for an answer
  approve ID          approve a question
  deny ID             deny a question
  cancel ID           cancel a call
  watch               show what happens, and answer questions by a key

Try:
  scv tools
  scv call read '{"path":"README.md"}'
  scv COMMAND --help
  scv --version

SCV is not a sandbox: what you approve runs with your own power.
`

const call = `Make one tool call and print its answer, one line of JSON, on stdout.

Usage: scv call TOOL [INPUT] [OPTIONS]

  TOOL              a name from \`scv tools\`
  INPUT             the input, a JSON object; - reads it from stdin; default {}

Options:
  --workspace DIR   the directory to work in; default: the current one
  --policy POLICY   what to ask about: on-risk (all but read_only calls), always, or never (ask nobody and deny
                    all but read_only calls); default: the configured one, else on-risk
  --yes             answer every question with yes; does not turn \`never\` into yes
  --daemon          make the call in the daemon; its question waits there too, for \`scv approve\` or \`scv watch\`

Without --yes the question is asked at the terminal. Where there is none, it is denied; with --daemon it waits.
Ctrl-C cancels the call; a second one ends what is left of it at once.

Exit codes: 0 completed, 1 failed, 2 invalid, 3 denied, 124 timed out, 130 cancelled

Try:
  scv call read '{"path":"README.md","limit":200}'
  echo '{"path":"README.md"}' | scv call read - --workspace ~/project
`

const tools = `List the tools: name, risk, description, and why one is not available here.

Usage: scv tools [OPTIONS]

Options:
  --json            print JSON, with the schemas of input and output
  --workspace DIR   the directory to work in; default: the current one
`

const session = `Serve calls over JSON lines: one object a line on stdin, one object a line on stdout.

Usage: scv session [OPTIONS]

Options:
  --workspace DIR   the directory to work in; default: the current one
  --policy POLICY   what to ask about: on-risk, always or never; default: the configured one, else on-risk
  --yes             answer every question with yes; does not turn \`never\` into yes

It takes:
  {"type":"call","id":"a","tool":"read","input":{"path":"README.md"}}
  {"type":"cancel","id":"a"}
  {"type":"approve","approval_id":"a-1"}   or "deny", with "reason" if you like
  {"type":"tools"}

It writes {"type":"event","seq":1,"event":...,"id":"a",...} as a call goes on: proposed, approval_requested,
approval_resolved, started, progress, and completed, which carries the answer as "result".
At the end of the input the calls that wait are finished, and a question is denied.
`

const mcp = `Serve the tools over the Model Context Protocol on stdin and stdout, for a client to start.

Usage: scv mcp [OPTIONS]

Options:
  --workspace DIR   the directory to work in; default: the current one
  --policy POLICY   what to ask about: on-risk, always or never; default: the configured one, else on-risk
  --yes             answer every question with yes; does not turn \`never\` into yes
  --daemon          make the calls in the daemon; a question waits in its list too, and the first answer wins

The client asks its user (elicitation). One that cannot is answered that the call was denied, and how to allow it; with
--daemon its question waits in the list alone: see scv approvals.
At the end of the input, what is still running is cancelled and cleaned up.

Try:
  claude mcp add scv -- scv mcp --workspace ~/project
`

const agents = `See to the sign-ins of the agents that SCV delegates to (${names}). Each has a private home
below $SCV_HOME/adapters, apart from your own sign-in.

Usage: scv agents status [NAME] [--json]
       scv agents login NAME [-- ARGUMENTS...]
       scv agents logout NAME
       scv agents import NAME [--from DIR]

  status            tell which are signed in; with a NAME, exits 1 where that one is not
  login, logout     run the agent's own command at this terminal; exits as that does
  import            copy your own setup of an agent that can be set up without a sign-in (${importable}); run it again
                    after you change that

Try:
  scv agents status
  scv agents login codex -- --device-auth
  scv agents import codex
`

const skills = `List every skill folder: offered, shadowed by another one of its name, or refused, and why.

Usage: scv skills [OPTIONS]

Options:
  --json            print JSON, with all names, paths and roots
  --workspace DIR   the directory to work in; default: the current one

A skill is a folder with a SKILL.md that begins with a name and a description. Skills are looked for in the workspace's
.scv/skills, in your own $SCV_HOME/skills, and, where an agent can be delegated to, in .agents/skills and .claude/skills
of the workspace and of the folders in it. Where two have one name, the first wins.

Try:
  scv call read_skill '{"name":"NAME"}'
`

const audit = `Show the record of all calls, one line a call, the newest end last.

Usage: scv audit [OPTIONS]

Options:
  --session ID      only calls of this session
  --tool NAME       only calls of this tool
  --day YYYY-MM-DD  only calls that came in on this day, by the local time of this machine (see TZ)
  --status STATUS   only calls that ended so: completed, failed, invalid, denied, timed_out or cancelled; or
                    unfinished: no end is recorded, so it still runs or its process was killed
  --json            print JSON, one object a line, with all that is recorded; times are UTC

A line shows local time, status, tool, session and number of the call in it, duration, who decided what, and the plan.
What is written to files is recorded by size and hash only, and what tools answer by size.

Try:
  scv audit --day "$(date +%F)" --status denied
  scv audit --json | tail -n 1
`

const config = `Show what is configured and where it comes from.

Usage: scv config show [--json] [--workspace DIR]
       scv config path
       scv config init

  show              each key, its value, and the file and line that it comes from; what was ignored, and why
  path              the path of your own file, $SCV_HOME/config.toml (SCV_HOME is ~/.scv unless it is set)
  init              write a commented example there; an existing file is left as it is

Later ones win: the defaults, your own file, the workspace's .scv/config.toml, the file that SCV_CONFIG names, options.
A workspace's file may only make limits tighter and the approval policy stricter.
`

const doctor = `Tell what this machine has and lacks, each with the mend. Exits 1 where something is missing.

Usage: scv doctor [--json]
`

const completions = `Print a completion script.

Usage: scv completions bash|zsh|fish

Try:
  source <(scv completions bash)
  source <(scv completions zsh)
  scv completions fish | source
`

const daemon = `Start and stop the daemon, tell how it is, and open its page.

Usage: scv daemon start [--listen 127.0.0.1:PORT] [--json]
       scv daemon stop [--now]
       scv daemon status [--json]
       scv daemon open [--json]
       scv daemon unit [--listen 127.0.0.1:PORT]

  start             start it in the background, and wait until it answers
  stop              cancel its calls and end it; --now ends at once what runs
  status            tell whether it runs; exits 1 where it does not
  open              give an address of its page, good once and for a minute, and open it where there is a desktop;
                    on the page you watch, decide, and search the record
  unit              print a systemd user unit: scv daemon unit > ~/.config/systemd/user/scvd.service
  --listen ADDRESS  listen on loopback TCP too; clients need the token in $SCV_HOME/state/token; port 0 picks one

Its socket is $SCV_HOME/state/scvd.sock, for you alone, and its log is scvd.log beside it.
`

const sessions = `List the daemon's sessions, each with the calls that have not ended.

Usage: scv sessions [--json]
`

const approvals = `List the questions that wait for an answer, each with what would be done.

Usage: scv approvals [--json]
`

const approve = `Approve a question that waits in the daemon. The first answer wins.

Usage: scv approve ID [--reason TEXT] [--json]

  ID                the question, from \`scv approvals\`
  --reason TEXT     why, for the record
`

const deny = `Deny a question that waits in the daemon. The first answer wins.

Usage: scv deny ID [--reason TEXT] [--json]

  ID                the question, from \`scv approvals\`
  --reason TEXT     why; the caller is told
`

const cancel = `Cancel a call of the daemon's. A second time ends at once what is left of it.

Usage: scv cancel ID [--json]

  ID                the call, from \`scv sessions\`
`

const watch = `Show what happens in the daemon as it happens, pending questions first.

Usage: scv watch [--json]

At a terminal y approves the question that is shown and n denies it; q leaves. A key that is pressed within 0.3 s after
a question has come up is no answer to it. --json prints the events, one a line.
`

const texts: Record<string, string> = {
  call,
  tools,
  session,
  mcp,
  agents,
  skills,
  audit,
  daemon,
  sessions,
  approvals,
  approve,
  deny,
  cancel,
  watch,
  config,
  doctor,
  completions
}

/** The help for a command, or the first page where there is no such command. */
export const helpFor = (command: string | undefined): string =>
  command !== undefined && Object.hasOwn(texts, command) ? texts[command]! : root

/** The command's name and a space where it has help of its own, else nothing: `scv call --help`, `scv --help`. */
export const helpTopic = (command: string | undefined): string =>
  command !== undefined && Object.hasOwn(texts, command) ? `${command} ` : ""

/** Whether a command does nothing by itself: it only has commands below it. */
export const isGroup = (command: string | undefined): boolean =>
  command !== undefined && ["config", "agents", "daemon"].includes(command)
