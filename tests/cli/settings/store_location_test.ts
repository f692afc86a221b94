/** How flags and variables select the place where the embedded server stores keys. */
import { expect } from "expect";
import { chooseStore, readStoreLocation, type StoreFlags } from "../../../src/cli/settings/store_location.ts";
import { FakeHost, inProcess } from "../../program/program.ts";
import { SILENT_LOG } from "../../../src/cli/host/log.ts";

type Environment = Readonly<Record<string, string>>;

const FLAG = "postgres://flag@localhost/keys";
const VARIABLE = "postgres://variable@localhost/keys";

interface Read {
  readonly location: Awaited<ReturnType<typeof readStoreLocation>>;
  readonly warnings: readonly string[];
}

async function read(flags: StoreFlags, env: Environment): Promise<Read> {
  const warnings: string[] = [];
  const log = { ...SILENT_LOG, warn: (message: string) => void warnings.push(message) };
  const host = new FakeHost([], { env: { HOME: "/home/user", ...env } });
  return { location: await readStoreLocation(chooseStore(flags, host), host, log), warnings };
}

Deno.test("a database URL as the data directory is rejected, and the message repeats no password", async () => {
  const reading = read({ dataDir: "postgres://user:pass@host/keys" }, {});
  await expect(reading).rejects.toThrow("--data-dir must be a directory. A database needs --database-url.");
});

const DIRECTORY = { SERVICE_API_DATA_DIR: "/variable" };
const DATABASE = { SERVICE_API_DATABASE_URL: VARIABLE };

for (
  const [what, flags, env, location] of [
    ["neither flag nor variable", {}, {}, "/home/user/.local/share/service-api"],
    ["SERVICE_API_DATA_DIR", {}, DIRECTORY, "/variable"],
    ["--data-dir and SERVICE_API_DATA_DIR", { dataDir: "/flag" }, DIRECTORY, "/flag"],
    ["--database-url and both variables", { databaseUrl: FLAG }, { ...DIRECTORY, ...DATABASE }, "flag"],
    ["--data-dir and SERVICE_API_DATABASE_URL", { dataDir: "/flag" }, DATABASE, "/flag"],
    ["both variables", {}, { ...DATABASE, ...DIRECTORY }, "variable"],
    ["an empty SERVICE_API_DATABASE_URL", {}, { ...DIRECTORY, SERVICE_API_DATABASE_URL: "" }, "/variable"],
  ] as const satisfies readonly (readonly [string, StoreFlags, Environment, string])[]
) {
  const isDirectory = location.startsWith("/");

  const store = isDirectory
    ? `in ${location}`
    : `the database of ${location === "flag" ? "--database-url" : "SERVICE_API_DATABASE_URL"}`;

  Deno.test(`with ${what} the store is ${store}`, async () => {
    const { location: found, warnings } = await read(flags, env);
    expect(found).toEqual(
      isDirectory
        ? { kind: "directory", path: location }
        : { kind: "database", address: expect.objectContaining({ user: location }) },
    );
    expect(warnings).toEqual([]);
  });
}

Deno.test("--data-dir and --database-url together are a usage error", async () => {
  await expect(read({ dataDir: "/flag", databaseUrl: FLAG }, {})).rejects.toMatchObject({
    code: "USAGE",
    message: "Use either --data-dir or --database-url, not both.",
  });
});

Deno.test("a password in --database-url causes a warning that does not show it, and a password in a variable causes no warning", async () => {
  const secret = "postgres://app:hidden@localhost/keys";
  expect((await read({ databaseUrl: secret }, {})).warnings).toEqual([
    "Every user of this machine can see the password in --database-url. Use SERVICE_API_DATABASE_URL or PGPASSWORD.",
  ]);
  expect((await read({ databaseUrl: "postgres://app:p@ss@localhost/keys" }, {})).warnings).toHaveLength(1);
  expect((await read({}, { SERVICE_API_DATABASE_URL: secret })).warnings).toEqual([]);
  expect((await read({ databaseUrl: FLAG }, { PGPASSWORD: "hidden" })).warnings).toEqual([]);
  expect((await read({ databaseUrl: "postgres://app@localhost:5432/a:b" }, {})).warnings).toEqual([]);
});

Deno.test("the message for an invalid URL in SERVICE_API_DATABASE_URL names this variable", async () => {
  await expect(read({}, { SERVICE_API_DATABASE_URL: "localhost" })).rejects.toMatchObject({
    code: "USAGE",
    message: expect.stringMatching(/^SERVICE_API_DATABASE_URL must be a URL/),
  });
});

Deno.test("a database that refuses the connection is UNREACHABLE, and the message shows no password", async () => {
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
