/** `serve`, run in this process: its flags, its output and its exit status. */
import { expect } from "expect";
import { run } from "../../../../src/cli/program.ts";
import type { Outcome } from "../../../execute.ts";
import { AUTHORITY, CERTIFICATE, PRIVATE_KEY } from "../../../client/certificates.ts";
import { FakeHost, inProcess } from "../../../program/program.ts";
import { Connection } from "../../../server/http/connection.ts";
import { until } from "../../../server/until.ts";
import { inTemporaryDirectory } from "../../../store/temporary_store.ts";

/** The system's message for a missing file. */
const NOT_THERE = Deno.build.os === "windows" ? "The system cannot find" : "No such file";

interface Serving {
  /** The URL that `serve` printed. */
  readonly url: string;
  readonly host: FakeHost;
  /** The secret of an ADMIN key. */
  readonly key: string;
  /** Sends a signal and waits for the exit status. */
  readonly stop: (signal?: "SIGINT" | "SIGTERM") => Promise<number>;
  readonly hangUp: () => void;
}

/** Runs a test while `serve` runs, on a free port and with its own store. */
function withServe(flags: readonly string[], test: (serving: Serving) => Promise<void>): Promise<void> {
  return inTemporaryDirectory(async (directory) => {
    const env = { SERVICE_API_DATA_DIR: `${directory}/data` };
    const made = await inProcess(["apikey", "--create", "--name", "admin", "--roles", "ADMIN"], { env });
    const host = new FakeHost(["serve", "--port", "0", ...flags], { env });
    const running = run(host);
    let isOver = false;
    void running.then(() => isOver = true);
    await until(() => isOver || host.stdout.text.includes("\n"));
    const url = /https?:\/\/\S+/.exec(host.stdout.text)?.[0];
    if (url === undefined) throw new Error(`serve printed ${host.stderr.text}`);
    const stop: Serving["stop"] = (signal = "SIGTERM") => {
      host.handlers.get(signal)?.();
      return running;
    };
    try {
      await test({ url, host, key: made.stdout.trim(), stop, hangUp: () => host.handlers.get("SIGHUP")?.() });
    } finally {
      await stop();
    }
  });
}

