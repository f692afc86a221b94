/** Adds every field of a response to its size; see `keys/response_size.ts`. */
import {
  defaultFieldResolver,
  type GraphQLField,
  type GraphQLSchema,
  isIntrospectionType,
  isObjectType,
  SchemaMetaFieldDef,
  TypeMetaFieldDef,
  TypeNameMetaFieldDef,
} from "graphql";
import type { RequestContext } from "../keys/request_context.ts";

/** How much smaller the largest introspection response is. Fields of the schema can contain each other many times. */
const INTROSPECTION_FACTOR = 200;

/** The size of the punctuation around a field and its value. */
const PUNCTUATION = 6;

/** The size of a value that is neither a string nor a list, and of an item of a list. */
const VALUE = 5;
const ITEM = 20;

/** Makes every field of a schema add to the size of the response. If the response is too large, the fields are null. */
export function measureFields(schema: GraphQLSchema): void {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type)) continue;
    const factor = isIntrospectionType(type) ? INTROSPECTION_FACTOR : 1;
    for (const field of Object.values(type.getFields())) measureField(field, factor);
  }
  for (const field of [SchemaMetaFieldDef, TypeMetaFieldDef, TypeNameMetaFieldDef]) measureField(field, 1);
}

function measureField(field: GraphQLField<unknown, RequestContext>, factor: number): void {
  const { resolve = defaultFieldResolver } = field;
  field.resolve = (source, given, context, info) => {
    // All schemas of a process share the introspection types.
    if (context === undefined) return resolve(source, given, context, info);
    if (!context.size.add((PUNCTUATION + String(info.path.key).length) * factor)) return null;
    const value: unknown = resolve(source, given, context, info);
    const size = typeof value === "string" ? value.length : Array.isArray(value) ? value.length * ITEM : VALUE;
    return context.size.add(size * factor) ? value : null;
  };
}
