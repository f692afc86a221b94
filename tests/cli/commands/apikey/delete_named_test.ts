/** Deleting keys by name or id: several at once, confirmation, and where the command searched. */
import { expect } from "expect";
import { KEYS } from "../../../program/screen.ts";
import { overHttp } from "../../../program/installations.ts";
import { inProcess } from "../../../program/program.ts";
import { runAtTerminal, type Running } from "../../../program/terminal_host.ts";
import { listedKeys, startKeyServer } from "./key_server.ts";

const THREE = listedKeys(["one", "two", "three"]);

const forbidden = (): Response =>
  Response.json({ errors: [{ message: "API_KEY:DELETE_ANY is missing.", extensions: { code: "FORBIDDEN" } }] });

Deno.test("if no store exists, delete names the full path of the store that it searched", async () => {
  const { code, stderr } = await inProcess(["apikey", "--delete", "--name", "ci deploy", "--data-dir", "no store"]);
  expect(code).toBe(1);
  expect(stderr).toBe(
    "service-api: No API key found with name: ci deploy.\n" +
      `service-api: Searched the store "${Deno.cwd()}/no store/keys.db", which does not exist. ` +
      "To search elsewhere, use --base-url, --data-dir, --database-url or --profile.\n",
  );
});

Deno.test("delete --id reaches a key whose name breaks the rules for names", async () => {
  await using server = startKeyServer(listedKeys(["one", "it's_old"]));
  const outcome = await inProcess(["apikey", "--delete", "--id", "2", "--json"], {
    env: { SERVICE_API_URL: server.url },
  });
  expect(outcome).toEqual({ code: 0, stdout: '{"deleted":1,"keys":[{"id":"2","name":"it\'s_old"}]}\n', stderr: "" });
  expect(server.keys.map(({ name }) => name)).toEqual(["one"]);
});

Deno.test("if the server refuses one of several keys, delete lists it as failed and deletes the others", async () => {
  await using server = startKeyServer(THREE, ([id]) => id === "2" ? forbidden() : undefined);
  const env = { SERVICE_API_URL: server.url };
  const ids = ["1", "2", "3"].flatMap((id) => ["--id", id]);
  const { code, stdout, stderr } = await inProcess(["apikey", "--delete", ...ids, "--json"], { env });
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toEqual({
    deleted: 2,
    keys: [{ id: "1", name: "one" }, { id: "3", name: "three" }],
    failed: [{
      id: "2",
      name: null,
      code: "FORBIDDEN",
      error: expect.stringMatching(/^API_KEY:DELETE_ANY is missing\./),
    }],
  });
  // The JSON has the error.
  expect(stderr).toBe("");
  const plain = await inProcess(["apikey", "--delete", "--id", "2", "--id", "2 ", "--id", "2", "--id", "1"], { env });
  expect(plain).toEqual({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(
      /^service-api: No API key found with id: 1\.\nservice-api: Could not delete "2": API_KEY:DELETE_ANY is missing\.[^\n]*\n/,
    ),
  });
});

Deno.test("if no key has the name and the key in use sees only its own keys, delete says so", async () => {
  await using installation = await overHttp();
  const { program, env } = installation;
  const owner = await program([
    ..."apikey --create --name owner --permissions API_KEY:READ_OWN,API_KEY:DELETE_OWN".split(" "),
  ]);
  const args = ["apikey", "--delete", "--name", "admin", "--json"];
  const asOwner = await inProcess(args, { env: { ...env, SERVICE_API_KEY: owner.stdout.trim() } });
  expect(asOwner).toEqual({
    code: 1,
    stdout: '{"deleted":0,"error":"No API key found with name: admin"}\n',
    stderr: expect.stringMatching(
      /^service-api: The key in use sees only itself and the keys that it created, because it lacks API_KEY:READ_ANY\. Other keys may exist\.\n$/,
    ),
  });
  const asAdmin = await program(["apikey", "--delete", "--name", "no key", "--json"]);
  expect(asAdmin.stderr).toBe("");
});

Deno.test("if the server fails during the deletion of several keys, delete stops and says how many were deleted", async () => {
  await using server = startKeyServer(THREE, ([id]) => id === "2" ? new Response("gone", { status: 502 }) : undefined);
  const ids = ["1", "2", "3"].flatMap((id) => ["--id", id]);
  const env = { SERVICE_API_URL: server.url };
  const { code, stdout } = await inProcess(["apikey", "--delete", ...ids, "--json"], { env });
  expect(code).toBe(4);
  expect(JSON.parse(stdout)).toMatchObject({
    deleted: 1,
    error: expect.stringMatching(/Before that, 1 key was deleted/),
  });
  expect(server.keys.map(({ id }) => id)).toEqual(["2", "3"]);
});