/** Creates a key through the server and returns when the key expires, in milliseconds since the epoch. */
async function expiryOf({ url, key }: Serving): Promise<number> {
  const query = 'mutation { apiKey { create(input: { name: "new", roles: [GUEST] }) { expiresAt } } }';
  const headers = { "authorization": `Bearer ${key}`, "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify({ query }) });
  return Date.parse((await response.json()).data.apiKey.create.expiresAt);
}

for (const flags of [["--max-key-lifetime", "2d"], ["--max-key-lifetime", "1w", "--default-key-lifetime", "48h"]]) {
  Deno.test(`with ${flags.join(" ")}, a new key expires after two days unless the client gives an expiry`, () =>
    withServe(flags, async (serving) => {
      const start = Date.now() + 2 * 86_400_000;
      const expiry = await expiryOf(serving);
      expect(expiry).toBeGreaterThanOrEqual(start);
      expect(expiry).toBeLessThanOrEqual(Date.now() + 2 * 86_400_000);
    }));
}

async function statusAt(url: string, init: RequestInit = {}): Promise<number> {
  const response = await fetch(url, init);
  await response.body?.cancel();
  return response.status;
}

/** Runs `serve` with flags that it must reject. */
async function rejected(...flags: readonly string[]): Promise<Outcome> {
  const directory = await Deno.makeTempDir({ prefix: "service-api-serve-" });
  try {
    return await inProcess(["serve", ...flags], { env: { SERVICE_API_DATA_DIR: `${directory}/data` } });
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** Runs a test with the paths of files for a certificate, its private key and another private key. */
function withTlsFiles(
  test: (
    files: { readonly cert: string; readonly key: string; readonly other: string; readonly directory: string },
  ) => Promise<void>,
): Promise<void> {
  return inTemporaryDirectory(async (directory) => {
    const { privateKey } = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, [
      "sign",
      "verify",
    ]);
    const pkcs8 = new Uint8Array(await crypto.subtle.exportKey("pkcs8", privateKey)).toBase64();
    const other = `-----BEGIN PRIVATE KEY-----\n${pkcs8.replaceAll(/.{64}/g, "$&\n")}\n-----END PRIVATE KEY-----\n`;
    const files = { cert: `${directory}/cert.pem`, key: `${directory}/key.pem`, other: `${directory}/other.pem` };
    await Promise.all([
      Deno.writeTextFile(files.cert, CERTIFICATE),
      Deno.writeTextFile(files.key, PRIVATE_KEY),
      Deno.writeTextFile(files.other, other),
    ]);
    await test({ ...files, directory });
  });
}

Deno.test("serve prints one line with its URL on standard output", () =>
  withServe([], async ({ url, host, stop }) => {
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/graphql$/);
    expect(await statusAt(url)).toBe(401);
    expect(await stop()).toBe(0);
    expect(host.stdout.text).toBe(`Listening on ${url}\n`);
  }));

Deno.test("serve --metrics-port 0 also prints the URL of the metrics, which are on this machine only, until it stops", () =>
  withServe(["--metrics-port", "0"], async ({ url, host, stop }) => {
    const [, metrics = ""] = / and (http:\/\/127\.0\.0\.1:\d+\/metrics)\n$/.exec(host.stdout.text) ?? [];
    expect(host.stdout.text).toBe(`Listening on ${url} and ${metrics}\n`);
    expect(new URL(metrics).port).not.toBe(new URL(url).port);
    expect(await statusAt(metrics)).toBe(200);
    expect(await stop()).toBe(0);
    await expect(fetch(metrics)).rejects.toThrow();
  }));

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.test(`serve exits with 0 on ${signal} if no request is in flight`, () =>
    withServe([], async ({ url, key, stop }) => {
      expect(await statusAt(`${url}?query={__typename}`, { headers: { authorization: `Bearer ${key}` } })).toBe(200);
      expect(await stop(signal)).toBe(0);
      await expect(fetch(url)).rejects.toThrow();
    }));
}

Deno.test("serve exits with 130 on SIGTERM if it is still waiting for its database", async () => {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const env = { SERVICE_API_DATABASE_URL: `postgres://a:b@127.0.0.1:${listener.addr.port}/c` };
  const host = new FakeHost(["serve", "--port", "0"], { env });
  const running = run(host);
  using _connection = await listener.accept();
  host.handlers.get("SIGTERM")?.();
  expect(await running).toBe(130);
  expect(host.stdout.text).toBe("");
  expect(host.stderr.text).toBe("service-api: Interrupted before the server was ready.\n");
});

Deno.test("at a terminal, serve says that it has stopped, in place of the ^C", () =>
  withServe([], async ({ host, stop }) => {
    host.stderr.isTerminal = () => true;
    expect(await stop("SIGINT")).toBe(0);
    expect(host.stderr.text).toMatch(/\rStopped\.\n$/);
  }));

Deno.test("serve exits with 1 and an error if --drain-timeout expires before a request finishes", () =>
  withServe(["--drain-timeout", "50ms"], async ({ url, key, host, stop }) => {
    using connection = await Connection.to(url);
    const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json", "Content-Length": "9" };
    await connection.request("POST", "/graphql", headers);
    await connection.send("{");
    expect(await statusAt(url)).toBe(401);
    expect(await stop()).toBe(1);
    expect((await connection.response()).status).toBe(503);
    expect(host.stderr.text).toContain("--drain-timeout expired. Stopped with 1 request still running.");
    expect(host.stderr.text).toContain('"status":503');
  }));

/** The lines of JSON on standard error. */
function logged(host: FakeHost): readonly Readonly<Record<string, unknown>>[] {
  return host.stderr.text.trimEnd().split("\n").map((line) => JSON.parse(line));
}

