import { assert, describe, it } from "@effect/vitest"
import { isSecretLike } from "../src/SecretLike.ts"

const secret = `
  .env .ENV .env.local .env.production sub/.env.local prod.env .ssh .ssh/config a/.ssh/b .gnupg/x .aws/credentials .kube/config
  .docker/config.json .netrc _netrc .npmrc .pypirc .git-credentials .pgpass .htpasswd id_rsa id_rsa.bak keys/id_ed25519 id_ecdsa
  id_dsa server.pem server.KEY a.p12 a.pfx a.jks a.kdbx credentials credentials.json my-credentials.yaml client_secret.json
  secrets.toml passwords.txt Password secret/secret.txt my_private_key.txt private_key.ts auth.json AUTH.JSON token.json secrets.md passwords.mdx credentials.html secrets.rst
  github-token-2.json tokens.old.json ./.env a/./.env .env/ .env.local.example
`

const plain = `
  .env.example .env.sample .env.template .env.dist environment.ts env .envrc.md sshd ssh/config id_rsa.pub id_ed25519.pub rsa.md
  a.pem.txt keyboard.ts monkey key secret.ts secrets.py password_test.go Credentials.java credentials.rs secret/readme.txt
  authentication.json oauth.json token.ts tokenizer.py README.md a.crt kube/config
`

const names = (list: string): ReadonlyArray<string> => list.trim().split(/\s+/)

describe("isSecretLike", () => {
  it("knows the names that tend to hold secrets, in any component and any case", () => {
    for (const name of names(secret)) assert.isTrue(isSecretLike(name), name)
  })

  it("looks through a line break in a name", () => {
    for (const name of ["\n.env", "a\n.env", "token\n.json", ".env.\nlocal"]) assert.isTrue(isSecretLike(name), name)
  })

  it("leaves look-alikes alone", () => {
    for (const name of names(plain)) assert.isFalse(isSecretLike(name), name)
  })
})