Deno.test("delete with several ids lists the keys once, and again only if another caller deleted one meanwhile", async () => {
  await using server = startKeyServer(THREE, ([id], { drop }) => {
    if (id === "2") drop(id);
    return undefined;
  });
  const ids = ["1", "2", "3"].flatMap((id) => ["--id", id]);
  const { code, stdout } = await inProcess(["apikey", "--delete", ...ids, "--json"], {
    env: { SERVICE_API_URL: server.url },
  });
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({ deleted: 2, failed: [{ id: "2", code: "NOT_FOUND" }] });
  const kinds = server.requests.map(({ body }) => body.includes("mutation") ? "delete" : "list");
  expect(kinds).toEqual(["list", "delete", "delete", "list", "delete"]);
});

/** Runs `apikey` without a mode, and selects deletion at the prompt. */
async function chooseDelete(url: string, ...flags: readonly string[]): Promise<Running> {
  const running = runAtTerminal(["apikey", ...flags], { env: { SERVICE_API_URL: url } });
  await running.screen.until(/What do you want to do/);
  running.screen.press(KEYS.up, KEYS.enter);
  return running;
}

Deno.test("if the user chooses deletion at the prompt, a given name or id is deleted only after confirmation", async () => {
  await using server = startKeyServer(THREE);
  const refused = await chooseDelete(server.url, "--name", "one");
  await refused.screen.until(/Delete the key "one"\?/);
  refused.screen.press(KEYS.enter);
  expect(await refused.code).toBe(130);
  expect(refused.host.stderr.text).toContain("Nothing was deleted.");
  expect(server.keys).toHaveLength(3);

  const confirmed = await chooseDelete(server.url, "--id", "1", "--id", "2");
  await confirmed.screen.until(/Delete 2 keys\?/);
  confirmed.screen.press("y");
  expect(await confirmed.code).toBe(0);
  expect(server.keys.map(({ id }) => id)).toEqual(["3"]);

  const unasked = await chooseDelete(server.url, "--id", "3", "--yes");
  expect(await unasked.code).toBe(0);
  expect(server.keys).toEqual([]);
});

for (const typed of ["ci deply", "CI Deploy", "cideploy"]) {
  Deno.test(`if no key is named "${typed}", delete and show suggest "ci deploy"`, async () => {
    await using server = startKeyServer(listedKeys(["backup", "ci deploy"]));
    const env = { SERVICE_API_URL: server.url };
    const message = `service-api: No API key found with name: ${typed}. Did you mean "ci deploy"?\n`;
    const deleted = await inProcess(["apikey", "--delete", "--name", typed], { env });
    expect(deleted).toMatchObject({ code: 1, stdout: "No API keys found to delete\n" });
    expect(deleted.stderr).toContain(message);
    const several = await inProcess(["apikey", "--delete", "--name", "backup", "--name", typed], { env });
    expect(several.stderr).toContain(message);
    expect(await inProcess(["apikey", "show", typed], { env })).toEqual({ code: 1, stdout: "", stderr: message });
  });
}

Deno.test("if no name is near, delete does not guess, and the JSON has no suggestion", async () => {
  await using server = startKeyServer(listedKeys(["backup", "ci deploy"]));
  const env = { SERVICE_API_URL: server.url };
  const far = await inProcess(["apikey", "--delete", "--name", "report"], { env });
  expect(far.stderr).toContain(
    "No API key found with name: report. To see the names, run service-api apikey list.\n",
  );
  const { stdout } = await inProcess(["apikey", "--delete", "--name", "ci deply", "--json"], { env });
  expect(stdout).toBe('{"deleted":0,"error":"No API key found with name: ci deply"}\n');
});

Deno.test("at a terminal, delete shows the names and ids of the deleted keys; in a pipe only their number", async () => {
  await using server = startKeyServer(listedKeys(["one", "two\u202e", "three"]));
  const env = { SERVICE_API_URL: server.url };
  const ids = ["--id", "1", "--id", "2"];
  const { host, code } = runAtTerminal(["apikey", "--delete", ...ids, "--yes"], { env, showsOutput: true });
  expect(await code).toBe(0);
  expect(host.stdout.text).toBe("Successfully deleted 2 API keys\n");
  expect(host.stderr.text).toBe("  one (1)\n  two\\u{202e} (2)\n");
  const piped = await inProcess(["apikey", "--delete", "--name", "three"], { env });
  expect(piped).toEqual({ code: 0, stdout: "Successfully deleted 1 API key\n", stderr: "" });
});
