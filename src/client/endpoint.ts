/** Where a client sends its requests, with what and for how long. */

export interface Endpoint {
  /** `{base_url}/graphql`. */
  readonly url: string;
  /** The name of the server in messages: `keys.example.com:443`. */
  readonly label: string;
  /** What the user can do if the server rejects the key, as a sentence. */
  readonly keyRemedy: string;
  /** Sent with every request, names in lower case. The values are secrets. */
  readonly headers: ReadonlyMap<string, string>;
  /** For a request and its whole answer, in milliseconds. */
  readonly timeout: number;
  /** Aborted when the user interrupts the program. */
  readonly interrupted: AbortSignal;
  /** Writes a debug record. Its properties must not contain secrets. */
  readonly debug: (message: string, properties: Record<string, unknown>) => void;
  /** The network, or the embedded server in this process. */
  readonly fetch: (request: Request) => Promise<Response>;
}