Deno.test("when it has started, serve says on standard error which store it uses and how many keys the store has", () =>
  withServe([], async ({ url, host }) => {
    await until(() => host.stderr.text !== "");
    expect(logged(host)).toEqual([
      expect.objectContaining({
        message: "The server started.",
        version: expect.stringMatching(/^service-api \d/),
        url,
        store: `${host.env("SERVICE_API_DATA_DIR")}/keys.db`,
        keys: { active: 1, disabled: 0, expired: 0 },
        tls: false,
      }),
    ]);
  }));

Deno.test("serve writes its access log before it exits, and writes no access log with --no-access-log", () =>
  withServe([], async ({ url, host, stop }) => {
    await statusAt(url);
    await statusAt(new URL("/healthz", url).href);
    await stop();
    expect(logged(host).filter(({ path }) => path).map(({ path, status }) => [path, status])).toEqual([
      ["/graphql", 401],
      ["/healthz", 200],
    ]);
    await withServe(["--no-access-log"], async (quiet) => {
      await statusAt(quiet.url);
      await quiet.stop();
      expect(quiet.host.stderr.text).not.toContain("status");
    });
  }));

Deno.test("serve enforces the limits set by its flags", () => {
  const flags = [
    "--max-body",
    "1KB",
    "--max-depth",
    "2",
    "--max-aliases",
    "1",
    "--max-tokens",
    "20",
    "--max-auth-failures",
    "2",
  ];
  return withServe(flags, async ({ url, key }) => {
    const post = async (query: string): Promise<string> => {
      const response = await fetch(url, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ query }),
      });
      return await response.text();
    };
    expect(await post("{ me { id } a: __typename }")).toContain('"data"');
    expect(await post("{ me { permissions { resource } } }")).toContain("3 levels of fields. The limit is 2.");
    expect(await post("{ a: __typename b: __typename }")).toContain("2 aliases. The limit is 1.");
    expect(await post(`{ ${"__typename ".repeat(19)} }`)).toContain("20 tokens");
    expect(await post(" ".repeat(1000))).toContain("at most 1000 bytes");
    expect([await statusAt(url), await statusAt(url), await statusAt(url)]).toEqual([401, 401, 429]);
  });
});

Deno.test("serve with --tls-cert and --tls-key uses HTTPS and prints an https URL", () =>
  withTlsFiles(({ cert, key }) =>
    withServe(["--host", "localhost", "--tls-cert", cert, "--tls-key", key], async ({ url, key: secret, stop }) => {
      expect(url).toMatch(/^https:\/\/localhost:\d+\/graphql$/);
      const args = ["request", "--base-url", url, "--query", "{ me { name } }"];
      const caFile = `${cert}.ca`;
      await Deno.writeTextFile(caFile, AUTHORITY);
      const env = { SERVICE_API_KEY: secret };
      expect(await inProcess([...args, "--ca-file", caFile], { env })).toEqual({
        code: 0,
        stdout: '{"data":{"me":{"name":"admin"}}}\n',
        stderr: "",
      });
      expect(await inProcess(args, { env })).toMatchObject({ code: 4, stderr: expect.stringContaining("--ca-file") });
      expect(await stop()).toBe(0);
    })
  ));

Deno.test("an unencrypted request to an HTTPS port gets no GraphQL response", () =>
  withTlsFiles(({ cert, key }) =>
    withServe(["--tls-cert", cert, "--tls-key", key], async ({ url, key: secret }) => {
      using connection = await Connection.to(url);
      await connection.request("GET", "/graphql?query={__typename}", { Authorization: `Bearer ${secret}` });
      const text = await connection.readToEnd();
      expect(text).not.toContain("data");
      expect(text).not.toMatch(/^HTTP\/1\.1 2/);
    })
  ));

const HAS_OPENSSL = await new Deno.Command("openssl", { args: ["version"], stdout: "null", stderr: "null" }).output()
  .then(({ success }) => success, () => false);

