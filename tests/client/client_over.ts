/** A client that sends its requests to a function. */
import { type Client, createClient } from "../../src/client/client.ts";
import type { Endpoint } from "../../src/client/endpoint.ts";

export function clientOver(fetch: Endpoint["fetch"], url = "http://localhost/graphql"): Client {
  return createClient({
    url,
    label: "test",
    keyRemedy: "",
    knownKeyRemedy: "",
    headers: new Map(),
    maxResponseSize: Infinity,
    timeout: 5000,
    interrupted: new AbortController().signal,
    debug: () => {},
    fetch,
  });
}
