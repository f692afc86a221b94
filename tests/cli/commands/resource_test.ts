/** `resource`, and custom resources in the commands for keys, with the embedded server and over HTTP. */
import { expect } from "expect";
import { RESOURCES } from "../../../src/apikey/permission.ts";
import { startForeignServer } from "../../client/foreign_server.ts";
import type { Outcome } from "../../execute.ts";
import { embedded, overHttp } from "../../program/installations.ts";
import { inProcess, type Installation } from "../../program/program.ts";
import { KEYS } from "../../program/screen.ts";
import { runAtTerminal } from "../../program/terminal_host.ts";
import { createAtTerminal } from "./apikey/create_at_terminal.ts";

const ADD = ["resource", "add", "ORDERS", "--description", "orders service"] as const;
const CREATE = ["apikey", "create", "shop", "--permissions", "ORDERS:READ_ANY"] as const;

/** What a successful command prints with `--json`. */
async function json({ program }: Installation, ...args: readonly string[]): Promise<unknown> {
  return parse(await program([...args, "--json"]));
}

function parse({ code, stdout, stderr }: Outcome): unknown {
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout);
}

for (const [where, install] of [["embedded", () => embedded(inProcess)], ["over HTTP", overHttp]] as const) {
  Deno.test(`${where}: a resource is added, listed and removed`, async () => {
    await using installation = await install();
    const { program } = installation;
    expect(await json(installation, "resource", "list")).toEqual({ resources: [] });
    expect(await program(ADD)).toEqual({ code: 0, stdout: "Added the resource ORDERS\n", stderr: "" });
    expect(await json(installation, "resource", "add", " invoices ")).toEqual({ name: "INVOICES", description: null });
    expect(await json(installation, "resource", "list")).toEqual({
      resources: [{ name: "INVOICES", description: null }, { name: "ORDERS", description: "orders service" }],
    });
    expect((await program(["resource", "list"])).stdout).toBe("INVOICES\t\nORDERS\torders service\n");
    expect(await json(installation, "resource", "remove", "invoices")).toEqual({ removed: "INVOICES" });
    expect(await program(["resource", "remove", "ORDERS"])).toEqual({
      code: 0,
      stdout: "Removed the resource ORDERS\n",
      stderr: "",
    });
    expect(await json(installation, "resource", "list")).toEqual({ resources: [] });
  });

  Deno.test(`${where}: --permissions, --can, update, manifests and needs know a resource that was added`, async () => {
    await using installation = await install();
    const { program } = installation;
    await program(ADD);
    const key: unknown = await json(installation, ...CREATE);
    const secret = String(Object(key).key);
    expect(await json(installation, "apikey", "list", "--can", "orders:read_own", "--match", "shop")).toMatchObject({
      keys: [{ name: "shop", permissions: ["ORDERS:READ_ANY"] }],
    });
    const withKey = { env: { SERVICE_API_KEY: secret } };
    const verified = await program(["apikey", "verify", "--can", "ORDERS:READ_OWN", "--json"], withKey);
    expect(parse(verified)).toMatchObject({ active: true, name: "shop" });
    const lacking = await program(["apikey", "verify", "--can", "ORDERS:UPDATE_ANY", "--json"], withKey);
    expect({ exit: lacking.code, ...JSON.parse(lacking.stdout) }).toMatchObject({
      exit: 3,
      missing: ["ORDERS:UPDATE_ANY"],
    });
    expect(await json(installation, "apikey", "update", "shop", "--add-permissions", "ORDERS:*")).toMatchObject({
      permissions: expect.arrayContaining(["ORDERS:DELETE_OWN"]),
    });
    await json(installation, "apikey", "create", "reader", "--permissions", "*:READ_ANY");
    expect(await json(installation, "apikey", "show", "reader")).toMatchObject({
      permissions: [...RESOURCES, "ORDERS"].map((resource) => `${resource}:READ_ANY`),
    });
    const manifest = { keys: [{ name: "apply", permissions: ["ORDERS:READ_ANY"], secretFile: "/nowhere" }] };
    const planned = await program(["apikey", "apply", "-", "--dry-run", "--json"], { stdin: JSON.stringify(manifest) });
    expect(parse(planned)).toMatchObject({ created: 1 });
    const input = '{ name: "n", permissions: [{ resource: ORDERS, actions: [READ_ANY] }] }';
    const needed = await program(["needs", `mutation { apiKey { create(input: ${input}) { id } } }`]);
    expect({ code: needed.code, stdout: needed.stdout }).toEqual({ code: 0, stdout: "API_KEY:CREATE_ANY\n" });
    expect(needed.stderr).toContain("ORDERS:READ_ANY");
  });
}

