/** Which of flag, variable, profile and default wins, and which server receives a profile's key. */
import { expect } from "expect";
import { run } from "../../../src/cli/program.ts";
import { runAtTerminal } from "../../program/terminal_host.ts";
import { until } from "../../server/until.ts";
import type { ServerFlags } from "../../../src/cli/settings/server_flags.ts";
import { readSettings } from "../../../src/cli/connection/settings.ts";
import { withServerFlags } from "../../../src/cli/settings/server_flags.ts";
import { flagOf, SETTINGS } from "../../../src/cli/settings/table.ts";
import { Command } from "@commander-js/extra-typings";
import { startServer } from "../../client/foreign_server.ts";
import { freePort } from "../../free_port.ts";
import { onPosix } from "../../posix.ts";
import { type ConfigHome, configHome, SECRET, SILENT } from "../config_file/config_home.ts";

const testWithModes = onPosix("file modes");

type Environment = Readonly<Record<string, string>>;

const PROFILE = `profiles:
  default:
    base-url: https://profile.example
    key-file: own.key
    key-header: X-Profile-Key
    headers: { X-Team: ops, X-Site: one }
    ca-file: ca.pem
    timeout: 1m
`;

const PEM = "-----BEGIN CERTIFICATE-----\n";

async function homeWith(config: string): Promise<ConfigHome> {
  const home = await configHome(config);
  await Deno.writeTextFile(`${home.directory}/own.key`, `${SECRET}\n`);
  await Deno.writeTextFile(`${home.directory}/ca.pem`, PEM);
  return home;
}

/** The server, headers, timeout and CA certificates that take effect. */
async function effective(config: string, flags: ServerFlags = {}, env: Environment = {}): Promise<object> {
  await using home = await homeWith(config);
  const { server, headers, timeout } = await readSettings(flags, home.host({ env }), SILENT);
  const address = server.kind === "network" ? server.endpoint.host : server.location;
  const ca = server.kind === "network" ? server.caCertificates : undefined;
  return { server: address, headers: Object.fromEntries(headers), timeout, ca };
}

const OF_PROFILE = { "x-team": "ops", "x-site": "one", "x-profile-key": SECRET };

Deno.test("every setting in the table has a flag", () => {
  const { options } = withServerFlags(new Command("any"));
  expect(options.map((option) => [option.attributeName(), option.long]).toSorted()).toEqual(
    Object.keys(SETTINGS).map((key) => [key, options.find((option) => option.attributeName() === key)?.long])
      .toSorted(),
  );
  expect(options.map(({ flags, description }) => [flags, description])).toEqual(
    expect.arrayContaining(Object.values(SETTINGS).map(({ option, help }) => [option, expect.stringContaining(help)])),
  );
  expect(flagOf("baseUrl")).toBe("--base-url");
});

testWithModes("the profile named default is used if neither a flag nor a variable selects a profile", async () => {
  expect(await effective(PROFILE)).toEqual({
    server: "profile.example",
    headers: OF_PROFILE,
    timeout: 60_000,
    ca: PEM,
  });
});

testWithModes(
  "a flag wins over its variable, the variable over the profile, the profile over the default",
  async () => {
    const timeout = async (config: string, flags: ServerFlags, env: Environment): Promise<unknown> =>
      await effective(config, { dataDir: "/d", ...flags }, env);
    const env = { SERVICE_API_TIMEOUT: "2s" };
    expect(await timeout(PROFILE, { timeout: "1s" }, env)).toMatchObject({ timeout: 1000 });
    expect(await timeout(PROFILE, {}, env)).toMatchObject({ timeout: 2000 });
    expect(await timeout(PROFILE, {}, {})).toMatchObject({ timeout: 60_000 });
    expect(await timeout("profiles:\n", {}, {})).toMatchObject({ timeout: 30_000 });
  },
);

