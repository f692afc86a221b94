/** The schema of a server with custom resources. */
import { extendSchema, type GraphQLSchema, isEnumType, parse } from "graphql";
import type { CustomResource } from "../../apikey/permission.ts";
import { printUnknownValues } from "./types/words.ts";

/** Returns a copy of the schema whose enum `Resource` also has the custom resources. */
export function withResources(schema: GraphQLSchema, resources: readonly CustomResource[]): GraphQLSchema {
  const values = resources.map(({ name, description }) =>
    `${description === null ? "" : JSON.stringify(description)} ${name}`
  );
  const extension = parse(`extend enum Resource { ${values.join("\n")} }`, { noLocation: true });
  const extended = extendSchema(schema, extension, { assumeValid: true });
  const type = extended.getType("Resource");
  if (isEnumType(type)) printUnknownValues(type);
  return extended;
}
