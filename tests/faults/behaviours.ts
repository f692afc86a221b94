/** What a broken or hostile server may do, and how the commands must report it. */
import type { Act, Tls, Wire } from "./hostile_server.ts";
import { bombs } from "./bombs.ts";

/** The key that the client sends. No output may contain it. */
export const KEY = "sak_0123456789abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG";

/** The secret of a key that the server creates. */
export const CREATED = "sak_created_by_the_server";

export interface Behaviour {
  readonly server: string;
  /** How the server treats a connection. A string or bytes are the response to a complete request. */
  readonly acts: Act | string | Uint8Array;
  /** Without `tls`, the server uses TCP. */
  readonly tls?: Tls;
  /** Changes the URL of the server. */
  readonly at?: (url: string) => string;
  /** Whether the client runs `request` or deletes a key instead of creating one. */
  readonly command?: "request" | "delete";
  /** The expected `code`, or several that are equally true. Without `code`, the command must succeed. */
  readonly code?: string;
  /** What the message, or the output of a successful command, must contain. */
  readonly says?: RegExp;
  /** Whether the message must say that the server may have executed the request. Without a value, it may say so. */
  readonly maybe?: boolean;
  /** Whether the server sends so much that the memory of the client's process must be measured. */
  readonly isLarge?: true;
}

type Expected = Omit<Behaviour, "server" | "acts">;
type Row = readonly [server: string, acts: Behaviour["acts"], expected?: Expected];

function fails(code: string, says?: RegExp, maybe?: boolean): Expected {
  return { code, ...(says === undefined ? {} : { says }), ...(maybe === undefined ? {} : { maybe }) };
}

const CLOSED = fails("UNREACHABLE", /closed the connection/, true);
const LATE = fails("TIMEOUT", /within 0\.\d+ s.*--timeout/, true);
const NOT_HTTP = fails("BAD_RESPONSE", /does not speak HTTP/);
const BROKEN = fails("UNREACHABLE|BAD_RESPONSE", /^/, true);
const NOT_GRAPHQL = fails("BAD_RESPONSE", /SERVICE_API_URL/, true);
const UNTRUSTED = fails("TLS", /not trusted.*--ca-file/, false);
const TOO_LARGE: Expected = { ...fails("BAD_RESPONSE", /64 MB.*--max-response-size/, true), isLarge: true };
const SUCCEEDS: Expected = { says: /new/ };

/** Returns a response with a correct `Content-Length`. */
function http(status: string, body: string | Uint8Array, ...headers: readonly string[]): Uint8Array {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const lines = [`HTTP/1.1 ${status}`, `Content-Length: ${bytes.length}`, ...headers, "", ""];
  return join(lines.join("\r\n"), bytes);
}

function join(...parts: readonly (string | Uint8Array)[]): Uint8Array {
  const encoder = new TextEncoder();
  return new Uint8Array(parts.flatMap((part) => [...(typeof part === "string" ? encoder.encode(part) : part)]));
}

function json(value: unknown): Uint8Array {
  return http("200 OK", typeof value === "string" ? value : JSON.stringify(value), "Content-Type: application/json");
}

function page(status: string, ...headers: readonly string[]): Uint8Array {
  return http(status, `<html>${KEY}</html>`, "Content-Type: text/html", ...headers);
}

function errors(...list: readonly unknown[]): Uint8Array {
  return json({ errors: list });
}

function error(message: string, code?: string): Uint8Array {
  return json({ data: null, errors: [{ message, ...(code === undefined ? {} : { extensions: { code } }) }] });
}

function created(fields: Readonly<Record<string, unknown>> = {}): string {
  const create = { id: "key_1", name: "new", key: CREATED, ...fields };
  return JSON.stringify({ data: { apiKey: { refusesTakenNames: true, create } } });
}