testWithModes("--profile wins over SERVICE_API_PROFILE, which wins over the profile named default", async () => {
  const config = "profiles: { default: { timeout: 1s }, a: { timeout: 2s }, b: { timeout: 3s } }";
  const env = { SERVICE_API_PROFILE: "a" };
  expect(await effective(config)).toMatchObject({ timeout: 1000 });
  expect(await effective(config, {}, env)).toMatchObject({ timeout: 2000 });
  expect(await effective(config, { profile: "b" }, env)).toMatchObject({ timeout: 3000 });
});

testWithModes("a profile name may look like a number", async () => {
  expect(await effective("profiles: { 2024: { timeout: 2s } }", { profile: "2024" })).toMatchObject({ timeout: 2000 });
});

testWithModes(
  "an unknown profile is a usage error that suggests the nearest name and lists all names",
  async () => {
    await using home = await configHome("profiles: { default: {}, staging: {} }");
    expect(await home.run(["config", "--profile", "stagng"])).toEqual({
      code: 2,
      stdout: "",
      stderr: `service-api: --profile: ${home.path} has no profile "stagng". Did you mean staging? ` +
        "The file has these profiles: default, staging.\n",
    });
    await using empty = await configHome();
    const { code, stderr } = await empty.run(["config"], { env: { SERVICE_API_PROFILE: "a" } });
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `service-api: SERVICE_API_PROFILE: ${empty.path} has no profiles. Create one with service-api login.\n`,
    });
  },
);

testWithModes("--header adds to the profile's headers, and replaces one with the same name", async () => {
  expect(await effective(PROFILE, { header: ["x-team: dev", "X-Trace: 1"] })).toMatchObject({
    headers: { "x-team": "dev", "x-trace": "1", "x-site": "one", "x-profile-key": SECRET },
  });
});

testWithModes("a key from a variable wins over the key of the profile", async () => {
  expect(await effective(PROFILE, {}, { SERVICE_API_KEY: "abc" })).toMatchObject({
    headers: { "x-profile-key": "abc" },
  });
});

const ALONE = { headers: {}, timeout: 60_000, ca: undefined };

for (
  const [what, flags, env, expected] of [
    ["--base-url of another server", { baseUrl: "https://other.example" }, {}, { server: "other.example", ...ALONE }],
    ["SERVICE_API_URL of another server", {}, { SERVICE_API_URL: "https://other.example" }, {
      server: "other.example",
      ...ALONE,
    }],
    ["--base-url of another port", { baseUrl: "https://profile.example:8443" }, {}, {
      server: "profile.example:8443",
      ...ALONE,
    }],
    ["--data-dir", { dataDir: "/d" }, {}, { server: { kind: "directory", path: "/d" }, ...ALONE }],
    ["SERVICE_API_DATA_DIR", {}, { SERVICE_API_DATA_DIR: "/d" }, {
      server: { kind: "directory", path: "/d" },
      ...ALONE,
    }],
  ] as const satisfies readonly (readonly [string, ServerFlags, Environment, object])[]
) {
  testWithModes(
    `with ${what} the profile's key, headers and CA certificates are ignored, but not its timeout`,
    async () => {
      expect(await effective(PROFILE, flags, env)).toEqual(expected);
    },
  );
}

for (const baseUrl of ["https://profile.example/", "https://PROFILE.example:443/graphql"]) {
  testWithModes(`--base-url ${baseUrl} is the profile's server`, async () => {
    expect(await effective(PROFILE, { baseUrl })).toMatchObject({ headers: OF_PROFILE, ca: PEM });
  });
}

testWithModes("allow-http of a profile applies only to the profile's server", async () => {
  const config = "profiles: { default: { base-url: 'http://profile.example', allow-http: true } }";
  expect(await effective(config)).toMatchObject({ server: "profile.example" });
  expect(await effective(config, { baseUrl: "http://profile.example/graphql" })).toMatchObject({
    server: "profile.example",
  });
  await expect(effective(config, { baseUrl: "http://other.example" })).rejects.toThrow(/unencrypted to other\.example/);
});

testWithModes("a profile without a server and without a store is used with every server and every store", async () => {
  const config = "profiles: { default: { key-file: own.key } }";
  const headers = { authorization: `Bearer ${SECRET}` };
  expect(await effective(config, { baseUrl: "https://other.example" })).toMatchObject({
    server: "other.example",
    headers,
  });
  expect(await effective(config, { dataDir: "/d" })).toMatchObject({ headers });
});

