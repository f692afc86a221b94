/** Commands in embedded mode whose store does not exist. */
import { expect } from "expect";
import { embedded } from "../../program/installations.ts";
import { inProcess } from "../../program/program.ts";
import { runAtTerminal } from "../../program/terminal_host.ts";

const READING = [
  ["apikey", "--delete", "--name", "deploy"],
  ["audit"],
  ["request", "--query", "{ apiKeys { name } }"],
  ["request", "--query", 'mutation { apiKey { delete(input: { ids: ["key_1"] }) } }'],
  ["request", "--query", 'mutation { apiKey { create(input: { name: "a!", roles: [GUEST] }) { id } } }'],
];

for (const args of READING) {
  Deno.test(`${args.join(" ")} does not create the store`, async () => {
    await using installation = await embedded(inProcess);
    const { stderr } = await installation.program(args);
    expect(stderr).not.toContain("Cannot use the store");
    await expect(Deno.stat(installation.env["SERVICE_API_DATA_DIR"] ?? "")).rejects.toThrow(Deno.errors.NotFound);
  });
}

Deno.test("apikey --create creates the store, and the next command finds the key", async () => {
  await using installation = await embedded(inProcess);
  expect((await installation.program(["apikey", "--create", "--name", "deploy", "--roles", "GUEST"])).code).toBe(0);
  const { stdout } = await installation.program(["request", "--query", "{ apiKeys { name } }"]);
  expect(JSON.parse(stdout)).toEqual({ data: { apiKeys: [{ name: "deploy" }] } });
});

const CREATE = ["apikey", "--create", "--name", "deploy", "--roles", "GUEST"];

Deno.test("at a terminal, the first key of a store says where the new store is, and later keys do not", async () => {
  await using installation = await embedded(inProcess);
  const at = { env: installation.env, columns: 1000 };
  const first = runAtTerminal(CREATE, at);
  expect(await first.code).toBe(0);
  const path = `${installation.env["SERVICE_API_DATA_DIR"]}/keys.db`;
  expect(first.host.stderr.text).toContain(`service-api: Created a new store in "${path}".\n`);
  const second = runAtTerminal([...CREATE, "--overwrite"], at);
  expect(await second.code).toBe(0);
  expect(second.host.stderr.text).not.toContain("new store");
});

Deno.test("with --json, a new store is not mentioned at a terminal either", async () => {
  await using installation = await embedded(inProcess);
  const { host, code } = runAtTerminal([...CREATE, "--json"], installation);
  expect(await code).toBe(0);
  expect(host.stderr.text).toBe("");
});
