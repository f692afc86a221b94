/** Which server is asked and as whom, from flags and environment. */
import { expect } from "expect";
import { parseBaseUrl } from "../../../src/cli/settings/base_url.ts";
import type { Log } from "../../../src/cli/host/log.ts";
import type { ServerFlags } from "../../../src/cli/settings/server_flags.ts";
import { readSettings } from "../../../src/cli/connection/settings.ts";
import { FakeHost, type Surroundings } from "../../program/program.ts";

const HOME = { HOME: "/home/user" };

const SILENT: Log = { debug: () => {}, warn: () => {}, error: () => {}, flush: () => Promise.resolve() };

function inDirectory(path: string): object {
  return { kind: "embedded", location: { kind: "directory", path } };
}

function settings(flags: ServerFlags, surroundings: Surroundings = {}): ReturnType<typeof readSettings> {
  return readSettings(flags, new FakeHost([], surroundings), SILENT);
}

const EMPTY_FILE = await Deno.makeTempFile();
Deno.test.afterAll(() => Deno.remove(EMPTY_FILE));

async function withFile(text: string, use: (path: string) => Promise<void>): Promise<void> {
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(path, text);
    await use(path);
  } finally {
    await Deno.remove(path);
  }
}

for (
  const [typed, endpoint] of [
    ["https://host.example", "https://host.example/graphql"],
    ["https://host.example/", "https://host.example/graphql"],
    ["https://host.example/graphql", "https://host.example/graphql"],
    ["https://host.example/graphql/", "https://host.example/graphql"],
    ["https://host.example:8443/api//", "https://host.example:8443/api/graphql"],
    ["http://localhost:4000", "http://localhost:4000/graphql"],
    ["http://127.1:4000", "http://127.0.0.1:4000/graphql"],
    ["http://[::1]:4000/graphql", "http://[::1]:4000/graphql"],
  ] as const
) {
  Deno.test(`base URL ${typed} is asked at ${endpoint}`, () => {
    expect(parseBaseUrl(typed, "--base-url", false).href).toBe(endpoint);
  });
}

for (
  const [typed, message] of [
    ["host.example", /takes a URL/],
    ["localhost:4000", /takes a URL/],
    ["ftp://host.example", /takes a URL/],
    ["", /takes a URL/],
    ["https://user:pass@host.example", /may not contain a user or password/],
    ["https://host.example?key=1", /query or fragment/],
    ["https://host.example#a", /query or fragment/],
    ["http://host.example", /in clear to host\.example.*--allow-http/],
    ["http://127.0.0.1.evil.example", /in clear/],
    ["http://0.0.0.0:4000", /in clear/],
    ["http://service.localhost:4000", /in clear/],
  ] as const
) {
  Deno.test(`base URL ${JSON.stringify(typed)} is refused`, () => {
    expect(() => parseBaseUrl(typed, "--base-url", false)).toThrow(message);
    expect(() => parseBaseUrl(typed, "--base-url", false)).not.toThrow(/user:pass/);
  });
}

Deno.test("--allow-http lets a key cross the network in clear", () => {
  expect(parseBaseUrl("http://host.example", "--base-url", true).href).toBe("http://host.example/graphql");
});

Deno.test("a flag wins over its variable", async () => {
  const env = { SERVICE_API_URL: "https://variable.example", SERVICE_API_TIMEOUT: "1s" };
  const chosen = await settings({ baseUrl: "https://flag.example", timeout: "2m" }, { env });
  expect(chosen.server).toMatchObject({ kind: "network", endpoint: new URL("https://flag.example/graphql") });
  expect(chosen.timeout).toBe(120_000);
  const given = await settings({}, { env });
  expect(given.server).toMatchObject({ kind: "network", endpoint: new URL("https://variable.example/graphql") });
  expect(given.timeout).toBe(1000);
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
    ["windows", { LOCALAPPDATA: "C:\\Users\\u\\AppData\\Local" }, "C:\\Users\\u\\AppData\\Local\\service-api"],
  ] as const
) {
  Deno.test(`on ${platform} with ${JSON.stringify(env)} keys are kept in ${directory}`, async () => {
    const host = Object.assign(new FakeHost([], { env }), { platform });
    expect((await readSettings({}, host, SILENT)).server).toEqual(inDirectory(directory));
  });
}

Deno.test("--data-dir wins over SERVICE_API_DATA_DIR, which wins over the platform's directory", async () => {
  const env = { ...HOME, SERVICE_API_DATA_DIR: "/variable" };
  expect((await settings({ dataDir: "/flag" }, { env })).server).toEqual(inDirectory("/flag"));
  expect((await settings({}, { env })).server).toEqual(inDirectory("/variable"));
});

Deno.test("--data-dir asks for the embedded server, whatever server the environment names", async () => {
  const env = { ...HOME, SERVICE_API_URL: "https://variable.example" };
  expect((await settings({ dataDir: "/flag" }, { env })).server).toEqual(inDirectory("/flag"));
  const both = settings({ dataDir: "/flag", baseUrl: "https://flag.example" }, { env });
  await expect(both).rejects.toThrow(/give one of them/);
});

Deno.test("without a home the remedy is named", async () => {
  await expect(settings({})).rejects.toThrow(/--data-dir or SERVICE_API_DATA_DIR/);
});

