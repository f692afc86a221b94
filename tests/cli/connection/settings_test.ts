/** Which server and which key the flags and variables select. */
import { expect } from "expect";
import { parseBaseUrl } from "../../../src/cli/settings/base_url.ts";
import { SILENT_LOG } from "../../../src/cli/host/log.ts";
import type { ServerFlags } from "../../../src/cli/settings/server_flags.ts";
import { readSettings } from "../../../src/cli/connection/settings.ts";
import { FakeHost, type Surroundings } from "../../program/program.ts";

const HOME = { HOME: "/home/user" };

function inDirectory(path: string): object {
  return { kind: "embedded", location: { kind: "directory", path } };
}

function settings(flags: ServerFlags, surroundings: Surroundings = {}): ReturnType<typeof readSettings> {
  return readSettings(flags, new FakeHost([], surroundings), SILENT_LOG);
}

const EMPTY_FILE = await Deno.makeTempFile();
Deno.test.afterAll(() => Deno.remove(EMPTY_FILE));

async function withFile(content: string | Uint8Array, use: (path: string) => Promise<void>): Promise<void> {
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeFile(path, typeof content === "string" ? new TextEncoder().encode(content) : content);
    await use(path);
  } finally {
    await Deno.remove(path);
  }
}

function inUtf16(text: string): Uint8Array {
  return new Uint8Array(Uint16Array.from(text, (character) => character.charCodeAt(0)).buffer);
}

function parse(value: string, allowHttp = false): string {
  return parseBaseUrl({ name: "--base-url", value }, { allowHttp }).href;
}

for (
  const [typed, endpoint] of [
    ["https://host.example", "https://host.example/graphql"],
    ["https://host.example/graphql/", "https://host.example/graphql"],
    ["https://host.example:8443/api//", "https://host.example:8443/api/graphql"],
    ["http://localhost:4000", "http://localhost:4000/graphql"],
    ["http://127.1:4000", "http://127.0.0.1:4000/graphql"],
    ["http://[::1]:4000/graphql", "http://[::1]:4000/graphql"],
  ] as const
) {
  Deno.test(`the endpoint of base URL ${typed} is ${endpoint}`, () => expect(parse(typed)).toBe(endpoint));
}

for (
  const [typed, message] of [
    ["localhost:4000", '--base-url must be a URL, for example http://localhost:4000, not "localhost:4000".'],
    ["keys", '--base-url must be a URL, for example https://keys.example.com, not "keys".'],
    ["ftp://host.example", /must be a URL/],
    ["", /must be a URL/],
    ["https://user:pass@host.example", /must not contain a user or password/],
    ["https://user:pass@host:99999", "--base-url must be a URL, for example https://keys.example.com."],
    ["postgres://user:pass@host/db", "--base-url must be the URL of a server. A database needs --database-url."],
    ["https://host.example?key=1", "--base-url must not have a query or fragment."],
    ["https://host.example#a", /query or fragment/],
    [
      "http://host.example",
      "--base-url would send keys unencrypted to host.example. Use https://, or add --allow-http if the network is " +
      "private.",
    ],
    ["http://127.0.0.1.evil.example", /unencrypted/],
    ["http://0.0.0.0:4000", /unencrypted/],
    ["http://service.localhost:4000", /unencrypted/],
  ] as const
) {
  Deno.test(`base URL ${JSON.stringify(typed)} is rejected, and the message repeats no secret`, () => {
    expect(() => parse(typed)).toThrow(message);
    expect(() => parse(typed)).not.toThrow(/user:pass|key=1/);
  });
}

Deno.test("--allow-http allows unencrypted requests to another machine", () => {
  expect(parse("http://host.example", true)).toBe("http://host.example/graphql");
});

Deno.test("a flag wins over its variable", async () => {
  const env = { SERVICE_API_URL: "https://variable.example", SERVICE_API_TIMEOUT: "1s" };
  expect(await settings({ baseUrl: "https://flag.example", timeout: "2m" }, { env })).toMatchObject({
    server: { kind: "network", endpoint: new URL("https://flag.example/graphql") },
    timeout: 120_000,
  });
  expect(await settings({}, { env })).toMatchObject({
    server: { kind: "network", endpoint: new URL("https://variable.example/graphql") },
    timeout: 1000,
  });
});

Deno.test("an empty variable counts as unset", async () => {
  const env = { ...HOME, SERVICE_API_URL: "", SERVICE_API_KEY: "", SERVICE_API_TIMEOUT: "" };
  const { server, headers, timeout } = await settings({}, { env });
  expect(server.kind).toBe("embedded");
  expect([...headers]).toEqual([]);
  expect(timeout).toBe(30_000);
});

