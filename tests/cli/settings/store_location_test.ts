/** Where the embedded server keeps its keys, from flags and environment. */
import { expect } from "expect";
import type { Log } from "../../../src/cli/host/log.ts";
import type { ServerFlags } from "../../../src/cli/settings/server_flags.ts";
import { readSettings } from "../../../src/cli/connection/settings.ts";
import { chooseStore, readStoreLocation, type StoreFlags } from "../../../src/cli/settings/store_location.ts";
import { FakeHost, inProcess } from "../../program/program.ts";

type Environment = Readonly<Record<string, string>>;

const HOME = { HOME: "/home/user" };
const FLAG = "postgres://flag@localhost/keys";
const VARIABLE = "postgres://variable@localhost/keys";

interface Read {
  readonly location: Awaited<ReturnType<typeof readStoreLocation>>;
  readonly warnings: readonly string[];
}

async function read(flags: StoreFlags, env: Environment): Promise<Read> {
  const warnings: string[] = [];
  const log: Log = {
    debug: () => {},
    warn: (message) => void warnings.push(message),
    error: () => {},
    flush: () => Promise.resolve(),
  };
  const host = new FakeHost([], { env: { ...HOME, ...env } });
  return { location: await readStoreLocation(chooseStore(flags, host), host, log), warnings };
}

for (
  const [what, flags, env, location] of [
    ["neither flag nor variable", {}, {}, "/home/user/.local/share/service-api"],
    ["SERVICE_API_DATA_DIR", {}, { SERVICE_API_DATA_DIR: "/variable" }, "/variable"],
    ["--data-dir and SERVICE_API_DATA_DIR", { dataDir: "/flag" }, { SERVICE_API_DATA_DIR: "/variable" }, "/flag"],
    ["SERVICE_API_DATABASE_URL", {}, { SERVICE_API_DATABASE_URL: VARIABLE }, "variable"],
    [
      "--database-url and SERVICE_API_DATABASE_URL",
      { databaseUrl: FLAG },
      { SERVICE_API_DATABASE_URL: VARIABLE },
      "flag",
    ],
    ["--database-url and SERVICE_API_DATA_DIR", { databaseUrl: FLAG }, { SERVICE_API_DATA_DIR: "/variable" }, "flag"],
    ["--data-dir and SERVICE_API_DATABASE_URL", { dataDir: "/flag" }, { SERVICE_API_DATABASE_URL: VARIABLE }, "/flag"],
    ["both variables", {}, { SERVICE_API_DATABASE_URL: VARIABLE, SERVICE_API_DATA_DIR: "/variable" }, "variable"],
    [
      "an empty SERVICE_API_DATABASE_URL",
      {},
      { SERVICE_API_DATABASE_URL: "", SERVICE_API_DATA_DIR: "/variable" },
      "/variable",
    ],
  ] as const satisfies readonly (readonly [string, StoreFlags, Environment, string])[]
) {
  Deno.test(`with ${what} keys are kept ${location.startsWith("/") ? "in" : "in the database of"} ${location}`, async () => {
    const { location: found, warnings } = await read(flags, env);
    expect(found).toEqual(
      location.startsWith("/")
        ? { kind: "directory", path: location }
        : { kind: "database", address: expect.objectContaining({ user: location }) },
    );
    expect(warnings).toEqual([]);
  });
}

Deno.test("--data-dir and --database-url together are a usage error", async () => {
  await expect(read({ dataDir: "/flag", databaseUrl: FLAG }, {})).rejects.toMatchObject({
    code: "USAGE",
    message: "Give either --data-dir or --database-url, not both.",
  });
});

for (const flags of [{ dataDir: "/flag" }, { databaseUrl: FLAG }] as const satisfies readonly StoreFlags[]) {
  const [flag = ""] = Object.keys(flags);

  Deno.test(`--base-url with ${flag} is a usage error`, async () => {
    const all: ServerFlags = { baseUrl: "https://host.example", ...flags };
    const log = { debug: () => {}, warn: () => {}, error: () => {}, flush: () => Promise.resolve() };
    await expect(readSettings(all, new FakeHost([], { env: HOME }), log)).rejects.toMatchObject({
      code: "USAGE",
      message: expect.stringMatching(
        /--base-url names a server, --data-dir and --database-url a store: give one of them/,
      ),
    });
  });

  Deno.test(`${flag} asks for the embedded server, whatever server the environment names`, async () => {
    const env = { ...HOME, SERVICE_API_URL: "https://host.example" };
    const log = { debug: () => {}, warn: () => {}, error: () => {}, flush: () => Promise.resolve() };
    expect((await readSettings(flags, new FakeHost([], { env }), log)).server).toMatchObject({ kind: "embedded" });
  });
}

Deno.test("SERVICE_API_URL is asked though SERVICE_API_DATABASE_URL is set, which is for serve", async () => {
  const env = { ...HOME, SERVICE_API_URL: "https://host.example", SERVICE_API_DATABASE_URL: VARIABLE };
  const log = { debug: () => {}, warn: () => {}, error: () => {}, flush: () => Promise.resolve() };
  expect((await readSettings({}, new FakeHost([], { env }), log)).server).toMatchObject({ kind: "network" });
});

Deno.test("a password in --database-url is warned of, without showing it; elsewhere it is not", async () => {
  const secret = "postgres://app:hidden@localhost/keys";
  const { warnings } = await read({ databaseUrl: secret }, {});
  expect(warnings).toEqual([
    expect.stringMatching(/can see the password in --database-url: use SERVICE_API_DATABASE_URL or PGPASSWORD/),
  ]);
  expect(warnings.join()).not.toContain("hidden");
  expect((await read({ databaseUrl: "postgres://app:p@ss@localhost/keys" }, {})).warnings).toHaveLength(1);
  expect((await read({}, { SERVICE_API_DATABASE_URL: secret })).warnings).toEqual([]);
  expect((await read({ databaseUrl: FLAG }, { PGPASSWORD: "hidden" })).warnings).toEqual([]);
  expect((await read({ databaseUrl: "postgres://app@localhost:5432/a:b" }, {})).warnings).toEqual([]);
});

Deno.test("a bad URL in the variable is told by the name of the variable", async () => {
  await expect(read({}, { SERVICE_API_DATABASE_URL: "localhost" })).rejects.toMatchObject({
    code: "USAGE",
    message: expect.stringMatching(/^SERVICE_API_DATABASE_URL takes a URL/),
  });
});

Deno.test("a database that does not answer is UNREACHABLE, in words that show no password", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  const env = { SERVICE_API_DATABASE_URL: `postgres://app:hidden@127.0.0.1:${port}/keys` };
  const args = ["apikey", "--delete", "--name", "new", "--timeout", "5s", "--json"];
  const { code, stdout, stderr } = await inProcess(args, { env });
  expect(code).toBe(4);
  expect(JSON.parse(stdout)).toMatchObject({
    code: "UNREACHABLE",
    error: expect.stringContaining(`127.0.0.1:${port}/keys`),
  });
  expect(stdout + stderr).not.toContain("hidden");
});