const HEAD = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`;

/** Reads the request, writes a response and closes the connection. */
function thenCloses(response: string | Uint8Array): Act {
  return async ({ request, write, end }) => {
    await request();
    await write(response);
    await end();
  };
}

/** Reads the request, writes the beginning of a response, and then one part after the other until the client leaves. */
function drips(beginning: string, part: string): Act {
  return async ({ request, write }) => {
    await request();
    await write(beginning);
    for (;;) {
      // deno-lint-ignore no-await-in-loop -- sends slowly
      await write(part);
      // deno-lint-ignore no-await-in-loop -- sends slowly
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
}

/** Sends as fast as the client reads. */
function floods(beginning: string, part: string, count: number): Act {
  return async ({ request, write, end }) => {
    await request();
    await write(beginning);
    // deno-lint-ignore no-await-in-loop -- the client reads at its own speed
    for (let i = 0; i < count; i++) await write(part);
    await end();
  };
}

async function silence({ request }: Wire): Promise<void> {
  // deno-lint-ignore no-await-in-loop -- reads until the client leaves
  while (await request() !== "");
}

/** Speaks HTTP/2 (RFC 9113): sends its settings, reads the client's preface and request, and sends one frame. */
function sendsFrame(type: number, payload: readonly number[]): Act {
  return async ({ request, write, end }) => {
    await write(new Uint8Array([0, 0, 0, 4, 0, 0, 0, 0, 0]));
    await request();
    const stream = type === 7 ? 0 : 1;
    await write(new Uint8Array([0, 0, payload.length, type, 0, 0, 0, 0, stream, ...payload]));
    await end();
  };
}

/** A port of 127.0.0.1 on which nothing listens. */
function unusedPort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  listener.close();
  return listener.addr.port;
}

const CONNECTIONS: readonly Row[] = [
  ["does not listen", "", {
    ...fails("UNREACHABLE", /refused.*SERVICE_API_URL/, false),
    at: () => `http://127.0.0.1:${unusedPort()}`,
  }],
  ["ends the connection before it reads the request", ({ end }) => end(), CLOSED],
  ["resets the connection before it reads the request", resetEarly, CLOSED],
  ["ends the connection after it read the request", thenCloses(""), CLOSED],
  ["ends the connection in the status line", thenCloses("HTTP/1.1 20"), BROKEN],
  ["ends the connection in the headers", thenCloses(HEAD), BROKEN],
  ["ends the connection in the body", thenCloses(`${HEAD}Content-Length: 99\r\n\r\n{"d`), CLOSED],
  ["resets the connection in the body", resetLate, CLOSED],
  ["never answers", silence, LATE],
  ["sends one byte of the status line at a time", drips("HTTP/1.1 ", "2"), fails("TIMEOUT|BAD_RESPONSE")],
  ["sends headers slowly and forever", drips(HEAD, "A: b\r\n"), fails("TIMEOUT|BAD_RESPONSE", /^/, true)],
  ["sends a body slowly and forever", drips(CHUNKED, "1\r\n[\r\n"), LATE],
  ["sends half of the body and then nothing", halfBody, LATE],
  ["sends 1xx responses slowly and forever", drips("", "HTTP/1.1 102 Processing\r\n\r\n"), LATE],
];

async function resetEarly({ write, close }: Wire): Promise<void> {
  await write("");
  close();
}

async function resetLate({ firstByte, write, close }: Wire): Promise<void> {
  await firstByte();
  await write(`${HEAD}Content-Length: 99\r\n\r\n{"d`);
  close();
}

async function halfBody({ request, write }: Wire): Promise<void> {
  await request();
  await write(`${HEAD}Content-Length: 99\r\n\r\n{"d`);
  await request();
}