testWithModes("the key of a profile with a store is not sent to a server", async () => {
  const config = "profiles: { default: { data-dir: /d, key-file: own.key } }";
  expect(await effective(config)).toMatchObject({ headers: { authorization: `Bearer ${SECRET}` } });
  expect(await effective(config, { baseUrl: "https://other.example" })).toMatchObject({ headers: {} });
});

testWithModes("a profile's server wins over its store", async () => {
  expect(await effective("profiles: { default: { data-dir: /d, base-url: 'https://a.example' } }")).toMatchObject({
    server: "a.example",
  });
});

for (
  const [what, flags, env] of [
    ["a flag", (url: string) => ["--base-url", url], () => ({})],
    ["a variable", () => [], (url: string) => ({ SERVICE_API_URL: url })],
  ] as const satisfies readonly (readonly [string, (url: string) => string[], (url: string) => Environment])[]
) {
  testWithModes(`the profile's key and headers are not sent to another server that ${what} selects`, async () => {
    await using home = await homeWith(PROFILE);
    await using other = startServer(() => Response.json({ data: {} }));
    const surroundings = { env: { ...env(other.url), LOG_LEVEL: "debug" } };
    const { code, stdout, stderr } = await home.run(
      ["request", "--query", "{ me { id } }", ...flags(other.url)],
      surroundings,
    );
    expect(code).toBe(0);
    const [request] = other.requests;
    expect(Object.fromEntries(request?.headers ?? [])).not.toHaveProperty("authorization");
    const received = JSON.stringify([...request?.headers ?? [], request?.body]);
    expect(received).not.toMatch(/sak_|ops|x-team|x-site|x-profile-key/i);
    expect(stdout + stderr).not.toContain(SECRET);
    expect(stderr).toMatch(/key-file from .*config\.yaml:4:15 is ignored: .* selects another server/);
  });
}

testWithModes("the profile's key and headers reach the profile's server", async () => {
  await using server = startServer(() => Response.json({ data: {} }));
  await using home = await homeWith(PROFILE.replace("https://profile.example", server.url).replace(/ca-file.*/, ""));
  expect((await home.run(["request", "--query", "{ me { id } }"])).code).toBe(0);
  expect(Object.fromEntries(server.requests[0]?.headers ?? [])).toMatchObject(OF_PROFILE);
});

testWithModes("serve and the other commands use the store of the profile", async () => {
  await using home = await configHome("profiles:\n  default:\n    data-dir: store\n");
  const made = await home.run(["apikey", "--create", "--name", "one", "--roles", "ADMIN"]);
  const host = Object.assign(home.host(), { args: ["serve", "--port", "0"] });
  const running = run(host);
  await until(() => host.stdout.text.includes("\n"));
  const env = { SERVICE_API_URL: /http\S+/.exec(host.stdout.text)?.[0] ?? "", SERVICE_API_KEY: made.stdout.trim() };
  const server = await home.run(["request", "--query", "{ me { name } }"], { env });
  host.handlers.get("SIGTERM")?.();
  expect(await running).toBe(0);
  expect(server.stdout).toBe('{"data":{"me":{"name":"one"}}}\n');
  expect(await Deno.stat(`${home.directory}/store/keys.db`)).toMatchObject({ isFile: true });
});

for (
  const [variable, value] of [
    ["SERVICE_API_DATA_DIR", "elsewhere"],
    ["SERVICE_API_URL", "http://127.0.0.1:1"],
  ] as const
) {
  testWithModes(`if ${variable} wins over the profile that --profile selects, a warning says so`, async () => {
    await using home = await configHome("profiles:\n  production:\n    base-url: https://production.example\n");
    const env = { [variable]: value.startsWith("http") ? value : `${home.home}/${value}` };
    const named = await home.run(["config", "--profile", "production"], { env });
    expect(named.code).toBe(0);
    expect(named.stderr).toMatch(
      new RegExp(
        `WARNING The server or store of profile "production" is not used: ${variable} selects .*\\. To use the profile's, unset ${variable}\\.`,
      ),
    );
    expect((await home.run(["config", "--profile", "production"])).stderr).toBe("");
    expect((await home.run(["config"], { env })).stderr).toBe("");
  });
}

