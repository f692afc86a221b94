/** An HTTP/1.1 client on a TCP connection, for requests that `fetch` cannot send. */

export interface RawResponse {
  readonly status: number;
  /** The names are in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** The names and values of headers. */
type Headers = Readonly<Record<string, string>>;

/** A connection to a server. */
export class Connection implements Disposable {
  readonly #socket: Deno.Conn;
  #received = "";

  private constructor(socket: Deno.Conn) {
    this.#socket = socket;
  }

  /** Connects to the host and port of a URL. */
  static async to(url: string): Promise<Connection> {
    const { hostname, port } = new URL(url);
    return new Connection(await Deno.connect({ hostname, port: Number(port) }));
  }

  async send(text: string): Promise<void> {
    const bytes = new TextEncoder().encode(text);
    for (let sent = 0; sent < bytes.length;) {
      // deno-lint-ignore no-await-in-loop -- each write starts where the previous one stopped
      sent += await this.#socket.write(bytes.subarray(sent));
    }
  }

  /** Sends a request. If the request has a body, adds a `Content-Length`. */
  async request(method: string, path: string, headers: Headers = {}, ...body: readonly string[]): Promise<void> {
    await this.send(toRequest(method, path, headers, ...body));
  }

  /**
   * Reads the next response. If the response has a body, it must have a `Content-Length`.
   *
   * @param method the method of the request
   * @throws {Error} if the connection ends first, or if the `Content-Length` is missing
   */
  async response(method = "GET"): Promise<RawResponse> {
    const end = await this.#find(() => {
      const index = this.#received.indexOf("\r\n\r\n");
      return index < 0 ? undefined : index + 4;
    });
    const [statusLine = "", ...lines] = this.#take(end).trimEnd().split("\r\n");
    const headers = new Map(lines.map((line): [string, string] => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }));
    const status = Number(statusLine.split(" ")[1]);
    const length = method === "HEAD" || status === 204 ? 0 : Number(headers.get("content-length") ?? NaN);
    if (Number.isNaN(length)) throw new Error(`no content-length in ${statusLine}`);
    await this.#find(() => this.#received.length >= length ? length : undefined);
    return { status, headers, body: this.#take(length) };
  }

  /** Reads until the server closes the connection, and returns the text that was not read before. */
  async readToEnd(): Promise<string> {
    // deno-lint-ignore no-await-in-loop -- reads one chunk after the other
    while (await this.#receive());
    return this.#take(this.#received.length);
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }

  #take(length: number): string {
    const taken = this.#received.slice(0, length);
    this.#received = this.#received.slice(length);
    return taken;
  }

  async #find(find: () => number | undefined): Promise<number> {
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      // deno-lint-ignore no-await-in-loop -- reads until `find` succeeds
      if (!await this.#receive()) throw new Error(`the connection ended after ${JSON.stringify(this.#received)}`);
    }
  }

  /** Receives more text, one character for each byte. Returns `false` if the connection has ended. */
  async #receive(): Promise<boolean> {
    const chunk = new Uint8Array(65_536);
    const length = await this.#socket.read(chunk).catch(() => null);
    if (length === null) return false;
    this.#received += new TextDecoder("latin1").decode(chunk.subarray(0, length));
    return true;
  }
}

/** Returns the text of an HTTP/1.1 request. If the request has a body, adds a `Content-Length`. */
export function toRequest(method: string, path: string, headers: Headers = {}, ...body: readonly string[]): string {
  const text = body.join("");
  const length = body.length === 0 ? {} : { "Content-Length": String(new TextEncoder().encode(text).length) };
  const lines = Object.entries({ Host: "localhost", ...headers, ...length }).map(([name, value]) =>
    `${name}: ${value}`
  );
  return [`${method} ${path} HTTP/1.1`, ...lines, "", text].join("\r\n");
}