const FRAMING: readonly Row[] = [
  ["answers without a status line, as in HTTP/0.9", thenCloses(created()), NOT_HTTP],
  ["answers with HTTP/1.0 and ends the connection", thenCloses(`HTTP/1.0 200 OK\r\n\r\n${created()}`)],
  ["answers with the version HTTP/3.0", "HTTP/3.0 200 OK\r\n\r\n", NOT_HTTP],
  ["is an SSH server", thenCloses("SSH-2.0-OpenSSH\r\n"), NOT_HTTP],
  ["sends a line before it reads the request", ({ write, end }) => write("220 mail\r\n").then(end), {
    code: "UNREACHABLE|BAD_RESPONSE",
  }],
  ["answers with HTTP/2 frames on HTTP/1.1", new Uint8Array([0, 0, 0, 4, 0, 0, 0, 0, 0]), NOT_HTTP],
  ["answers with a TLS alert on http://", new Uint8Array([21, 3, 3, 0, 2, 2, 40]), NOT_HTTP],
  ["answers with random bytes", new Uint8Array([255, 0, 254, 13, 10, 13, 10]), NOT_HTTP],
  ["answers with a status that is not a number", "HTTP/1.1 abc OK\r\n\r\n", BROKEN],
  ["answers with the status 99", "HTTP/1.1 99 Low\r\nContent-Length: 0\r\n\r\n", BROKEN],
  ["answers with the status 999", http("999 High", "no"), fails("BAD_RESPONSE")],
  ["sends a header without a colon", `HTTP/1.1 200 OK\r\nbroken\r\n\r\n`, BROKEN],
  ["sends NUL in a header", http("200 OK", created(), "X: a\0b"), BROKEN],
  ["sends a header of 1 MB", http("200 OK", created(), `X: ${"x".repeat(1e6)}`), BROKEN],
  ["sends headers without end", floods("HTTP/1.1 200 OK\r\n", "X: x\r\n".repeat(1000), 20_000), {
    ...BROKEN,
    isLarge: true,
  }],
  ["sends a chunk size that is not a number", `${CHUNKED}zz\r\n`, BROKEN],
  ["sends a chunk size of 80 bits", `${CHUNKED}ffffffffffffffffffff\r\n`, BROKEN],
  ["sends a chunk that is longer than its size", `${CHUNKED}2\r\n${created()}\r\n0\r\n\r\n`, BROKEN],
  ["sends no last chunk", thenCloses(`${CHUNKED}5\r\n{"a":\r\n`), BROKEN],
  ["announces a longer body than it sends", thenCloses(`${HEAD}Content-Length: 9999\r\n\r\n${created()}`), CLOSED],
  ["announces a shorter body than it sends", `${HEAD}Content-Length: 9\r\n\r\n${created()}`, NOT_GRAPHQL],
  ["sends two different lengths", `${HEAD}Content-Length: 5\r\nContent-Length: 9\r\n\r\n${created()}`, BROKEN],
  ["sends a negative length", `${HEAD}Content-Length: -1\r\n\r\n${created()}`, BROKEN],
  ["sends a length of 2^64", thenCloses(`${HEAD}Content-Length: 18446744073709551616\r\n\r\n{}`), BROKEN],
  ["sends a body of gzip that is not gzip", http("200 OK", created(), "Content-Encoding: gzip"), BROKEN],
  ["sends gzip that breaks off", http("200 OK", bombs.gzipPrefix, "Content-Encoding: gzip"), BROKEN],
  ["sends gzip with damaged data", http("200 OK", bombs.damagedGzip, "Content-Encoding: gzip"), BROKEN],
  ["sends brotli that is not brotli", http("200 OK", created(), "Content-Encoding: br"), BROKEN],
  ["names an unknown coding", http("200 OK", bombs.gzipPrefix, "Content-Encoding: rot13"), NOT_GRAPHQL],
  ["sends a gzip bomb", bombs.send("gzip", CHUNKED), TOO_LARGE],
  ["sends a brotli bomb", bombs.send("br", CHUNKED), TOO_LARGE],
  ["sends a gzip bomb with an error status", bombs.send("gzip", CHUNKED.replace("200 OK", "500 Oops")), {
    ...fails("BAD_RESPONSE", /^/, true),
    isLarge: true,
  }],
  ["sends a body of 1 GB", floods(`${HEAD}\r\n`, " ".repeat(1e6), 1000), TOO_LARGE],
  ["sends a body of 1 GB to request", floods(`${HEAD}\r\n`, " ".repeat(1e6), 1000), {
    ...TOO_LARGE,
    command: "request",
  }],
  [
    "announces a body of 1 TB",
    floods(`${HEAD}Content-Length: 1000000000000\r\n\r\n`, " ".repeat(1e6), 1000),
    TOO_LARGE,
  ],
];