Deno.test({
  name: `After SIGHUP, serve uses the new certificate${HAS_OPENSSL ? "" : " (skipped: openssl is not installed)"}`,
  ignore: !HAS_OPENSSL,
  fn: () =>
    withTlsFiles(async ({ cert, key }) => {
      const args = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=old", "-keyout", key, "-out", cert];
      await new Deno.Command("openssl", { args, stdout: "null", stderr: "null" }).output();
      await withServe(
        ["--host", "localhost", "--tls-cert", cert, "--tls-key", key],
        async ({ url, key: secret, hangUp }) => {
          const caFile = `${cert}.ca`;
          await Deno.writeTextFile(caFile, AUTHORITY);
          const request = async (): Promise<number> => {
            const args = ["request", "--base-url", url, "--query", "{ me { name } }", "--ca-file", caFile];
            return (await inProcess(args, { env: { SERVICE_API_KEY: secret } })).code;
          };
          expect(await request()).toBe(4);
          await Promise.all([Deno.writeTextFile(cert, CERTIFICATE), Deno.writeTextFile(key, PRIVATE_KEY)]);
          hangUp();
          await until(async () => await request() === 0);
        },
      );
    }),
});

Deno.test("After SIGHUP, serve keeps its certificate if the new one is unusable, and logs the reason", () =>
  withTlsFiles(({ cert, key, other }) =>
    withServe(
      ["--host", "localhost", "--tls-cert", cert, "--tls-key", key],
      async ({ url, host, key: secret, hangUp, stop }) => {
        const caFile = `${cert}.ca`;
        await Promise.all([Deno.writeTextFile(caFile, AUTHORITY), Deno.copyFile(other, key)]);
        hangUp();
        await until(() => host.stderr.text.includes("does not match the certificate"));
        expect(host.stderr.text).toContain("SIGHUP: the server keeps its certificate.");
        const args = ["request", "--base-url", url, "--query", "{ me { name } }", "--ca-file", caFile];
        expect((await inProcess(args, { env: { SERVICE_API_KEY: secret } })).code).toBe(0);
        expect(await stop()).toBe(0);
      },
    )
  ));

Deno.test("After SIGHUP, serve without TLS goes on", () =>
  withServe([], async ({ url, host, hangUp, stop }) => {
    expect(host.handlers.has("SIGHUP")).toBe(true);
    hangUp();
    expect(await statusAt(new URL("/healthz", url).href)).toBe(200);
    expect(await stop()).toBe(0);
  }));

Deno.test({
  name: `serve rejects TLS 1.1${HAS_OPENSSL ? "" : " (skipped: openssl is not installed)"}`,
  ignore: !HAS_OPENSSL,
  fn: () =>
    withTlsFiles(({ cert, key }) =>
      withServe(["--tls-cert", cert, "--tls-key", key], async ({ url }) => {
        const connect = async (version: string): Promise<boolean> => {
          const args = ["s_client", "-connect", new URL(url).host, "-cipher", "ALL:@SECLEVEL=0", version];
          return (await new Deno.Command("openssl", { args, stdin: "null", stdout: "null", stderr: "null" }).output())
            .success;
        };
        expect(await connect("-tls1_1")).toBe(false);
        expect(await connect("-tls1_2")).toBe(true);
      })
    ),
});

