/** Deleting many keys in batches: progress, a batch that fails, and keys that another caller deletes meanwhile. */
import { expect } from "expect";
import { KEYS } from "../../../program/screen.ts";
import { type AtTerminal, runAtTerminal, type Running } from "../../../program/terminal_host.ts";
import { type KeyServer, listedKeys, startKeyServer } from "./key_server.ts";

const THREE = listedKeys(["one", "two", "three"]);

/** Selects every key and confirms. */
async function deleteAll({ url }: KeyServer, flags: readonly string[] = [], at: AtTerminal = {}): Promise<Running> {
  const running = runAtTerminal(["apikey", "--delete", ...flags], { ...at, env: { SERVICE_API_URL: url, ...at.env } });
  await running.screen.until(/Keys to delete/);
  running.screen.press(KEYS.ctrlA, KEYS.enter);
  await running.screen.until(/Delete/);
  running.screen.press("y");
  return running;
}

const forbidden = (): Response =>
  Response.json({ errors: [{ message: "API_KEY:DELETE_ANY is missing.", extensions: { code: "FORBIDDEN" } }] });

Deno.test("a progress bar shows how many keys are deleted, and disappears when the deletion ends", async () => {
  const batch = Promise.withResolvers<undefined>();
  await using server = startKeyServer(THREE, ([id]) => id === "2" ? batch.promise.then(() => forbidden()) : undefined);
  const { screen, code } = await deleteAll(server);
  expect(await screen.until(/Deleting/)).toMatch(/\n[█░]{24} Deleting keys \d\/3$/);
  await screen.until(/████████░░░░░░░░░░░░░░░░ Deleting keys 1\/3$/);
  batch.resolve(undefined);
  await code;
  expect(await screen.text()).not.toContain("Deleting");
});

Deno.test("there is no progress bar for a single key, and at a plain terminal there is one line", async () => {
  await using one = startKeyServer(listedKeys(["one"]));
  const single = await deleteAll(one);
  expect(await single.code).toBe(0);
  expect(single.screen.raw).not.toContain("Deleting");
  await using three = startKeyServer(THREE);
  const plain = runAtTerminal(["apikey", "--delete", "--plain"], { env: { SERVICE_API_URL: three.url } });
  await plain.screen.until(/all\s+selects\s+all\]:/);
  plain.screen.press("all", KEYS.enter);
  await plain.screen.until(/\(y\/N/);
  plain.screen.press("y", KEYS.enter);
  expect(await plain.code).toBe(0);
  expect(plain.host.stderr.text.match(/Deleting.*$/gm)).toEqual(["Deleting keys (3)..."]);
});

Deno.test("if a later batch fails, the message and the JSON say how many keys were deleted", async () => {
  const refuseThird = ([id]: readonly string[]): Response | undefined => id === "3" ? forbidden() : undefined;
  await using first = startKeyServer(THREE, refuseThird);
  const text = await deleteAll(first);
  expect(await text.code).toBe(3);
  expect(text.host.stderr.text).toMatch(/service-api: .* Before that, 2 keys were deleted\.\n$/);
  expect(text.host.stdout.text).toBe("");
  await using second = startKeyServer(THREE, refuseThird);
  const json = await deleteAll(second, ["--json"]);
  expect(await json.code).toBe(3);
  expect(JSON.parse(json.host.stdout.text)).toEqual({
    deleted: 2,
    error: expect.stringMatching(/ Before that, 2 keys were deleted\.$/),
    code: "FORBIDDEN",
  });
  expect(second.keys.map(({ name }) => name)).toEqual(["three"]);
});

Deno.test("if the user selected deletion at the mode prompt, the JSON of a failure has the number of deleted keys", async () => {
  await using server = startKeyServer(THREE, forbidden);
  const { host, screen, code } = runAtTerminal(["apikey", "--json"], { env: { SERVICE_API_URL: server.url } });
  await screen.until(/What do you want to do/);
  screen.press(KEYS.up, KEYS.enter);
  await screen.until(/Keys to delete/);
  screen.press(KEYS.ctrlC);
  expect(await code).toBe(130);
  expect(JSON.parse(host.stdout.text)).toMatchObject({ deleted: 0, code: "INTERRUPTED" });
});

Deno.test("if the first batch fails, the JSON says that 0 keys were deleted", async () => {
  await using server = startKeyServer(THREE, forbidden);
  const { host, code } = await deleteAll(server, ["--json"]);
  expect(await code).toBe(3);
  expect(JSON.parse(host.stdout.text)).toMatchObject({ deleted: 0, code: "FORBIDDEN" });
});

Deno.test("on SIGINT during a later batch, the command exits with 130 and the JSON has the number of deleted keys", async () => {
  const requested = Promise.withResolvers<void>();
  const response = Promise.withResolvers<Response>();
  await using server = startKeyServer(THREE, ([id]) => {
    if (id !== "2") return undefined;
    requested.resolve();
    return response.promise;
  });
  const { host, screen, code } = await deleteAll(server, ["--json"]);
  await requested.promise;
  host.handlers.get("SIGINT")?.();
  expect(await code).toBe(130);
  response.resolve(forbidden());
  expect(JSON.parse(host.stdout.text)).toMatchObject({ deleted: 1, code: "INTERRUPTED" });
  expect(screen.isRestored).toBe(true);
});

Deno.test("keys that another caller deletes meanwhile are skipped and not counted", async () => {
  await using server = startKeyServer(THREE, ([id], { drop }) => void (id === "1" && drop("2")));
  const { host, code } = await deleteAll(server, ["--json"]);
  expect(await code).toBe(0);
  expect(JSON.parse(host.stdout.text)).toEqual({
    deleted: 2,
    keys: [{ id: "1", name: "one" }, { id: "3", name: "three" }],
  });
});

Deno.test("if one key of a batch is gone, the others are still deleted", async () => {
  const names = Array.from({ length: 120 }, (_, index) => `key ${index}`);
  await using server = startKeyServer(listedKeys(names), ([id], { drop }) => void (id === "1" && drop("2")));
  const { host, code } = await deleteAll(server);
  expect(await code).toBe(0);
  expect(host.stdout.text).toBe("Successfully deleted 119 API keys\n");
  expect(server.keys).toEqual([]);
});

Deno.test("if the server deletes nothing and gives no reason, the command fails", async () => {
  await using server = startKeyServer(
    listedKeys(["one"]),
    () => Response.json({ data: { apiKey: { delete: false } } }),
  );
  const { host, code } = await deleteAll(server, ["--json"]);
  expect(await code).toBe(1);
  expect(JSON.parse(host.stdout.text)).toMatchObject({ deleted: 0, code: "FAILED" });
});