const TLS: readonly Row[] = [
  ["has no TLS on https://", ({ write, end }) => write(json({})).then(end), {
    ...fails("TLS", /does not speak TLS/, false),
    at: toHttps,
  }],
  ["has TLS on http://", json({}), { ...NOT_HTTP, tls: "trusted", at: (url) => url.replace("https:", "http:") }],
  ["ends the connection in the TLS handshake", ({ end }) => end(), { ...fails("TLS|UNREACHABLE"), at: toHttps }],
  ["resets the connection in the TLS handshake", resetEarly, { ...fails("TLS|UNREACHABLE"), at: toHttps }],
  ["rejects the TLS handshake", ({ write, end }) => write(new Uint8Array([21, 3, 3, 0, 2, 2, 40])).then(end), {
    ...fails("TLS", /handshake/, false),
    at: toHttps,
  }],
  ["never answers the TLS handshake", silence, { ...fails("TIMEOUT"), at: toHttps }],
  ["has a certificate that has expired", json({}), { ...fails("TLS", /expired/, false), tls: "expired" }],
  ["has a certificate that is not yet valid", json({}), {
    ...fails("TLS", /not yet valid/, false),
    tls: "not yet valid",
  }],
  ["has a certificate for another host", json({}), { ...fails("TLS", /another host/, false), tls: "for another host" }],
  ["has a self-signed certificate", json({}), { ...UNTRUSTED, tls: "self-signed" }],
  ["has a certificate of an unknown CA", json({}), { ...UNTRUSTED, tls: "signed by an unknown CA" }],
  ["ends the TLS connection after it read the request", thenCloses(""), { ...CLOSED, tls: "trusted" }],
  ["ends the TLS connection without close_notify after it read the request", thenCloses(""), {
    ...BROKEN,
    tls: "truncated",
  }],
  [
    "ends the TLS connection without close_notify in a body of known length",
    thenCloses(`${HEAD}Content-Length: 99\r\n\r\n{"d`),
    { ...BROKEN, tls: "truncated" },
  ],
  ["ends the TLS connection without close_notify after a body of unknown length", thenCloses(`${HEAD}\r\n{"data":`), {
    ...BROKEN,
    tls: "truncated",
  }],
  ["ends the TLS connection without close_notify after the whole response", thenCloses(json(created())), {
    tls: "truncated",
  }],
  ["answers over TLS", json(created()), { ...SUCCEEDS, tls: "trusted" }],
  ["resets the HTTP/2 stream", sendsFrame(3, [0, 0, 0, 2]), { ...BROKEN, tls: "http/2" }],
  ["ends the HTTP/2 connection with GOAWAY", sendsFrame(7, [0, 0, 0, 1, 0, 0, 0, 2]), { ...BROKEN, tls: "http/2" }],
  ["sends an HTTP/2 frame of the wrong length", sendsFrame(3, [1]), { ...BROKEN, tls: "http/2" }],
  ["sends broken HTTP/2 headers", sendsFrame(1, [255, 255, 255, 255]), { ...BROKEN, tls: "http/2" }],
];

function toHttps(url: string): string {
  return url.replace("http:", "https:");
}

