/** The README is run: its shell commands as they stand, in their order, and its tables against the program. */
import { expect } from "expect";
import deno from "../deno.json" with { type: "json" };
import { EXIT_CODES } from "../src/cli/exit_code.ts";
import { parseConfig } from "../src/cli/config_file/yaml.ts";
import { installFromSources } from "./program/from_sources.ts";
import { inProcess } from "./program/program.ts";
import { testOnPostgres } from "./store/postgres_server.ts";
import { execute } from "./execute.ts";
import { onPosix } from "./posix.ts";
import { headingOf, README, SECTIONS, textsIn } from "./readme.ts";

/** The sections whose commands have tests of their own. */
const TESTED_APART = ["Install", "Container", "Recipes"];

const TESTED_HERE = SECTIONS.filter((section) => !TESTED_APART.includes(headingOf(section))).join("## ");

/** The blocks of shell commands that use the program itself. */
const BLOCKS = textsIn(TESTED_HERE, "sh").filter((block) => block.includes("service-api "));

/** The database that they use, some of them. */
const DATABASE_URL = "postgres://service_api@localhost:5432/keys";

/** A port that was free a moment ago. */
function freePort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  return port;
}

/** Runs blocks in a home of their own, with port 4000 for one that is free, and returns what they print. */
async function runBlocks(
  blocks: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<readonly string[]> {
  const home = await Deno.makeTempDir({ prefix: "service-api-readme-" });
  try {
    await Deno.mkdir(`${home}/bin`);
    await installFromSources(`${home}/bin/service-api`);
    const script = [...blocks, "wait"].join("\n").replaceAll("4000", String(freePort()));
    const { code, stdout, stderr } = await execute("bash", ["-euc", script], {
      cwd: home,
      env: {
        PATH: `${home}/bin:${Deno.env.get("PATH")}`,
        HOME: home,
        XDG_DATA_HOME: home,
        XDG_CONFIG_HOME: home,
        ...env,
      },
    });
    if (code !== 0) throw new Error(stderr);
    expect(stderr).not.toMatch(/Unexpected error/);
    return stdout.replaceAll(/(sak|key)_\w+/g, "$1_…").replaceAll(/"\d{4}-[^"]+Z"/g, '"…"').split("\n");
  } finally {
    await Deno.remove(home, { recursive: true });
  }
}

const needsDatabase = (block: string): boolean => block.includes(DATABASE_URL);

onPosix("a POSIX shell")("the commands of the README work as written", async () => {
  expect(await runBlocks(BLOCKS.filter((block) => !needsDatabase(block)))).toEqual([
    '{"key":"sak_…","name":"nightly backup","id":"key_…"}',
    "Successfully deleted 1 API key",
    '{"deleted":1,"keys":[{"id":"key_…","name":"nightly backup"}]}',
    '{"data":{"apiKeys":[{"name":"first admin","roles":["ADMIN"],"createdAt":"…"},' +
    '{"name":"temporary","roles":[],"createdAt":"…"}]}}',
    "Successfully deleted 1 API key",
    '{"data":{"apiKey":null}}',
    expect.stringMatching(/^Logged in to http:\/\/127\.0\.0\.1:\d+ as "ci admin" \(key_…\)\.$/),
    '{"data":{"me":{"name":"ci admin"}}}',
    expect.stringMatching(/^Logged out of http:\/\/127\.0\.0\.1:\d+\.$/),
    expect.stringContaining('"errors"'),
    "status 1",
    "",
  ]);
});

await testOnPostgres("the commands of the README on PostgreSQL", {}, (server) => {
  Deno.test("the commands of the README on PostgreSQL work as written", () =>
    server.withNewDatabase(async (name) => {
      const { host, port, user, password } = server.address(name);
      const url = `postgres://${user}@${host}:${port}/${name}`;
      const blocks = BLOCKS.filter(needsDatabase).map((block) => block.replace(DATABASE_URL, url));
      expect(await runBlocks(blocks, { PGPASSWORD: password })).toEqual([
        expect.stringMatching(/^\{"data":\{"me":\{"name":"fleet admin"/),
        "",
      ]);
    }));
});

Deno.test("the config file of the README is a good one", () => {
  const [text = ""] = textsIn(README, "yaml");
  const { profiles } = parseConfig(text, "config.yaml", (path) => path);
  expect([...profiles.keys()]).toEqual(["default", "staging", "local"]);
  expect(profiles.get("staging")?.headers).toHaveLength(1);
});

Deno.test("releases that the README names are of the version in deno.json", () => {
  const named = [...README.matchAll(/(?:releases\/download\/v|service-api-)(\d+\.\d+\.\d+)/g)];
  expect(new Set(named.map(([, version]) => version))).toEqual(new Set([deno.version]));
});

Deno.test("the table of codes has every code with its exit status", () => {
  const rows = [...README.matchAll(/^\| (`[A-Z_]+`(?:, `[A-Z_]+`)*) *\| (\d+) *\|/gm)].flatMap((
    [, codes = "", status],
  ) => codes.split(", ").map((code) => [code.slice(1, -1), Number(status)]));
  expect(Object.fromEntries(rows)).toEqual(EXIT_CODES);
});

Deno.test("every flag of the help is in the README, and every variable in both and in the permissions", async () => {
  const help = (await Promise.all(
    ["apikey", "request", "serve", "audit", "config", "login", "logout", "completions"].map(async (command) =>
      (await inProcess([command, "--help"])).stdout
    ),
  )).join("");
  const flags = new Set(help.match(/--[a-z]+(-[a-z]+)*/g));
  expect([...flags].filter((flag) => flag !== "--help" && !README.includes(`\`${flag}`))).toEqual([]);
  const variables = new Set(TESTED_HERE.match(/SERVICE_API_[A-Z_]+/g));
  expect([...variables].filter((name) => !help.includes(name))).toEqual([]);
  expect([...variables].filter((name) => !deno.tasks.start.command.includes(name))).toEqual([]);
});
