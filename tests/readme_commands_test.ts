/** Runs the commands in the READMEs as written, with the program from its sources. */
import { expect } from "expect";
import { denoDirectory, installProgram } from "./program/from_sources.ts";
import { testOnPostgres } from "./store/postgres/server.ts";
import { execute } from "./execute.ts";
import { freePort } from "./free_port.ts";
import { headingOf, README, sectionsIn, SERVER_README, TESTS_README, textsIn } from "./readme.ts";
import { testWith } from "./tools.ts";

const ROOT = `${import.meta.dirname}/..`;

/** The sections whose commands are tested in tests/scripts/, tests/container/ and tests/recipes/. */
const TESTED_ELSEWHERE: readonly string[] = ["Install", "Container", "Guarding a service"];

/** The database that some commands use. */
const DATABASE_URL = "postgres://service_api@localhost:5432/keys";

/** The shell blocks of a README, without the blocks that other tests run. */
function commandsIn(readme: string): readonly string[] {
  const sections = sectionsIn(readme).filter((section) => !TESTED_ELSEWHERE.includes(headingOf(section)));
  return textsIn(sections.join("## "), "sh").filter((block) => !/\bnpx -y |sqlite3 /.test(block));
}

/**
 * Runs blocks in one shell with a new home directory, and with a free port instead of 4000.
 *
 * @returns the lines on standard output, with `…` in place of secrets, ids and times
 * @throws {Error} with the text on standard error, if a command fails
 */