for (
  const [platform, env, directory] of [
    ["linux", HOME, "/home/user/.local/share/service-api"],
    ["linux", { ...HOME, XDG_DATA_HOME: "/data" }, "/data/service-api"],
    ["linux", { ...HOME, XDG_DATA_HOME: "relative" }, "/home/user/.local/share/service-api"],
    ["darwin", HOME, "/home/user/Library/Application Support/service-api"],
    ["darwin", { ...HOME, XDG_DATA_HOME: "/data" }, "/home/user/Library/Application Support/service-api"],
    ["windows", { LOCALAPPDATA: "C:\\Users\\u\\AppData\\Local" }, "C:\\Users\\u\\AppData\\Local\\service-api"],
    ["windows", { ...HOME, LOCALAPPDATA: "D:\\Data", XDG_DATA_HOME: "/data" }, "D:\\Data\\service-api"],
  ] as const
) {
  Deno.test(`on ${platform} with ${JSON.stringify(env)} the store is in ${directory}`, async () => {
    const host = Object.assign(new FakeHost([], { env }), { platform });
    expect((await readSettings({}, host, SILENT_LOG)).server).toEqual(inDirectory(directory));
  });
}

for (
  const [flag, flags] of [
    ["--data-dir", { dataDir: "/flag" }],
    ["--database-url", { databaseUrl: "postgres://a@localhost" }],
  ] as const satisfies readonly (readonly [string, ServerFlags])[]
) {
  Deno.test(`${flag} selects the embedded server even if SERVICE_API_URL is set`, async () => {
    const env = { ...HOME, SERVICE_API_URL: "https://variable.example" };
    expect((await settings(flags, { env })).server).toMatchObject({ kind: "embedded" });
  });

  Deno.test(`--base-url with ${flag} is a usage error`, async () => {
    await expect(settings({ ...flags, baseUrl: "https://flag.example" }, { env: HOME })).rejects.toMatchObject({
      code: "USAGE",
      message: "--base-url selects a server; --data-dir and --database-url select a local store. Use only one of them.",
    });
  });
}

Deno.test("SERVICE_API_URL wins over SERVICE_API_DATABASE_URL", async () => {
  const env = { ...HOME, SERVICE_API_URL: "https://host.example", SERVICE_API_DATABASE_URL: "postgres://a@localhost" };
  expect((await settings({}, { env })).server).toMatchObject({ kind: "network" });
});

Deno.test("without a home directory, the message says how to set a server, a config file or a data directory", async () => {
  await expect(settings({})).rejects.toThrow(
    /SERVICE_API_URL and SERVICE_API_KEY_FILE, .* SERVICE_API_CONFIG .* --data-dir or SERVICE_API_DATA_DIR/,
  );
  const windows = Object.assign(new FakeHost([], { env: HOME }), { platform: "windows" as const });
  await expect(readSettings({}, windows, SILENT_LOG)).rejects.toThrow(/--data-dir or SERVICE_API_DATA_DIR/);
});

Deno.test("the key is sent in Authorization as a bearer credential", async () => {
  const { headers } = await settings({}, { env: { ...HOME, SERVICE_API_KEY: " sak_1\n" } });
  expect([...headers]).toEqual([["authorization", "Bearer sak_1"]]);
});

Deno.test("--key-header sends the bare key in that header, and --header adds headers", async () => {
  const flags = { baseUrl: "https://host.example", keyHeader: "X-API-Key", header: ["X-Team: ops", "X-Empty:"] };
  const { headers } = await settings(flags, { env: { ...HOME, SERVICE_API_KEY: "abc" } });
  expect([...headers]).toEqual([["x-team", "ops"], ["x-empty", ""], ["x-api-key", "abc"]]);
  const env = { ...HOME, SERVICE_API_KEY: "abc", SERVICE_API_KEY_HEADER: "X-Other" };
  expect([...(await settings({ baseUrl: "https://host.example" }, { env })).headers]).toEqual([["x-other", "abc"]]);
});

Deno.test("the embedded server always receives the key as a bearer credential", async () => {
  const { headers } = await settings({ keyHeader: "X-API-Key" }, { env: { ...HOME, SERVICE_API_KEY: "abc" } });
  expect([...headers]).toEqual([["authorization", "Bearer abc"]]);
});

Deno.test("the key can be read from a file or from standard input", async () => {
  await withFile("sak_from_file\r\n", async (path) => {
    const byFlag = await settings({ keyFile: path }, { env: { ...HOME, SERVICE_API_KEY: "sak_variable" } });
    expect(byFlag.headers.get("authorization")).toBe("Bearer sak_from_file");
    const byVariable = await settings({}, { env: { ...HOME, SERVICE_API_KEY_FILE: path } });
    expect(byVariable.headers.get("authorization")).toBe("Bearer sak_from_file");
  });
  const piped = await settings({ keyFile: "-" }, { env: HOME, stdin: "sak_piped\n" });
  expect(piped.headers.get("authorization")).toBe("Bearer sak_piped");
});

