/** What `serve` writes to standard error when it has started. */
import { expect } from "expect";
import { reportStart, type StartedServer } from "../../../../src/cli/commands/serve/start_report.ts";
import { settingFrom } from "../../../../src/cli/settings/setting.ts";
import { FakeHost } from "../../../program/program.ts";
import { TerminalHost } from "../../../program/terminal_host.ts";
import { SERVER } from "./started_server.ts";

const NONE = { active: 0, disabled: 0, expired: 0 };

const EMPTY: StartedServer = { ...SERVER, countKeys: () => Promise.resolve(NONE) };

const DATABASE = {
  kind: "database",
  address: {
    host: "db",
    port: 5432,
    user: "u",
    password: "hidden",
    database: "keys",
    label: "db:5432/keys",
    tls: undefined,
  },
} as const;

const URL = "postgres://u:hidden@db:5432/keys";

async function atTerminal(server: StartedServer, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const host = new TerminalHost(["serve"], { env });
  await reportStart(server, host, () => false);
  expect(host.stdout.text).toBe("");
  return host.stderr.text;
}

Deno.test("at a terminal, serve says its version, its store and its source, how many keys it has, and that TLS is off", async () => {
  expect(await atTerminal(SERVER)).toBe(
    `  Version  1.2.3
  Store    /home/me/.local/share/service-api/keys.db (default)
  Keys     3 active, 1 disabled
  TLS      off; local connections only
  Log in   service-api login --base-url http://127.0.0.1:4000
  Stop     Ctrl-C
`,
  );
});

Deno.test("serve does not say how to log in if a profile is in use or other machines can connect", async () => {
  expect(await atTerminal({ ...SERVER, profile })).not.toContain("service-api login");
  expect(await atTerminal({ ...SERVER, hostname: "0.0.0.0" })).not.toContain("service-api login");
});

Deno.test("if the store is empty, serve says so, with the commands that create the first key and log in", async () => {
  expect(await atTerminal(EMPTY)).toBe(
    `  Version  1.2.3
  Store    /home/me/.local/share/service-api/keys.db (default)
  TLS      off; local connections only
  Stop     Ctrl-C

No keys yet. Create the first key in another terminal, and log in with it:
  service-api apikey --create --name admin --roles ADMIN
  service-api login --base-url http://127.0.0.1:4000

`,
  );
});

Deno.test("in a terminal of 40 columns and 15 lines, all that serve says about an empty store is visible", async () => {
  const host = new TerminalHost(["serve"], { columns: 40, rows: 15 });
  const version = "service-api 1.2.3 (0123456789, x86_64-unknown-linux-gnu)";
  await reportStart({ ...EMPTY, version }, host, () => false);
  const lines = await host.screen.window();
  expect(lines).toContain("  Version  1.2.3\n");
  expect(lines).toContain("\nNo keys yet.");
});

const fromVariable = settingFrom("variable", "SERVICE_API_DATABASE_URL", URL);
const fromFile = settingFrom("file", "/config.yaml:3:5", URL);
const profile = { name: "db", values: new Map([["databaseUrl", fromFile]] as const), headers: [] };
for (
  const [what, server, env, lines] of [
    [
      "the store of --data-dir",
      {
        store: { dataDir: settingFrom("flag", "--data-dir", "/my keys"), databaseUrl: undefined },
        location: { kind: "directory", path: "/my keys" },
      },
      {},
      "another terminal, and log in with it:\n  service-api apikey --create --name admin --roles ADMIN --data-dir '/my keys'\n",
    ],
    [
      "the default store although SERVICE_API_URL selects a server",
      {},
      { SERVICE_API_URL: "https://keys.example" },
      "--roles ADMIN --data-dir /home/me/.local/share/service-api\n",
    ],
    [
      "the database of a variable",
      { store: { dataDir: undefined, databaseUrl: fromVariable }, location: DATABASE },
      {},
      "another terminal with the same\nSERVICE_API_DATABASE_URL, and log in with it:\n  service-api apikey --create --name admin --roles ADMIN\n",
    ],
    [
      "the database of a profile",
      {
        store: { dataDir: undefined, databaseUrl: fromFile },
        location: DATABASE,
        profile,
        flags: { config: "my.yaml" },
      },
      {},
      "another terminal:\n  service-api apikey --create --name admin --roles ADMIN --profile db --config my.yaml\n",
    ],
  ] as const
) {
  Deno.test(`the command for the first key uses ${what}, and contains no password`, async () => {
    const text = await atTerminal({ ...EMPTY, ...server }, env);
    expect(text).toContain(lines);
    expect(text).not.toContain("hidden");
  });
}

Deno.test("serve says if other machines can connect, and that they send keys unencrypted without TLS", async () => {
  expect(await atTerminal({ ...SERVER, hostname: "0.0.0.0" })).toContain(
    "TLS      off; other machines can connect, and send keys unencrypted\n",
  );
  expect(await atTerminal({ ...SERVER, hostname: "0.0.0.0", isTls: true })).toContain(
    "TLS      on; other machines can connect\n",
  );
});

Deno.test("if the keys cannot be counted, serve says why", async () => {
  const countKeys = (): Promise<never> => Promise.reject(new Error("The database does not answer."));
  expect(await atTerminal({ ...SERVER, countKeys })).toContain("Keys     unknown: The database does not answer.\n");
});

Deno.test("in a pipe, serve writes the same as lines of JSON, and nothing if it is already stopping", async () => {
  const host = new FakeHost(["serve"]);
  await reportStart({ ...EMPTY, metricsUrl: "http://127.0.0.1:9000/metrics" }, host, () => false);
  const time = expect.any(String);
  expect(host.stderr.text.trimEnd().split("\n").map((line) => JSON.parse(line))).toEqual([
    {
      time,
      level: "info",
      message: "The server started.",
      version: "service-api 1.2.3",
      url: "http://127.0.0.1:4000/graphql",
      metricsUrl: "http://127.0.0.1:9000/metrics",
      store: "/home/me/.local/share/service-api/keys.db",
      tls: false,
      keys: NONE,
    },
    {
      time,
      level: "warning",
      message: "The store has no keys. Create the first key.",
      command: "service-api apikey --create --name admin --roles ADMIN",
    },
  ]);
  const stopping = new FakeHost(["serve"]);
  await reportStart(EMPTY, stopping, () => true);
  expect(stopping.stderr.text).toBe("");
});