const STATUSES: readonly Row[] = [
  ...["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"].map((status): Row => [
    `redirects with ${status}`,
    page(status, `Location: http://localhost:1/${KEY}`),
    fails("BAD_RESPONSE", /redirect to http:\/\/localhost:1\/….*SERVICE_API_URL/),
  ]),
  ["redirects without a location", page("302 Found"), fails("BAD_RESPONSE", /redirect/)],
  ["redirects to an escape sequence", page("302 Found", "Location: \u009b2J\u202e"), fails("BAD_RESPONSE", /302/)],
  ["answers 100 and then 200", join("HTTP/1.1 100 Continue\r\n\r\n", json(created())), SUCCEEDS],
  ["answers 103 and then 200", join("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", json(created())), SUCCEEDS],
  [
    "answers 101",
    "HTTP/1.1 101 Switching\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
    fails("UNREACHABLE|BAD_RESPONSE"),
  ],
  ["answers 204", "HTTP/1.1 204 No Content\r\n\r\n", NOT_GRAPHQL],
  ["answers 304", "HTTP/1.1 304 Not Modified\r\n\r\n", fails("BAD_RESPONSE")],
  [
    "answers 401 with HTML",
    page("401 Unauthorized", `WWW-Authenticate: Bearer realm="${KEY}"`),
    fails("UNAUTHENTICATED", /401/, false),
  ],
  ["answers 403 with HTML", page("403 Forbidden"), fails("FORBIDDEN", /403/, false)],
  ["answers 404 with HTML", page("404 Not Found"), fails("BAD_RESPONSE", /404.*SERVICE_API_URL/, false)],
  ["answers 407 with HTML", page("407 Proxy Authentication Required"), fails("BAD_RESPONSE", /407/)],
  ["answers 408 with HTML", page("408 Request Timeout"), fails("TIMEOUT", /408/)],
  ["answers 413 with HTML", page("413 Too Large"), fails("BAD_RESPONSE", /413/, false)],
  [
    "answers 429 with a number of seconds",
    page("429 Too Many", "Retry-After: 17"),
    fails("RATE_LIMITED", /17/, false),
  ],
  [
    "answers 429 with a GraphQL error",
    http("429 Too Many", JSON.stringify({ errors: [{ message: "Slow down." }] }), "Retry-After: 17"),
    fails("RATE_LIMITED", /17/),
  ],
  ["answers 429 without Retry-After", page("429 Too Many"), fails("RATE_LIMITED", /429|[Tt]oo many/)],
  [
    "answers 429 with an invalid Retry-After",
    page("429 Too Many", `Retry-After: -1 ${KEY} \u009b`),
    fails("RATE_LIMITED"),
  ],
  ["answers 500 with HTML", page("500 Oops"), fails("BAD_RESPONSE", /500/, true)],
  ["answers 502 with HTML", page("502 Bad Gateway"), fails("UNREACHABLE", /502/, true)],
  ["answers 503 with HTML", page("503 Unavailable"), fails("UNREACHABLE", /503/, true)],
  ["answers 504 with HTML", page("504 Gateway Timeout"), fails("TIMEOUT", /504/, true)],
];

