/** Generates GraphQL documents for the embedded server: any field of its schema, in operations and fragments. */
import fc from "fast-check";
import { getNamedType, type GraphQLField, type GraphQLObjectType, isObjectType } from "graphql";
import { schema } from "../../../../src/server/graphql/schema.ts";

export interface GeneratedDocument {
  /** Each `TARGET_n` stands for the id of a key, and `target n` is its name. `OLD_n` is an existing resource, `NEW_n` is not. */
  readonly text: string;
  readonly operations: readonly string[];
  /** The number of keys. Each change has a key of its own, so that no change makes another one fail. */
  readonly targets: number;
}

/** The rights that a document grants to keys, if it grants any. Each target has these rights. */
export const GRANTED = "ME:READ_OWN";

type Arguments = (builder: DocumentBuilder) => string;

/** The arguments of fields that need some. Changes grant at most {@linkcode GRANTED}. */
const ARGUMENTS: Readonly<Record<string, Arguments>> = {
  "Query.apiKey": (builder) => `id: "TARGET_${builder.target()}"`,
  "Query.apiKeysByName": (builder) => `name: "target ${builder.target()}"`,
  "Query.apiKeysBySecretHash": () => `hashes: ["${"0".repeat(64)}"]`,
  "Query.apiKeyConnection": (builder) => builder.pick(["first: 1", 'first: 2, filter: { match: "*1" }', "sort: NAME"]),
  "Query.auditEvents": () => "first: 1",
  "Query.getPermissionsForRoles": () => "roles: [ADMIN]",
  "Query.previewEffectivePermissions": () => "roles: [ADMIN]",
  "ApiKeyMutations.create": (builder) => {
    const target = builder.target();
    const input = builder.pick([`name: "fresh ${target}"`, `name: "target ${target}", overwrite: true`]);
    return `input: { ${input}, ${
      builder.pick(["roles: [GUEST]", "permissions: { resource: ME, actions: READ_OWN }"])
    } }`;
  },
  "ApiKeyMutations.update": (builder) => {
    const change = builder.pick(['description: "d"', 'managedBy: "m"', "enabled: false", "roles: []", "enabled: true"]);
    return `input: { id: "TARGET_${builder.target()}", ${change} }`;
  },
  "ApiKeyMutations.delete": (builder) => `input: { ids: ["TARGET_${builder.target()}"] }`,
  "ApiKeyMutations.addRole": (builder) => `input: { apiKeyId: "TARGET_${builder.target()}", role: GUEST }`,
  "ApiKeyMutations.removeRole": (builder) => `input: { apiKeyId: "TARGET_${builder.target()}", role: GUEST }`,
  "ApiKeyMutations.rotate": (builder) => `input: { id: "TARGET_${builder.target()}" }`,
  "ResourceMutations.add": (builder) => `input: { name: "NEW_${builder.target()}" }`,
  "ResourceMutations.remove": (builder) => `name: "OLD_${builder.target()}"`,
};

/** Builds a document. The choices decide everything. */
class DocumentBuilder {
  targets = 0;
  readonly #choices: Iterator<number>;
  readonly #fragments: string[] = [];
  /** The number of fields and fragments so far. */
  #names = 0;

  constructor(choices: Iterable<number>) {
    this.#choices = choices[Symbol.iterator]();
  }

  pick<Item>(items: readonly [Item, ...Item[]]): Item {
    return items[(this.#choices.next().value ?? 0) % items.length] ?? items[0];
  }

  target(): number {
    return this.targets++;
  }

  build(): GeneratedDocument {
    const operations = Array.from({ length: this.pick([1, 1, 2]) }, (_, index) => {
      const kind = this.pick(["query", "mutation"]);
      const type = kind === "query" ? schema.getQueryType() : schema.getMutationType();
      if (!type) throw new Error(`the schema has no ${kind}`);
      return `${kind} Operation${index} ${this.#selections(type, 0)}`;
    });
    return {
      text: [...operations, ...this.#fragments].join("\n"),
      operations: operations.map((_, index) => `Operation${index}`),
      targets: this.targets,
    };
  }

  #selections(type: GraphQLObjectType, depth: number): string {
    const count = this.pick([1, 2, 3]);
    return `{ ${Array.from({ length: count }, () => this.#selection(type, depth)).join(" ")} }`;
  }

  #selection(type: GraphQLObjectType, depth: number): string {
    const form = depth > 6 ? "field" : this.pick(["field", "field", "field", "inline", "named", "skipped", "included"]);
    switch (form) {
      case "inline":
        return `... on ${type.name} ${this.#selections(type, depth + 1)}`;
      case "named": {
        const name = `Fragment${this.#names++}`;
        this.#fragments.push(`fragment ${name} on ${type.name} ${this.#selections(type, depth + 1)}`);
        return `...${name}`;
      }
      case "skipped":
        return `... @skip(if: true) ${this.#selections(type, depth + 1)} __typename`;
      case "included":
        return `... @skip(if: false) @include(if: true) ${this.#selections(type, depth + 1)}`;
      default:
        return this.#field(type, depth);
    }
  }

  #field(type: GraphQLObjectType, depth: number): string {
    const [first, ...others] = Object.values(type.getFields());
    if (first === undefined) throw new Error(`${type.name} has no fields`);
    const field: GraphQLField<unknown, unknown> = this.pick([first, ...others]);
    const given = ARGUMENTS[`${type.name}.${field.name}`]?.(this);
    const below = getNamedType(field.type);
    const selections = isObjectType(below) ? this.#selections(below, depth + 1) : "";
    // Without aliases, the arguments of two uses of a field could differ.
    return `f${this.#names++}: ${field.name}${given === undefined ? "" : `(${given})`} ${selections}`;
  }
}

export const anyDocument: fc.Arbitrary<GeneratedDocument> = fc
  .array(fc.nat({ max: 10_000 }), { minLength: 40, maxLength: 200 })
  .map((choices) => new DocumentBuilder(choices).build());
