/**
 * The GraphQL requests of the `resource` commands. They go through `Client.sendBody`, because the client's own bundle
 * contains only what `apikey` needs, and starts faster that way.
 */
import * as z from "zod/mini";
import type { CustomResource } from "../../../apikey/permission.ts";
import type { Client, SchemaField } from "../../../client/client.ts";
import { PARSED_JSON } from "../../settings/argument.ts";

const RESOURCE = z.object({ name: z.string(), description: z.nullable(z.string()) });

/**
 * Lists the custom resources of a server.
 *
 * @throws {Failure} `UNSUPPORTED` if the server has no custom resources; any failure of the request
 */
export async function listResources(client: Client): Promise<readonly CustomResource[]> {
  const query = "query ListResources { resources { name description } }";
  const schema = z.object({ resources: z.array(RESOURCE) });
  return (await send(client, "Query.resources", query, {}, schema)).resources;
}

/**
 * Adds a custom resource.
 *
 * @throws {Failure} `ALREADY_EXISTS`; `UNSUPPORTED` if the server has no custom resources; any failure of the request
 */
export async function addResource(
  client: Client,
  input: { readonly name: string; readonly description: string | undefined },
): Promise<CustomResource> {
  const query =
    "mutation AddResource($input: AddResourceInput!) { resource { add(input: $input) { name description } } }";
  const schema = z.object({ resource: z.object({ add: RESOURCE }) });
  return (await send(client, "Mutation.resource", query, { input }, schema)).resource.add;
}

/**
 * Removes a custom resource.
 *
 * @throws {Failure} `NOT_FOUND`; `FAILED` if a key names the resource; `UNSUPPORTED` if the server has no custom
 * resources; any failure of the request
 */
export async function removeResource(client: Client, name: string): Promise<void> {
  const query = "mutation RemoveResource($name: String!) { resource { remove(name: $name) } }";
  const schema = z.object({ resource: z.object({ remove: z.literal(true) }) });
  await send(client, "Mutation.resource", query, { name }, schema);
}

const ALTERNATIVE = "Keys on that server can have permissions only on the resources that it already has.";

async function send<Data>(
  client: Client,
  field: SchemaField,
  query: string,
  variables: Readonly<Record<string, unknown>>,
  schema: z.ZodMiniType<Data>,
): Promise<Data> {
  const { body, failure } = await client.sendBody(JSON.stringify({ query, variables }));
  if (failure?.code === "FAILED" && !(await client.serverFields()).has(field)) {
    throw client.unsupported(field, ALTERNATIVE);
  }
  if (failure !== undefined) throw failure;
  const result = z.safeParse(z.pipe(PARSED_JSON, z.object({ data: schema })), body);
  if (result.success) return result.data.data;
  throw client.badResponse("the response does not match its schema");
}
