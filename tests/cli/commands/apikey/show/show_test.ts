/** `apikey show`: what it prints, and which key it finds. */
import { expect } from "expect";
import type { StoredKey } from "../../../../../src/store/stored_key.ts";
import { startServerWithOtherRoles } from "../../../../client/other_roles.ts";
import { embedded, overHttp } from "../../../../program/installations.ts";
import { inProcess } from "../../../../program/program.ts";
import { KEYS } from "../../../../program/screen.ts";
import { runAtTerminal, TerminalHost } from "../../../../program/terminal_host.ts";
import { run } from "../../../../../src/cli/program.ts";
import { addAll } from "../../../../store/changes.ts";
import { newKey } from "../../../../store/stored_key.ts";
import { inTemporaryDirectory, withStoreIn } from "../../../../store/temporary_store.ts";

const NOW = new Date("2026-05-01T12:00:00Z");

/** Runs `test` with the directory of a store that has one key, named "ci deploy". */
async function withKey(fields: Partial<StoredKey>, test: (directory: string) => Promise<void>): Promise<void> {
  await inTemporaryDirectory(async (directory) => {
    const key = await newKey("ci deploy", { id: "key_0000000000000000000001", createdAt: new Date(0), ...fields });
    await withStoreIn(directory, async (store) => await addAll(store, [key]));
    await test(directory);
  });
}

const FULL: Partial<StoredKey> = {
  description: "used by CI",
  roles: ["GUEST"],
  permissions: ["DOCKER:READ_ANY", "DOCKER:UPDATE_ANY"],
  createdBy: "key_creator",
  managedBy: "team a",
  lastUsedAt: new Date("2026-05-01T11:00:00Z"),
  updatedAt: new Date("2026-04-30T12:00:00Z"),
  expiresAt: new Date("2026-05-11T12:00:00Z"),
  graceUntil: new Date("2026-05-01T14:00:00Z"),
};

Deno.test("apikey show --json prints the key as apikey list does, by name and by id", () =>
  withKey(FULL, async (directory) => {
    const listed = await inProcess(["apikey", "list", "--jsonl", "--data-dir", directory]);
    const show = ["apikey", "show", "--json", "--data-dir", directory];
    const expected = { code: 0, stdout: listed.stdout, stderr: "" };
    expect(await inProcess([...show, "ci deploy"])).toEqual(expected);
    expect(await inProcess([...show, "--name", " ci deploy"])).toEqual(expected);
    expect(await inProcess([...show, "--id", "key_0000000000000000000001"])).toEqual(expected);
    expect(JSON.parse(listed.stdout)).toMatchObject({
      createdBy: "key_creator",
      graceUntil: "2026-05-01T14:00:00.000Z",
    });
  }));

Deno.test("in a pipe, apikey show prints a line for each field, with times in RFC 3339", () =>
  withKey({ ...FULL, enabled: false, createdBy: null, managedBy: null }, async (directory) => {
    const { code, stdout } = await inProcess(["apikey", "show", "ci deploy", "--data-dir", directory]);
    expect(code).toBe(0);
    expect(stdout).toBe(`\
id:\tkey_0000000000000000000001
name:\tci deploy
description:\tused by CI
roles:\tGUEST
permissions:\tDOCKER:READ_ANY,DOCKER:UPDATE_ANY
enabled:\tfalse
createdAt:\t1970-01-01T00:00:00.000Z
createdBy:\t
managedBy:\t
updatedAt:\t2026-04-30T12:00:00.000Z
lastUsedAt:\t2026-05-01T11:00:00.000Z
expiresAt:\t2026-05-11T12:00:00.000Z
graceUntil:\t2026-05-01T14:00:00.000Z
status:\tdisabled
`);
  }));

/** What `apikey show` prints at a terminal. */
async function shown(directory: string): Promise<string> {
  const host = new TerminalHost(["apikey", "show", "ci deploy", "--data-dir", directory], { showsOutput: true });
  host.now = () => NOW;
  expect(await run(host)).toBe(0);
  return host.stdout.text;
}