testWithModes(
  "the warning that a profile's server is not used names every flag and variable that wins over it",
  async () => {
    await using home = await configHome("profiles:\n  production:\n    base-url: https://production.example\n");
    const env = { SERVICE_API_URL: "http://127.0.0.1:1", SERVICE_API_DATABASE_URL: "postgres://a@localhost" };
    const { stderr } = await home.run(["config", "--profile", "production", "--data-dir", "/d"], { env });
    expect(stderr).toMatch(
      /not used: --data-dir selects a store\. To use the profile's, omit --data-dir and unset SERVICE_API_URL and SERVICE_API_DATABASE_URL\.\n$/,
    );
  },
);

for (
  const [source, args, env, advice] of [
    ["a flag", (url) => ["--base-url", url], () => ({}), "Check --base-url."],
    ["a variable", () => [], (url) => ({ SERVICE_API_URL: url }), "Check SERVICE_API_URL."],
    ["a profile", () => ["--profile", "gone"], () => ({}), 'Check the base-url of profile "gone".'],
  ] as const satisfies readonly (readonly [string, (url: string) => string[], (url: string) => Environment, string])[]
) {
  testWithModes(`if the server of ${source} cannot be reached, the message names ${source}`, async () => {
    const port = freePort();
    const url = `http://127.0.0.1:${port}`;
    await using home = await configHome(`profiles:\n  gone:\n    base-url: ${url}\n`);
    const { code, stderr } = await home.run(["request", "--query", "{ me { id } }", ...args(url)], { env: env(url) });
    expect({ code, stderr }).toEqual({
      code: 4,
      stderr: `service-api: Could not reach 127.0.0.1:${port}: connection refused. Is the server running? ${advice}\n`,
    });
  });
}

testWithModes("if a server fails or does not speak TLS, the message names where its URL comes from", async () => {
  await using server = startServer(() => new Response(null, { status: 501 }));
  const { host } = new URL(server.url);
  await using home = await configHome(
    `profiles:\n  broken: { base-url: "${server.url}" }\n  tls: { base-url: "https://${host}" }\n`,
  );
  const problem = async (profile: string): Promise<string> =>
    (await home.run(["request", "--query", "{ me { id } }", "--profile", profile])).stderr;
  expect(await problem("broken")).toBe(
    `service-api: ${host} answered with HTTP status 501. Check the server and the base-url of profile "broken".\n`,
  );
  expect(await problem("tls")).toBe(
    `service-api: Could not reach ${host}: the server does not speak TLS on this port. Should the base-url of profile ` +
      '"tls" begin with http://?\n',
  );
});

testWithModes(
  "at a terminal, a command says that it uses the local store although the config file has profiles",
  async () => {
    await using home = await configHome("profiles: { a: { base-url: https://a.example }, b: {}, c: {} }");
    const list = async (args: readonly string[], isTerminal: boolean): Promise<string> => {
      const all = ["apikey", "list", ...args];
      const env = { HOME: home.home };
      if (!isTerminal) return (await home.run(all)).stderr;
      const { host, code } = runAtTerminal(all, { env, columns: 1000 });
      expect(await code).toBe(0);
      return host.stderr.text;
    };
    const warning =
      `service-api: Warning: No profile is selected, so this uses the local store. "${home.path}" has the ` +
      "profiles a, b and c: add --profile a.\n";
    expect(await list([], true)).toContain(warning);
    for (const args of [["--data-dir", `${home.home}/keys`], ["--profile", "b"]]) {
      // deno-lint-ignore no-await-in-loop -- one command at a time
      expect(await list(args, true)).not.toContain("No profile is selected");
    }
    expect(await list([], false)).not.toContain("No profile is selected");
  },
);