const BODIES: readonly Row[] = [
  ["answers 200 with HTML", page("200 OK"), NOT_GRAPHQL],
  ["labels JSON as plain text", http("200 OK", created(), "Content-Type: text/plain"), SUCCEEDS],
  ["answers with an empty body", json(""), NOT_GRAPHQL],
  ["answers with invalid UTF-8", http("200 OK", new Uint8Array([0xff, 0xfe, 0x80])), NOT_GRAPHQL],
  [
    "answers with UTF-16",
    http("200 OK", new Uint8Array([...created()].flatMap((unit) => [unit.charCodeAt(0), 0]))),
    NOT_GRAPHQL,
  ],
  ["sends a byte order mark", json(`\ufeff${created()}`), SUCCEEDS],
  ["answers with NUL bytes", json("\0".repeat(100)), NOT_GRAPHQL],
  ["answers with half of the JSON", json('{"data":{"apiKey"'), NOT_GRAPHQL],
  ["answers with two JSON values", json(`${created()}${created()}`), NOT_GRAPHQL],
  ["answers with a list", json([]), NOT_GRAPHQL],
  ["answers with null", json(null), NOT_GRAPHQL],
  ["answers with null data", json({ data: null }), NOT_GRAPHQL],
  ["answers with data that is a list", json({ data: [] }), NOT_GRAPHQL],
  ["answers with nested lists, 100,000 deep", json(`{"data":${"[".repeat(1e5)}${"]".repeat(1e5)}}`), NOT_GRAPHQL],
  ["answers with unfinished lists, 1,000,000 deep", json(`{"data":${"[".repeat(1e6)}`), NOT_GRAPHQL],
  ["repeats members", json(`{"data":{"apiKey":null},${created().slice(1)}`), SUCCEEDS],
  ["names the prototype", json('{"__proto__":{"data":{}},"constructor":{"data":{}}}'), NOT_GRAPHQL],
  ["answers with numbers instead of text", json(created({ id: 1e300, key: 7 })), NOT_GRAPHQL],
  ["answers with an empty secret", json(created({ key: "" })), NOT_GRAPHQL],
  ["answers with a line break in the secret", json(created({ key: "a\nb" })), NOT_GRAPHQL],
  ["answers with letters beyond ASCII in the secret", json(created({ key: "sak_é" })), NOT_GRAPHQL],
  ["answers with a line break in the id", json(created({ id: "key\n\u001b[2J" })), { says: /^[^\n]*\n$/ }],
  [
    "deletes something else than it lists",
    json({ data: { apiKeys: [{ id: "a\nb", name: "new" }], apiKey: { delete: "yes" } } }),
    { ...NOT_GRAPHQL, command: "delete" },
  ],
  ["lists keys of other shapes", json({ data: { apiKeys: [null], apiKeysByName: [null] } }), {
    ...fails("BAD_RESPONSE"),
    command: "delete",
  }],
  ["answers request with lines and escape sequences", json('{"data":\n{"a":"\\u001b[2J"}}'), {
    says: /\{"data":/,
    command: "request",
  }],
];

const ERRORS: readonly Row[] = [
  ...["text", 7, true, {}, ["text"], [null], [[]], [{}], [{ message: 7 }], [{ message: "no", extensions: 7 }]].map((
    list,
  ): Row => [`answers with the errors ${JSON.stringify(list)}`, json({ errors: list }), NOT_GRAPHQL]),
  ["answers with an empty list of errors", errors(), NOT_GRAPHQL],
  ["answers with data and null errors", json(`{"errors":null,${created().slice(1)}`), { command: "request" }],
  [
    "answers with data and an error",
    json(`{"errors":[{"message":"Disk full."}],${created().slice(1)}`),
    fails("FAILED", /exists|created/),
  ],
  ["answers with an error", error("It said no."), fails("FAILED", /It said no\./)],
  ["answers with an empty message", error(""), fails("FAILED", /\w/)],
  ["answers with a message of spaces", error(" \n\t"), fails("FAILED", /\w/)],
  ["repeats the key in a message", error(`Unknown key ${KEY}.`), fails("FAILED", /Unknown key/)],
  ["repeats the header in a message", error(`Bearer ${KEY}`, "UNAUTHENTICATED"), fails("UNAUTHENTICATED")],
  ["repeats a part of the key in a message", error(`Unknown key ${KEY.slice(0, 30)}.`), fails("FAILED", /Unknown key/)],
  [
    "sends NUL, escape sequences and a changed direction in a message",
    error("a\0\u001b]0;x\u0007\u009b2J\u202eb\r\nc"),
    fails("FAILED", /a.*b.*c/),
  ],
  ["sends a message of 1 MB", error("x".repeat(1e6)), fails("FAILED", /^.{1,20000}$/s)],
  ["sends 10,000 errors", errors(...Array(10_000).fill({ message: "no" })), fails("FAILED", /^.{1,20000}$/s)],
  [
    "rejects the key with a sentence without a full stop",
    error("API key validation failed", "UNAUTHENTICATED"),
    fails("UNAUTHENTICATED", /API key validation failed\. /),
  ],
  [
    "wants the key in another header",
    error("Invalid CSRF token"),
    fails("FAILED|UNAUTHENTICATED", /--key-header x-api-key/i),
  ],
  ["says that the user interrupted the command", error("Stop.", "INTERRUPTED"), fails("FAILED")],
  ["says that the user made a usage error", error("Wrong.", "USAGE"), fails("FAILED")],
  ["says that the name is taken", error("Taken.", "ALREADY_EXISTS"), fails("ALREADY_EXISTS")],
  ["says that a right is missing", error("No.", "FORBIDDEN"), fails("FORBIDDEN")],
];

export const BEHAVIOURS: readonly Behaviour[] = [...CONNECTIONS, ...FRAMING, ...TLS, ...STATUSES, ...BODIES, ...ERRORS]
  .map(([server, acts, expected]) => ({ server, acts, ...expected }));