for (
  const [rule, args, code, failure, message] of [
    ["a resource that exists cannot be added", ADD, 1, "ALREADY_EXISTS", /The resource ORDERS already exists\./],
    ["a built-in resource cannot be added", ["resource", "add", "DOCKER"], 1, "ALREADY_EXISTS", /DOCKER/],
    ["a built-in resource cannot be removed", ["resource", "remove", "docker"], 1, "NOT_FOUND", /DOCKER is built in/],
    ["an unknown resource cannot be removed", ["resource", "remove", "SALES"], 1, "NOT_FOUND", /"SALES".* list"\.$/],
    ["a name with a hyphen is refused", ["resource", "add", "orders-api"], 2, "USAGE", /Did you mean ORDERS_API\?$/],
    ["two underscores are refused", ["resource", "add", "A__B"], 2, "USAGE", /Did you mean A_B\?$/],
    ["a name that starts with a digit is refused", ["resource", "add", "2FA"], 2, "USAGE", /Did you mean FA\?$/],
    ["a name of 65 characters is refused", ["resource", "add", "A".repeat(65)], 2, "USAGE", /at most 64 characters\.$/],
    ["an empty name is refused", ["resource", "remove", ""], 2, "USAGE", /"" cannot be the name of a resource\./],
    [
      "a description of 1,025 characters is refused",
      ["resource", "add", "SALES", "--description", "a".repeat(1025)],
      2,
      "USAGE",
      /The description is too long/,
    ],
    ["without a subcommand, the message lists them", ["resource"], 2, "USAGE", /Choose a command: add, list or remove/],
    [
      "a mistyped subcommand is corrected",
      ["resource", "ad", "SALES"],
      2,
      "USAGE",
      /Did you mean service-api resource add\?/,
    ],
    [
      "a word that means a command for keys is not taken for one",
      ["resource", "delete", "ORDERS"],
      2,
      "USAGE",
      /"delete"\. The commands of resource are add, list, remove\./,
    ],
    ["two names are refused", ["resource", "remove", "A", "B"], 2, "USAGE", /Unexpected argument "B"/],
    ["a missing name is reported", ["resource", "add"], 2, "USAGE", /The argument <resource> is missing\./],
  ] as const
) {
  Deno.test(`${rule}, and nothing changes`, async () => {
    await using installation = await embedded(inProcess);
    const { program } = installation;
    await program(ADD);
    const outcome = await program(args[1] === undefined ? args : [...args, "--json"]);
    expect(outcome.code).toBe(code);
    if (args[1] === undefined) expect(outcome.stderr).toMatch(message);
    else {
      expect(JSON.parse(outcome.stdout)).toEqual({ error: expect.stringMatching(message), code: failure });
    }
    expect(await json(installation, "resource", "list")).toMatchObject({ resources: [{ name: "ORDERS" }] });
  });
}

Deno.test("without PERMISSION:CREATE_ANY or PERMISSION:DELETE_ANY, add and remove fail with FORBIDDEN and name the right", async () => {
  await using installation = await overHttp();
  const { program } = installation;
  await program(ADD);
  const secret = (await program(CREATE)).stdout.trim();
  const env = { SERVICE_API_KEY: secret };
  for (const [args, right] of [[["add", "SALES"], "CREATE_ANY"], [["remove", "ORDERS"], "DELETE_ANY"]] as const) {
    // deno-lint-ignore no-await-in-loop -- one command at a time
    const { code, stderr } = await program(["resource", ...args], { env });
    expect(code).toBe(3);
    expect(stderr).toContain(`PERMISSION:${right}`);
  }
  expect((await program(["resource", "list"], { env })).stdout).toBe("ORDERS\torders service\n");
});

Deno.test("on a server without custom resources, resource is UNSUPPORTED, and the message names the missing field", async () => {
  await using server = startForeignServer([]);
  const env = { SERVICE_API_URL: server.url };
  for (
    const [args, field] of [
      [["list"], "Query.resources"],
      [["add", "ORDERS"], "Mutation.resource"],
      [["remove", "ORDERS"], "Mutation.resource"],
    ] as const
  ) {
    // deno-lint-ignore no-await-in-loop -- one command at a time
    const { code, stdout } = await inProcess(["resource", ...args, "--json"], { env });
    expect({ exit: code, ...JSON.parse(stdout) }).toEqual({
      exit: 1,
      code: "UNSUPPORTED",
      error: expect.stringContaining(`its schema lacks ${field}.`),
    });
  }
});

Deno.test("resource list creates no store, and says where it searched", async () => {
  await using installation = await embedded(inProcess);
  const { code, stdout, stderr } = await installation.program(["resource", "list"]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
  expect(stderr).toMatch(/No custom resources found\. Searched the store ".*keys\.db", which does not exist\.\n$/);
});

Deno.test("at a terminal, resource list prints a table", async () => {
  await using installation = await embedded(inProcess);
  await installation.program(ADD);
  await installation.program(["resource", "add", "INVOICES"]);
  const { host, code } = runAtTerminal(["resource", "list"], { env: installation.env, showsOutput: true });
  expect(await code).toBe(0);
  expect(host.stdout.text).toBe("RESOURCE  DESCRIPTION\nINVOICES\nORDERS    orders service\n");
});

Deno.test("at a terminal, resource remove does not ask", async () => {
  await using installation = await embedded(inProcess);
  await installation.program(ADD);
  const { host, code } = runAtTerminal(["resource", "remove", "ORDERS"], { env: installation.env });
  expect(await code).toBe(0);
  expect(host.stdout.text).toBe("Removed the resource ORDERS\n");
});

Deno.test("the prompt for permissions lists the resources of the server, and the rights of the key include them", async () => {
  await using installation = await embedded(inProcess);
  await installation.program(ADD);
  const { screen, code } = createAtTerminal(installation, ["--name", "shop", "--description", ""], { rows: 50 });
  await screen.until(/\? Roles/);
  screen.press(..."viewer", KEYS.tab, KEYS.enter);
  expect(await screen.until(/\? Permissions/)).toContain("(optional, 0 of 240 selected)");
  screen.press(..."orders:up", KEYS.tab);
  expect(await screen.until(/\(1 of \d+ selected/)).toContain(
    "❯ ORDERS                   ·   ·    ◆   ◆   [●]  ○    ·   ·",
  );
  screen.press(KEYS.enter);
  expect(await screen.until(/\? Create/)).toContain(`
  ORDERS         ·   ·    ◆   ◆    ●   ●    ·   ·
  the other 29   ·   ·    ◆   ◆    ·   ·    ·   ·
`);
  screen.press("y");
  expect(await code).toBe(0);
});
