/**
 * Names that tend to hold secrets. The heuristic makes a read of them visible to a person; it keeps nothing
 * confidential. Source: spec, "`read`"; design, "Small decisions".
 */

const names = new Set([
  ".env",
  ".ssh",
  ".gnupg",
  ".aws",
  ".kube",
  ".docker",
  ".netrc",
  "_netrc",
  ".npmrc",
  ".pypirc",
  ".git-credentials",
  ".pgpass",
  ".htpasswd",
  "auth.json"
])

const patterns = [
  /^\.env\.(?!(?:example|sample|template|dist)$)/s,
  /.\.env$/s,
  /^id_(?:rsa|dsa|ecdsa|ed25519)(?!.*\.pub$)/s,
  /\.(?:pem|key|p12|pfx|jks|kdbx)$/,
  /private_key/,
  /token.*\.json$/s
]

/** Words that make a file secret-like, unless it is source code that merely deals with such things. */
const words = /credential|secret|password/

const sourceCode = new Set(
  (
    "ada asm bash bat c cc cjs clj cljs cmake coffee cpp cs css cts cxx d dart elm erl ex exs f90 fs go gradle groovy " +
    "h hh hpp hrl hs hxx java jl js jsx kt kts less lisp lua m mjs ml mli mm mts nim nix pas php pl pm " +
    "proto ps1 py pyi r rb rs sass scala scm scss sh sol sql svelte swift tcl tf ts tsx v vb vhd vue zig zsh"
  ).split(" ")
)

const isSecretName = (name: string, isLast: boolean): boolean => {
  const lower = name.toLowerCase()
  if (names.has(lower) || patterns.some((pattern) => pattern.test(lower))) return true
  return isLast && words.test(lower) && !sourceCode.has(lower.slice(lower.lastIndexOf(".") + 1))
}

/** Whether any component of a path is a name that tends to hold secrets, whatever its case. */
export const isSecretLike = (path: string): boolean => {
  const components = path.split("/").filter((name) => name !== "" && name !== ".")
  return components.some((name, index) => isSecretName(name, index === components.length - 1))
}
