/** A key of the configuration: what it takes, what it means, and what a project may do to it. */
import { Approval } from "@scv/core"
import * as Either from "effect/Either"
import * as JSONSchema from "effect/JSONSchema"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as AST from "effect/SchemaAST"

/** Which values of a project count; the others are ignored. */
export interface Tighter<A> {
  /** What such a value is, in words. */
  readonly says: string
  /** Whether a project's value counts against the one in force. */
  isTighter(candidate: A, current: A): boolean
}

/** For a limit. */
export const smaller: Tighter<number> = { says: "smaller", isTighter: (candidate, current) => candidate < current }

export const stricter: Tighter<Approval.ApprovalPolicy> = { says: "stricter", isTighter: Approval.isStricter }

/** For a switch that a project may only turn off. */
export const off: Tighter<boolean> = { says: "false", isTighter: (candidate, current) => current && !candidate }

interface Meaning<A> {
  /** One sentence, with the unit. */
  readonly description: string
  /** Undefined where the key may stay unset. */
  readonly default: A | undefined
  /** What stands in an example where there is no default. */
  readonly example?: A
  /** Whether a project may set it. Source: design, "Small decisions". */
  readonly project: "never" | Tighter<A>
}

export interface Key<A = unknown> extends Meaning<A> {
  /** What it takes, in words. */
  readonly expects: () => string
  /** JSON Schema, draft 2020-12, of what it takes. */
  readonly jsonSchema: () => object
  /** The value of what the TOML parser gives, or one line that names no value. */
  readonly decode: (toml: unknown) => Either.Either<A, string>
}

const jsonSchemaOf = <A, I>(schema: Schema.Schema<A, I>): object => {
  const emitted = JSONSchema.fromAST(Schema.typeSchema(schema).ast, {
    definitions: {},
    target: "jsonSchema2020-12",
    topLevelReferenceStrategy: "skip"
  })
  return Object.fromEntries(Object.entries(emitted).filter(([name]) => name !== "title"))
}

interface Definition<A, I> extends Meaning<NoInfer<A>> {
  /** Made only when the key is set or described: all keys are made at every start, and most stay as they are. */
  readonly schema: () => Schema.Schema<A, I>
}

/** A key whose values a schema takes from TOML; see `Value.ts`. */
export const make = <A, I>({ schema, ...meaning }: Definition<A, I>): Key<A> => ({
  ...meaning,
  expects: () => Option.getOrElse(AST.getDescriptionAnnotation(schema().ast), () => "a value"),
  jsonSchema: () => jsonSchemaOf(schema()),
  decode: (toml) =>
    Either.mapLeft(ParseResult.decodeUnknownEither(schema())(toml), ParseResult.TreeFormatter.formatIssueSync)
})