Deno.test("at a terminal, apikey show prints the fields with relative times, and the rights as a table", () =>
  withKey(FULL, async (directory) => {
    expect(await shown(directory)).toBe(`\
Name         ci deploy
Id           key_0000000000000000000001
Description  used by CI
Status       active
Roles        GUEST
Permissions  DOCKER:READ_ANY, DOCKER:UPDATE_ANY
Expires      2026-05-11T12:00:00.000Z (in 10d)
Last used    2026-05-01T11:00:00.000Z (60m ago)
Created      1970-01-01T00:00:00.000Z (56y ago)
Created by   key_creator
Updated      2026-04-30T12:00:00.000Z (24h ago)
Old secret   valid until 2026-05-01T14:00:00.000Z (in 2h)
Managed by   team a

          CREATE   READ     UPDATE   DELETE
          ANY OWN  ANY OWN  ANY OWN  ANY OWN
  DOCKER   ·   ·    ●   ●    ●   ●    ·   ·
  ME       ·   ·    ·   ◆    ·   ·    ·   ·

  ◆ by role  ● by permission
`);
  }));

Deno.test("at a terminal, apikey show names the key that created the key", () =>
  withKey({ createdBy: "key_creator" }, async (directory) => {
    const creator = await newKey("first admin", { id: "key_creator" });
    await withStoreIn(directory, async (store) => await addAll(store, [creator]));
    expect(await shown(directory)).toContain("\nCreated by   first admin (key_creator)\n");
  }));

Deno.test("at a terminal, apikey show says that a key has no permissions, never expires and was never used", () =>
  withKey({ roles: ["GUEST"] }, async (directory) => {
    expect(await shown(directory)).toMatch(
      /^Roles +GUEST\nPermissions +none\nExpires +never\nLast used +never\nCreated /m,
    );
  }));

Deno.test("apikey show of an unknown name fails with NOT_FOUND and names the nearest key", async () => {
  for (const install of [() => embedded(inProcess), overHttp]) {
    // deno-lint-ignore no-await-in-loop -- one installation after the other
    await using installation = await install();
    const { program } = installation;
    // deno-lint-ignore no-await-in-loop -- the key must exist first
    await program(["apikey", "create", "ci deploy", "--roles", "GUEST"]);
    // deno-lint-ignore no-await-in-loop -- one command after the other
    const { code, stdout } = await program(["apikey", "show", "ci deplyo", "--json"]);
    expect({ exit: code, ...JSON.parse(stdout) }).toEqual({
      exit: 1,
      code: "NOT_FOUND",
      error: 'No API key found with name: ci deplyo. Did you mean "ci deploy"?',
    });
  }
});

Deno.test("on a server whose roles grant other rights, apikey show draws the rights that the server reports", async () => {
  await using server = startServerWithOtherRoles(["previewEffectivePermissions"]);
  const args = ["--base-url", server.url];
  await inProcess(["apikey", "create", "other", "--roles", "CONNECT", "--permissions", "PLUGINS:READ_ANY", ...args]);
  const { host, code } = runAtTerminal(["apikey", "show", "other", ...args], { showsOutput: true });
  expect(await code).toBe(0);
  expect(host.stdout.text).toMatch(/^ {2}CONNECT__REMOTE_ACCESS +· {3}· {4}◆ {3}· {4}◆/m);
  expect(host.stdout.text).toMatch(/^ {2}PLUGINS +· {3}· {4}◈/m);
  expect(host.stdout.text).not.toMatch(/^(Status|Expires)/m);
});

Deno.test("at a terminal without a name, apikey show lets the user select a key", () =>
  withKey({ roles: ["GUEST"] }, async (directory) => {
    const { host, screen, code } = runAtTerminal(["apikey", "show", "--data-dir", directory]);
    await screen.until(/Key to show/);
    screen.press(KEYS.enter);
    expect(await code).toBe(0);
    expect(host.stdout.text).toMatch(/^name:\tci deploy$/m);
  }));
