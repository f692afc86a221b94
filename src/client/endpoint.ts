/** The server that a client sends its requests to, and how it sends them. */

export interface Endpoint {
  /** The URL of the GraphQL endpoint: `{base_url}/graphql`. */
  readonly url: string;
  /** The name of the server in messages, for example `keys.example.com`. */
  readonly label: string;
  /** Where the user has set the URL, for messages: `SERVICE_API_URL`. By default, `--base-url`. */
  readonly urlSetting?: string | undefined;
  /** What the user can do if the server rejects the key, in complete sentences. */
  readonly keyRemedy: string;
  /** Where to put the new secret of a rotated key, in complete sentences. By default, the variable, the flag and `login`. */
  readonly newSecretRemedy?: string | undefined;
  /** How else to continue if the server knows the key but does not accept it; empty if there is no other way. */
  readonly knownKeyRemedy: string;
  /** The headers to add to every request. Their names are in lower case. Their values may be secrets. */
  readonly headers: ReadonlyMap<string, string>;
  /** The time limit for sending a request and reading the whole response, in milliseconds. */
  readonly timeout: number;
  /** The maximum size of a response body after decompression, in bytes. `Infinity` for a server in this process. */
  readonly maxResponseSize: number;
  /** Aborted when the user interrupts the program. */
  readonly interrupted: AbortSignal;
  /** Writes a message to the debug log. `properties` must not contain secrets. */
  readonly debug: (message: string, properties: Record<string, unknown>) => void;
  /** Shows at a terminal that the program waits for several requests. Without it, only `fetch` shows a wait. */
  readonly showWaiting?: <Result>(work: Promise<Result>) => Promise<Result>;
  /** Sends a request over the network, or passes it to a server inside this process. */
  readonly fetch: (request: Request) => Promise<Response>;
}
