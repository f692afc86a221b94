/** `store copy`: its output, its progress bar, and what it requires. `tests/store/copy/` tests what it copies. */
import { expect } from "expect";
import { DatabaseSync } from "node:sqlite";
import { run } from "../../../../src/cli/program.ts";
import type { Outcome } from "../../../execute.ts";
import { fromSources } from "../../../program/from_sources.ts";
import { inProcess } from "../../../program/program.ts";
import { TerminalHost } from "../../../program/terminal_host.ts";
import { onPosix } from "../../../posix.ts";
import { until } from "../../../server/until.ts";
import { addAll } from "../../../store/changes.ts";
import { newKeys } from "../../../store/stored_key.ts";
import { inTemporaryDirectory, withStoreIn } from "../../../store/temporary_store.ts";

interface Directories {
  /** A store with two keys. */
  readonly from: string;
  /** Does not exist yet. */
  readonly to: string;
}

function withSource(test: (directories: Directories) => Promise<void>): Promise<void> {
  return inTemporaryDirectory(async (parent) => {
    const directories = { from: `${parent}/old`, to: `${parent}/new` };
    await withStoreIn(directories.from, async (store) => addAll(store, await newKeys(2)));
    await test(directories);
  });
}

/** Runs the command without a home directory. */
function copy(...flags: readonly string[]): Promise<Outcome> {
  return inProcess(["store", "copy", ...flags]);
}

Deno.test("store copy says how much it has copied, from where and to where", () =>
  withSource(async ({ from, to }) => {
    expect(await copy("--from", from, "--data-dir", to)).toEqual({
      code: 0,
      stdout: `Copied 2 API keys, 0 resources and 2 audit events from ${from}/keys.db to ${to}/keys.db.\n`,
      stderr: "",
    });
  }));

Deno.test("store copy --json prints the numbers as one line of JSON, and a failure too", () =>
  withSource(async ({ from, to }) => {
    const flags = ["--from", from, "--data-dir", to, "--json"];
    expect(await copy(...flags)).toEqual({
      code: 0,
      stdout: '{"keys":2,"resources":0,"auditEvents":2}\n',
      stderr: "",
    });
    const { code, stdout, stderr } = await copy(...flags);
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    expect(JSON.parse(stdout)).toEqual({ error: expect.stringContaining("is not empty"), code: "FAILED" });
  }));

Deno.test("after store copy, the secrets of the old store work in the new one, the previous secret in its grace period too", () =>
  withSource(async ({ from, to }) => {
    const inOld = ["--data-dir", from];
    const { stdout: previous } = await inProcess(["apikey", "create", "rotated", "--roles", "VIEWER", ...inOld]);
    const { stdout: current } = await inProcess(["apikey", "rotate", "rotated", "--grace", "1h", ...inOld]);
    await copy("--from", from, "--data-dir", to);
    const verify = async (secret: string): Promise<Outcome> =>
      await inProcess(["apikey", "verify", "--data-dir", to, "--key-file", "-", "--json"], { stdin: secret });
    for (const secret of [previous, current]) {
      // deno-lint-ignore no-await-in-loop -- one command at a time
      const { code, stdout } = await verify(secret);
      expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ active: true, name: "rotated" })]);
    }
  }));

Deno.test("store copy never copies to the default store: without a destination, it is a usage error", () =>
  withSource(async ({ from }) => {
    expect(await copy("--from", from)).toEqual({
      code: 2,
      stdout: "",
      stderr: "service-api: The destination is missing. Add --database-url or --data-dir.\n",
    });
  }));

Deno.test("store copy without --from, and store without a command, are usage errors that say what is missing", async () => {
  const { code, stderr } = await copy("--data-dir", "new");
  expect([code, stderr]).toEqual([2, expect.stringContaining("--from is missing.")]);
  const store = await inProcess(["store"]);
  expect([store.code, store.stderr]).toEqual([2, expect.stringContaining("Choose a command: copy.")]);
});

Deno.test("at a terminal, store copy shows a progress bar, which disappears, and then says what to do next", () =>
  withSource(async ({ from, to }) => {
    const host = new TerminalHost(["store", "copy", "--from", from, "--data-dir", to]);
    expect(await run(host)).toBe(0);
    expect(host.stderr.text).toContain("Copying 2/4");
    expect(host.stderr.text).toContain("Copying 4/4");
    expect((await host.screen.text()).replaceAll("\n", " ").trim()).toBe(
      `Next, run service-api serve with the same --data-dir. Do not start a server with ${from}/keys.db again: keys ` +
        "that you delete or disable from now on would still be valid there.",
    );
  }));

onPosix("SIGINT")(
  "Ctrl-C ends store copy while another process locks the destination, and says that nothing was copied",
  () =>
    withSource(async ({ from, to }) => {
      await withStoreIn(to, () => Promise.resolve());
      using destination = new DatabaseSync(`${to}/keys.db`);
      destination.exec("BEGIN IMMEDIATE");
      const child = new Deno.Command(Deno.execPath(), {
        args: [...fromSources(), "store", "copy", "--from", from, "--data-dir", to],
        stdin: "null",
        stdout: "piped",
        stderr: "piped",
      }).spawn();
      const output = child.output();
      await until(() => isLocked(`${from}/keys.db`));
      child.kill("SIGINT");
      const { code, stderr } = await output;
      expect([code, new TextDecoder().decode(stderr)]).toEqual([
        130,
        "service-api: Interrupted. Nothing was copied.\n",
      ]);
    }),
);

/** Returns whether another process keeps the store to itself. */
function isLocked(path: string): boolean {
  using database = new DatabaseSync(path);
  try {
    database.prepare("SELECT 1 FROM api_key").get();
    return false;
  } catch {
    return true;
  }
}