for (
  const [what, flags, message] of [
    ["a certificate without a key", ["--tls-cert", "CERT"], /Use --tls-cert and --tls-key together\./],
    ["a key without a certificate", ["--tls-key", "KEY"], /Use --tls-cert and --tls-key together\./],
    [
      "a key that does not match the certificate",
      ["--tls-cert", "CERT", "--tls-key", "OTHER"],
      /The key in ".*other\.pem" does not match the certificate in ".*cert\.pem"/,
    ],
    [
      "a key instead of the certificate",
      ["--tls-cert", "KEY", "--tls-key", "KEY"],
      /--tls-cert: ".*key\.pem" contains no PEM certificate/,
    ],
    [
      "a certificate instead of the key",
      ["--tls-cert", "CERT", "--tls-key", "CERT"],
      /--tls-key: ".*cert\.pem" contains no PEM private key/,
    ],
    ["an invalid key", ["--tls-cert", "CERT", "--tls-key", "GARBAGE"], /--tls-key: ".*" contains no PEM private key/],
    [
      "a missing certificate",
      ["--tls-cert", "/missing/cert.pem", "--tls-key", "KEY"],
      new RegExp(`--tls-cert: cannot read "/missing/cert\\.pem": ${NOT_THERE}`),
    ],
  ] as const
) {
  Deno.test(`${what} is a usage error, and the message leaks no part of the private key`, () =>
    withTlsFiles(async ({ cert, key, other, directory }) => {
      await Deno.writeTextFile(
        `${directory}/garbage.pem`,
        "-----BEGIN PRIVATE KEY-----\nsecret\n-----END PRIVATE KEY-----\n",
      );
      const paths = new Map<string, string>([
        ["CERT", cert],
        ["KEY", key],
        ["OTHER", other],
        ["GARBAGE", `${directory}/garbage.pem`],
      ]);
      const { code, stdout, stderr } = await rejected(...flags.map((flag) => paths.get(flag) ?? flag));
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toMatch(message);
      expect(stderr).not.toMatch(/MIGHAg|secret/);
    }));
}

for (const address of ["0.0.0.0", "::", "127.0.0.1.evil.example", ""]) {
  Deno.test(`serve rejects --host ${JSON.stringify(address)} without TLS or --allow-http`, async () => {
    const { code, stdout, stderr } = await rejected("--host", address, "--port", "0");
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(
      /--host ".*" accepts connections from other machines\. .* sent unencrypted\. .*--tls-key.*--allow-http/,
    );
  });
}

for (
  const [flags, message] of [
    [["--metrics-port", "65536"], /--metrics-port must be a whole number from 0 to 65535/],
    [["--metrics-host", "::1"], /--metrics-host needs --metrics-port/],
    [["--port", "65536"], /--port must be a whole number from 0 to 65535, not "65536"/],
    [["--max-connections", "many"], /--max-connections must be a whole number/],
    [["--max-per-address", "-1"], /--max-per-address must be a whole number/],
    [["--max-body", "1GB"], /--max-body must be a size/],
    [["--max-depth", "deep"], /--max-depth must be a whole number/],
    [["--max-aliases", "1.5"], /--max-aliases must be a whole number/],
    [["--max-tokens", ""], /--max-tokens must be a whole number/],
    [["--max-keys", "x"], /--max-keys must be a whole number/],
    [["--max-auth-failures", "1e3"], /--max-auth-failures must be a whole number/],
    [["--request-timeout", "30"], /--request-timeout must be a duration/],
    [["--idle-timeout", "0s"], /--idle-timeout must be a duration/],
    [["--drain-timeout", "soon"], /--drain-timeout must be a duration/],
    [["--audit-retention", "0s"], /--audit-retention must be a duration from 1ms to 3650d/],
    [["--max-key-lifetime", "0s"], /--max-key-lifetime must be a duration/],
    [["--default-key-lifetime", "forever"], /--default-key-lifetime must be a duration/],
    [
      ["--default-key-lifetime", "2d", "--max-key-lifetime", "1d"],
      /--default-key-lifetime must not be longer than --max-key-lifetime/,
    ],
    [["--trust-proxy", "proxy.example"], /--trust-proxy .*"proxy\.example"/],
    [["--trust-proxy", "127.0.0.1", "--trust-proxy", "second.example"], /--trust-proxy .*"second\.example"/],
    [["--trust-proxy", "127.0.0.1,,10.0.0.0/8"], /--trust-proxy .*""/],
    [["--data-dir", "/a", "--database-url", "postgres://a@b/c"], /Use either --data-dir or --database-url/],
  ] as const
) {
  Deno.test(`serve ${flags.map((word) => word || '""').join(" ")} is a usage error`, async () => {
    const { code, stdout, stderr } = await rejected(...flags);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(message);
  });
}

Deno.test("serve with a metrics port in use is a usage error", async () => {
  using other = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { code, stdout, stderr } = await rejected("--port", "0", "--metrics-port", String(other.addr.port));
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(/Choose another --metrics-host or --metrics-port/);
});