Deno.test("the key goes as bearer credential into Authorization", async () => {
  const { headers } = await settings({}, { env: { ...HOME, SERVICE_API_KEY: " sak_1\n" } });
  expect([...headers]).toEqual([["authorization", "Bearer sak_1"]]);
});

Deno.test("--key-header takes the key bare, other headers go along", async () => {
  const flags = { baseUrl: "https://host.example", keyHeader: "X-API-Key", header: ["X-Team: ops", "X-Empty:"] };
  const { headers } = await settings(flags, { env: { ...HOME, SERVICE_API_KEY: "abc" } });
  expect([...headers]).toEqual([["x-team", "ops"], ["x-empty", ""], ["x-api-key", "abc"]]);
  const env = { ...HOME, SERVICE_API_KEY: "abc", SERVICE_API_KEY_HEADER: "X-Other" };
  expect([...(await settings({ baseUrl: "https://host.example" }, { env })).headers]).toEqual([["x-other", "abc"]]);
});

Deno.test("the embedded server gets the key as bearer credential, whatever header other servers want it in", async () => {
  const { headers } = await settings({ keyHeader: "X-API-Key" }, { env: { ...HOME, SERVICE_API_KEY: "abc" } });
  expect([...headers]).toEqual([["authorization", "Bearer abc"]]);
});

Deno.test("the key may come from a file or from standard input", async () => {
  await withFile("sak_from_file\r\n", async (path) => {
    const byFlag = await settings({ keyFile: path }, { env: { ...HOME, SERVICE_API_KEY: "sak_variable" } });
    expect(byFlag.headers.get("authorization")).toBe("Bearer sak_from_file");
    const byVariable = await settings({}, { env: { ...HOME, SERVICE_API_KEY_FILE: path } });
    expect(byVariable.headers.get("authorization")).toBe("Bearer sak_from_file");
  });
  const piped = await settings({ keyFile: "-" }, { env: HOME, stdin: "sak_piped\n" });
  expect(piped.headers.get("authorization")).toBe("Bearer sak_piped");
});

Deno.test("a key from a terminal is not waited for", async () => {
  const host = Object.assign(new FakeHost([], { env: HOME }), {
    stdin: { isTerminal: () => true, readText: () => Promise.reject(new Error("waited")) },
  });
  await expect(readSettings({ keyFile: "-" }, host, SILENT)).rejects.toThrow(/terminal: pipe it in/);
});

for (
  const [what, flags, env, message] of [
    ["two sources of the key", {}, { SERVICE_API_KEY: "a", SERVICE_API_KEY_FILE: "b" }, /both set/],
    ["a key file that is not there", { keyFile: "/nonexistent" }, {}, /--key-file: cannot read "\/nonexistent"/],
    ["a key file that is a directory", { keyFile: "/" }, {}, /--key-file: cannot read/],
    ["an empty key file", { keyFile: EMPTY_FILE }, {}, /--key-file has no key in it/],
    [
      "a key of two words",
      {},
      { SERVICE_API_KEY: "top secret" },
      /^SERVICE_API_KEY has something in it that is not a key/,
    ],
    ["a key with a line break", {}, { SERVICE_API_KEY: "top\nsecret" }, /not a key/],
    ["a key header that is none", { keyHeader: "a b" }, { SERVICE_API_KEY: "abc" }, /name of a header/],
    ["a key header that the request needs itself", { keyHeader: "Content-Type" }, { SERVICE_API_KEY: "abc" }, /own/],
    ["a header that the request needs itself", { header: ["content-type: text/plain"] }, {}, /own/],
    ["a header given twice", { header: ["X-A: 1", "x-a: 2"] }, {}, /twice/],
    ["a header that is also the key's", { header: ["Authorization: x"] }, { SERVICE_API_KEY: "abc" }, /twice/],
    ["a header without a colon", { header: ["secret"] }, {}, /takes 'Name: value'/],
    ["a header with a line break", { header: ["a: b\r\nsecret: d"] }, {}, /takes 'Name: value'/],
    ["a CA file without a certificate", { baseUrl: "https://a", caFile: EMPTY_FILE }, {}, /no PEM certificate/],
    ["a timeout without a unit", { timeout: "30" }, {}, /--timeout takes a duration/],
    ["a timeout of nothing", { timeout: "0s" }, {}, /--timeout takes a duration/],
    ["a timeout of a year", { timeout: "8760h" }, {}, /--timeout takes a duration/],
    ["a bad timeout in the variable", {}, { SERVICE_API_TIMEOUT: "soon" }, /SERVICE_API_TIMEOUT takes a duration/],
    ["an empty --data-dir", { dataDir: "" }, {}, /--data-dir takes a directory/],
  ] as const satisfies readonly (readonly [string, ServerFlags, Record<string, string>, RegExp])[]
) {
  Deno.test(`${what} is a usage error that repeats no secret`, async () => {
    const refusal = settings(flags, { env: { ...HOME, ...env } });
    await expect(refusal).rejects.toMatchObject({ code: "USAGE", message: expect.stringMatching(message) });
    await expect(refusal).rejects.not.toThrow(/secret/);
  });
}