async function runBlocks(
  blocks: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<readonly string[]> {
  expect(blocks).not.toEqual([]);
  const home = await Deno.makeTempDir({ prefix: "service-api-readme-" });
  try {
    await Deno.mkdir(`${home}/bin`);
    await installProgram(`${home}/bin/service-api`);
    const script = [...blocks, "wait"].join("\n").replaceAll("4000", String(freePort()));
    const { code, stdout, stderr } = await execute("bash", ["-euc", script], {
      cwd: home,
      env: { PATH: `${home}/bin:${Deno.env.get("PATH")}`, HOME: home, ...env },
      clearEnv: true,
    });
    if (code !== 0) throw new Error(stderr);
    expect(stderr).not.toMatch(/WARNING/);
    return stdout.trimEnd().replaceAll(/(sak|key)_\w+/g, "$1_…").replaceAll(/"\d{4}-[^"]+Z"/g, '"…"').split("\n");
  } finally {
    await Deno.remove(home, { recursive: true });
  }
}

const needsDatabase = (block: string): boolean => block.includes(DATABASE_URL);

testWith(["bash", "jq"], "the commands of README.md work as written", async () => {
  expect(await runBlocks(commandsIn(README))).toEqual([
    "sak_…",
    '{"key":"sak_…","name":"nightly backup","id":"key_…"}',
    "API_KEY:READ_ANY",
    "first key\tVIEWER",
    "nightly backup\tVIEWER",
    "first key",
    "nightly backup",
    "ci deploy",
    "key report",
    "Successfully deleted 2 API keys",
    '{"deleted":1,"keys":[{"id":"key_…","name":"nightly backup"}]}',
    "No API keys found to delete",
    "No API keys found to delete",
    "created    nightly backup",
    "           secret in backup.key",
    "create     report",
    "           would write the secret to report.key",
    "created    report",
    "           secret in report.key",
    '{"data":{"apiKeys":[{"name":"first key","roles":["VIEWER"],"createdAt":"…"},' +
    '{"name":"ci deploy","roles":["VIEWER"],"createdAt":"…"},' +
    '{"name":"nightly backup","roles":["VIEWER"],"createdAt":"…"},' +
    '{"name":"report","roles":["VIEWER"],"createdAt":"…"},' +
    '{"name":"first admin","roles":["ADMIN"],"createdAt":"…"},' +
    '{"name":"temporary","roles":[],"createdAt":"…"}]}}',
    "Successfully deleted 1 API key",
    expect.stringMatching(/"action":"CREATE".*"temporary"/),
    expect.stringMatching(/"action":"DELETE".*"temporary"/),
    expect.stringMatching(/^Logged in to http:\/\/127\.0\.0\.1:\d+ as "first admin" \(key_…\)\.$/),
    '{"data":{"me":{"name":"first admin"}}}',
    expect.stringMatching(/^Logged out of http:\/\/127\.0\.0\.1:\d+\. Profile local keeps this URL\.$/),
  ]);
});

testWith(["bash", "curl"], "the commands of src/server/README.md work as written", async () => {
  expect(await runBlocks(commandsIn(SERVER_README).filter((block) => !needsDatabase(block)))).toEqual([
    "ok",
    '{"data":{"me":{"name":"first admin"}}}',
    expect.stringMatching(/^\{"data":\{"me":\{"id":"key_…","name":"first admin","roles":\["ADMIN"\],/),
    expect.stringContaining('"errors"'),
    "exit code 1",
  ]);
});

const BACKUP = "the backup commands of src/server/README.md copy the store";
if (Deno.build.os === "linux") testWith(["bash", "sqlite3"], BACKUP, testBackup);
else Deno.test.ignore(`${BACKUP} (skipped: the commands need Linux)`, () => {});

async function testBackup(): Promise<void> {
  const backup = textsIn(SERVER_README, "sh").filter((block) => block.includes("sqlite3"));
  expect(
    await runBlocks([
      'service-api apikey --create --name "ci deploy" --roles VIEWER > ci.key',
      ...backup,
      "mkdir restored && mv keys.backup.db restored/keys.db",
      "service-api request --data-dir restored --query '{ apiKeys { name } }'",
    ]),
  ).toEqual(['{"data":{"apiKeys":[{"name":"ci deploy"}]}}']);
}

await testOnPostgres("the commands of src/server/README.md on PostgreSQL", {}, (server) => {
  /** Runs blocks with a new database instead of the one that they name, and expects these lines on standard output. */
  const expectOnDatabase = (blocks: readonly string[], lines: readonly unknown[]): Promise<void> =>
    server.withNewDatabase(async (name) => {
      const { host, port, user, password } = server.address(name);
      const url = `postgres://${user}@${host}:${port}/${name}`;
      const adapted = blocks.map((block) => block.replace(DATABASE_URL, url));
      expect(await runBlocks(adapted, { PGPASSWORD: password })).toEqual(lines);
    });
  const blocks = commandsIn(SERVER_README).filter(needsDatabase);
  const copiesStore = (block: string): boolean => block.includes("store copy");

  Deno.test("the commands of src/server/README.md on PostgreSQL work as written", () =>
    expectOnDatabase(blocks.filter((block) => !copiesStore(block)), ['{"data":{"me":{"name":"fleet admin"}}}']));

  testWith(
    ["bash"],
    "the commands of src/server/README.md move a server to PostgreSQL, where every secret of the old server works",
    () => {
      const oldServer = `service-api resource add ORDERS > /dev/null
service-api apikey create "ci deploy" --permissions ORDERS:READ_ANY --secret-file ci.key
service-api apikey create "rotated" --roles VIEWER --secret-file previous.key
service-api apikey rotate "rotated" --grace 1h --secret-file current.key
`;
      const useNewServer = `until grep -q Listening moved.log; do kill -0 $moved || break; sleep 0.1; done
for key in ci previous current; do
  service-api request --base-url http://127.0.0.1:4000 --key-file $key.key --query '{ me { name } }'
done
kill $moved
`;
      return expectOnDatabase([oldServer, ...blocks.filter(copiesStore), useNewServer], [
        expect.stringMatching(
          /^Copied 2 API keys, 1 resource and 4 audit events from .* to 127\.0\.0\.1:\d+\/test_\d+\.$/,
        ),
        '{"data":{"me":{"name":"ci deploy"}}}',
        '{"data":{"me":{"name":"rotated"}}}',
        '{"data":{"me":{"name":"rotated"}}}',
      ]);
    },
  );
});

/**
 * Runs a block that calls `npx -y deno@… task …`. A script in place of `npx` runs the task with this Deno. For the task
 * `compile`, the script writes an empty file and prints its path, because other tests compile and run the executable.
 */
async function runInCheckout(block: string): Promise<{ readonly stdout: string; readonly installed: boolean }> {
  const directory = await Deno.makeTempDir({ prefix: "service-api-checkout-" });
  try {
    const npx = `#!/bin/sh
[ "$1" = -y ] && [ "$3" = task ] || exit 9
case $2 in deno@2.*) shift 3 ;; *) exit 9 ;; esac
case "$*" in *compile) : > service-api-target && echo service-api-target; exit ;; esac
exec '${Deno.execPath()}' task --config '${ROOT}/deno.json' "$@"
`;
    await Deno.mkdir(`${directory}/bin`);
    await Deno.writeTextFile(`${directory}/bin/npx`, npx, { mode: 0o755 });
    const { code, stdout, stderr } = await execute("sh", ["-euc", block], {
      cwd: directory,
      env: {
        PATH: `${directory}/bin:${Deno.env.get("PATH")}`,
        HOME: directory,
        DENO_DIR: await denoDirectory(),
      },
      clearEnv: true,
    });
    if (code !== 0) throw new Error(stderr);
    const installed = await Deno.stat(`${directory}/.local/bin/service-api`).then(() => true, () => false);
    return { stdout, installed };
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

const [COMPILE = "", FROM_SOURCES = ""] = textsIn(README, "sh").filter((block) => block.includes("npx -y "));
const [CREATE = "", TEST = ""] = FROM_SOURCES.split("\n");

testWith(
  ["sh"],
  "the command of README.md that runs the sources prints a key and nothing else on standard output",
  async () => {
    expect((await runInCheckout(CREATE)).stdout).toMatch(/^sak_\w{49}\n$/);
  },
);

testWith(["sh"], "the commands of README.md install the compiled executable in ~/.local/bin", async () => {
  expect((await runInCheckout(COMPILE)).installed).toBe(true);
});

Deno.test("the test command in README.md is one line that .ci/run finds", async () => {
  expect(TEST).toMatch(/^npx -y deno@2\.\d+\.\d+ task test$/);
  expect(await Deno.readTextFile(`${ROOT}/.ci/run`)).toContain(
    "grep -m 1 -oE '^npx -y deno@[0-9.]+ task test$' README.md",
  );
});

Deno.test("the commands of tests/README.md run tests", async () => {
  const [block = ""] = textsIn(TESTS_README, "sh");
  const commands = block.trimEnd().split("\n");
  expect(commands).not.toEqual([]);
  await Promise.all(commands.map(async (line) => {
    const [program, ...args] = line.replaceAll('"', "").split(" ");
    expect(program).toBe("deno");
    const { stdout } = await execute(Deno.execPath(), args, { cwd: ROOT, env: { NO_COLOR: "1" } });
    expect(stdout).toMatch(/[1-9]\d* passed .*\| 0 failed/);
  }));
});
