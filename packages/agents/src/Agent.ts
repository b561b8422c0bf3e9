/** What SCV knows of an agent's command line. Everything that differs between agents is here, and nowhere else. */
import type { Importer } from "./Importer.ts"

/** What stands for the selected value in `modelArgs` and `effortArgs`. */
export const modelPlaceholder = "{model}"

export const effortPlaceholder = "{effort}"

/** What an agent's own report says of its sign-in. */
export interface SignInState {
  readonly isSignedIn: boolean
  /** How, in a word of ours: never an account, never a key. */
  readonly how?: string
}

/** How an agent's sign-in is seen to. */
export interface SignIn {
  /** The arguments that sign in at the terminal; with `advice`, what the person is told before it opens. */
  readonly login: { readonly args: ReadonlyArray<string>; readonly advice?: string }
  readonly logout: { readonly args: ReadonlyArray<string>; readonly advice?: string }
  readonly status:
    | {
        /** Arguments of a command that exits with 0 where the agent is signed in, and with 1 where it is not. */
        readonly args: ReadonlyArray<string>
        /** The way of the sign-in, from the command's output. */
        readonly how: (output: string) => string | undefined
        /** Output of a command that exits with 1 for it could not tell. */
        readonly broken?: RegExp
      }
    | {
        /** A file below the private home, where the agent has no such command. */
        readonly file: string
        /** What its content says. */
        readonly read: (content: string) => SignInState
      }
  /** A file below the private home in which a user may set a credential up, of which no sign-in and no report knows. */
  readonly setup?: {
    readonly file: string
    /** What its content says. */
    readonly read: (content: string) => SignInState
  }
  /** What an agent prints that fails for want of a sign-in. */
  readonly missing: ReadonlyArray<RegExp>
}

/** What a failure that reads like this one is helped by. */
export interface Remedy {
  readonly pattern: RegExp
  readonly hint: string
}

export interface Agent {
  /** Names the tool (`agent_NAME`), the section of the configuration, and the private home. */
  readonly name: string
  /** What people call it. */
  readonly title: string
  /** The executable. */
  readonly command: string
  /** What every call begins with: the words that make it answer one prompt and exit. */
  readonly args: ReadonlyArray<string>
  /** Other words that do what the first of `args` does, by which it is known in arguments that a user configures. */
  readonly aliases: ReadonlyArray<string>
  /** The arguments that select a model; without any, none can be selected. */
  readonly modelArgs: ReadonlyArray<string>
  readonly effortArgs: ReadonlyArray<string>
  /** Variables that name its state directories, by path below the private home; `.` is the home itself. */
  readonly directories: Readonly<Record<string, string>>
  /** Why its command line would take a prompt for something else; undefined where it would not. */
  readonly misreads: (prompt: string) => string | undefined
  /** Files and folders of a repository that it obeys without asking. */
  readonly obeys: ReadonlyArray<string>
  readonly signIn: SignIn
  readonly remedies: ReadonlyArray<Remedy>
  /** Copies the user's own setup, for an agent that can be set up without a sign-in. */
  readonly importer?: Importer
}