for (
  const [what, content] of [
    ["a byte order mark", "\ufeffsak_from_file\n"],
    ["a byte order mark and Windows line ends", "\ufeffsak_from_file\r\n"],
    ["Windows line ends and empty lines", "\r\nsak_from_file\r\n\r\n"],
    ["UTF-16, as PowerShell writes it with >", inUtf16("\ufeffsak_from_file\r\n")],
  ] as const
) {
  Deno.test(`the key is read from a file with ${what}`, async () => {
    await withFile(content, async (path) => {
      const { headers } = await settings({ keyFile: path }, { env: HOME });
      expect(headers.get("authorization")).toBe("Bearer sak_from_file");
    });
  });
}

Deno.test("a byte order mark before a piped key and a Windows line end after it are removed", async () => {
  const { headers } = await settings({ keyFile: "-" }, { env: HOME, stdin: "\ufeffsak_piped\r\n" });
  expect(headers.get("authorization")).toBe("Bearer sak_piped");
});

Deno.test("the case of the letters in --key-header does not matter", async () => {
  const flags = { baseUrl: "https://host.example", keyHeader: "AUTHORIZATION" };
  const { headers } = await settings(flags, { env: { ...HOME, SERVICE_API_KEY: "abc" } });
  expect([...headers]).toEqual([["authorization", "Bearer abc"]]);
});

Deno.test("--key-file - does not read a key from a terminal", async () => {
  const host = Object.assign(new FakeHost([], { env: HOME }), {
    stdin: { isTerminal: () => true, readText: () => Promise.reject(new Error("read")) },
  });
  await expect(readSettings({ keyFile: "-" }, host, SILENT_LOG)).rejects.toThrow(/is a terminal\. Pipe the value in/);
});

for (
  const [what, flags, env, message] of [
    ["a key in both variables", {}, { SERVICE_API_KEY: "a", SERVICE_API_KEY_FILE: "b" }, /both set/],
    ["a missing key file", { keyFile: "/nonexistent" }, {}, /--key-file: cannot read "\/nonexistent"/],
    ["an empty key file", { keyFile: EMPTY_FILE }, {}, /^--key-file is empty\.$/],
    [
      "a key of two words",
      {},
      { SERVICE_API_KEY: "top secret" },
      /^SERVICE_API_KEY must contain exactly one word/,
    ],
    ["a key with a line break", {}, { SERVICE_API_KEY: "top\nsecret" }, /must contain exactly one word/],
    ["an invalid key header", { keyHeader: "a b" }, { SERVICE_API_KEY: "abc" }, /name of a header/],
    [
      "a reserved key header",
      { keyHeader: "Content-Type" },
      { SERVICE_API_KEY: "abc" },
      /that service-api sets itself/,
    ],
    ["a reserved header", { header: ["content-type: text/plain"] }, {}, /that service-api sets itself/],
    ["a header that is set twice", { header: ["X-A: 1", "x-a: 2"] }, {}, /twice/],
    ["a --header with the name of the header that carries the key", { header: ["Authorization: x"] }, {
      SERVICE_API_KEY: "abc",
    }, /twice/],
    ["a header without a colon", { header: ["secret"] }, {}, /must be 'Name: value'/],
    ["a header with a line break", { header: ["a: b\r\nsecret: d"] }, {}, /must be 'Name: value'/],
    [
      "a CA file without a certificate",
      { baseUrl: "https://a", caFile: EMPTY_FILE },
      {},
      /^--ca-file names ".*", which contains no PEM certificate\.$/,
    ],
    ["an invalid timeout", { timeout: "30" }, {}, /^--timeout must be a duration/],
    [
      "an invalid limit for responses",
      { maxResponseSize: "1GB" },
      {},
      /^--max-response-size must be a size from 1B to 500MB/,
    ],
    [
      "an invalid timeout in the variable",
      {},
      { SERVICE_API_TIMEOUT: "soon" },
      /^SERVICE_API_TIMEOUT must be a duration/,
    ],
    ["an empty --data-dir", { dataDir: "" }, {}, /^--data-dir is empty\. Name a directory\.$/],
  ] as const satisfies readonly (readonly [string, ServerFlags, Record<string, string>, RegExp])[]
) {
  Deno.test(`${what} is a usage error, and the message repeats no secret`, async () => {
    const result = settings(flags, { env: { ...HOME, ...env } });
    await expect(result).rejects.toMatchObject({ code: "USAGE", message: expect.stringMatching(message) });
    await expect(result).rejects.not.toThrow(/secret/);
  });
}
