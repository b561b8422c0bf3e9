/**
 * How much of a plan and of an output the audit log keeps. Their schemas say it: a part of a plan is kept as it is unless
 * it is marked {@link byDigest}, a text of an output is kept by its size alone unless it is marked {@link whole}.
 */
import type * as Schema from "effect/Schema"
import type * as AST from "effect/SchemaAST"
import type { Json, JsonObject } from "./Json.ts"
import * as Utf8 from "./Utf8.ts"

const mark = Symbol.for("@scv/core/Recorded")

type Mark = "digest" | "whole"

const marked = <S extends Schema.Annotable.All>(schema: S, how: Mark): Schema.Annotable.Self<S> =>
  schema.annotations({ [mark]: how })

/** Marks a part of a plan that is kept by size and SHA-256 alone: the content of files, and what may hold secrets. */
export const byDigest = <S extends Schema.Annotable.All>(schema: S): Schema.Annotable.Self<S> =>
  marked(schema, "digest")

/** Marks a field of an output that is kept as it is: a name, a digest, a signal; never what a file or a program says. */
export const whole = <S extends Schema.Annotable.All>(schema: S): Schema.Annotable.Self<S> => marked(schema, "whole")

const has = ({ annotations }: AST.Annotated, how: Mark): boolean => annotations[mark] === how

type Sha256 = (text: string) => string

/** What stands for a value that is not kept: of a text, the bytes of its UTF-8; of anything else, those of its JSON. */
export const digestOf = (json: Json, sha256: Sha256): JsonObject => {
  const text = typeof json === "string" ? json : JSON.stringify(json)
  return { bytes: Utf8.byteLength(text), sha256: sha256(text) }
}

/**
 * What the log keeps of a plan, given as the JSON that a schema encodes to. Where several members of a union could hold a
 * value, the marks of all of them count.
 */
export const plan = (ast: AST.AST, json: JsonObject, sha256: Sha256): Json => {
  const replaced = new Set<Json>()
  const visit = (ast: AST.AST, json: Json): Json => {
    if (replaced.has(json)) return json
    if (has(ast, "digest")) {
      const digest = digestOf(json, sha256)
      replaced.add(digest)
      return digest
    }
    switch (ast._tag) {
      case "Refinement":
        return visit(ast.from, json)
      case "Transformation":
        return visit(ast.to, visit(ast.from, json))
      case "Suspend":
        return visit(ast.f(), json)
      case "Union":
        return visitAll(ast.types, json)
      case "TupleType": {
        if (!Array.isArray(json)) return json
        const rest = ast.rest.map(({ type }) => type)
        return json.map((item: Json, index) => {
          const element = ast.elements[index]
          return element === undefined ? visitAll(rest, item) : visit(element.type, item)
        })
      }
      case "TypeLiteral": {
        if (typeof json !== "object" || json === null || Array.isArray(json)) return json
        const others = ast.indexSignatures.map(({ type }) => type)
        return Object.fromEntries(
          Object.entries(json).map(([name, value]: [string, Json]) => {
            const property = ast.propertySignatures.find((signature) => signature.name === name)
            return [name, property === undefined ? visitAll(others, value) : visit(property.type, value)]
          })
        )
      }
      default:
        return json
    }
  }
  const visitAll = (members: ReadonlyArray<AST.AST>, json: Json): Json =>
    members.reduce((left, member) => visit(member, left), json)
  return visit(ast, json)
}

const wholeNames = (ast: AST.AST): ReadonlyArray<PropertyKey> => {
  switch (ast._tag) {
    case "Refinement":
      return wholeNames(ast.from)
    case "Transformation":
      return wholeNames(ast.from)
    case "TypeLiteral":
      return ast.propertySignatures.filter(({ type }) => has(type, "whole")).map(({ name }) => name)
    default:
      return []
  }
}

/**
 * What the log keeps of an output: numbers, switches and fields that are marked as whole; of any other text, list or
 * object its size in bytes.
 */
export const output = (ast: AST.AST): ((json: Json) => JsonObject) => {
  const names = new Set(wholeNames(ast))
  const size = (json: Json): Json => {
    if (typeof json !== "string" && (typeof json !== "object" || json === null)) return json
    return { bytes: Utf8.byteLength(typeof json === "string" ? json : JSON.stringify(json)) }
  }
  return (json) =>
    typeof json !== "object" || json === null || Array.isArray(json)
      ? { value: size(json) }
      : Object.fromEntries(
          Object.entries(json).map(([name, value]: [string, Json]) => [name, names.has(name) ? value : size(value)])
        )
}
