/** `audit` prints the audit trail of a server as JSON lines, whether the server is embedded or reached over HTTP. */
import { expect } from "expect";
import { run } from "../../../../src/cli/program.ts";
import { startForeignServer, startServer } from "../../../client/foreign_server.ts";
import { embedded, overHttp } from "../../../program/installations.ts";
import type { Outcome } from "../../../execute.ts";
import { FakeHost, inProcess } from "../../../program/program.ts";
import { inTemporaryDirectory, withStoreIn } from "../../../store/temporary_store.ts";

const CREATE = ["apikey", "--create", "--name", "new", "--roles", "GUEST"] as const;
const DELETE = ["apikey", "--delete", "--name", "new"] as const;

interface PrintedEvent {
  readonly id: string;
  readonly action: string;
  readonly outcome: string;
  readonly key: { readonly id: string | null; readonly name: string | null };
}

/** The printed events, one per line. */
function eventsIn({ code, stdout, stderr }: Outcome): readonly PrintedEvent[] {
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  if (stdout === "") return [];
  expect(stdout.endsWith("\n")).toBe(true);
  return stdout.slice(0, -1).split("\n").map((line) => JSON.parse(line));
}

for (const [where, install] of [["embedded", () => embedded(inProcess)], ["over HTTP", overHttp]] as const) {
  const isRemote = where === "over HTTP";

  Deno.test(`${where}: audit prints each event as a line of JSON, oldest first`, async () => {
    await using installation = await install();
    await installation.program(CREATE);
    await installation.program(CREATE);
    await installation.program([...CREATE, "--overwrite"]);
    await installation.program(DELETE);
    const all = eventsIn(await installation.program(["audit"])).filter(({ key: { name } }) => name === "new");
    expect(all.map(({ action, outcome }) => `${action} ${outcome}`)).toEqual([
      "CREATE DONE",
      "CREATE ALREADY_EXISTS",
      "REPLACE DONE",
      "CREATE DONE",
      "DELETE DONE",
    ]);
    expect(all[0]).toEqual({
      id: expect.stringMatching(/^\d+$/),
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      action: "CREATE",
      outcome: "DONE",
      key: { id: expect.stringMatching(/^key_/), name: "new" },
      actor: isRemote ? { id: expect.stringMatching(/^key_/), name: "admin" } : null,
      localUser: null,
      address: isRemote ? "127.0.0.1" : null,
      requestId: isRemote ? expect.stringMatching(/^[0-9a-f-]{36}$/) : null,
      occurrences: 1,
      changes: expect.arrayContaining([{ field: "roles", before: null, after: expect.any(String) }]),
    });
  });

  Deno.test(`${where}: audit prints what an update and a rotation changed, without secrets`, async () => {
    await using installation = await install();
    const { program } = installation;
    await program(["apikey", "--create", "--name", "ci", "--roles", "GUEST"]);
    await program(["apikey", "update", "ci", "--rename", "ci 2", "--add-permissions", "DOCKER:READ_ANY"]);
    await program(["apikey", "rotate", "ci 2"]);
    const { stdout } = await program(["audit"]);
    expect(stdout).not.toMatch(/sak_\w/);
    const [updated, rotated] = stdout.trimEnd().split("\n").slice(-2).map((line) => JSON.parse(line));
    expect([updated.action, rotated.action]).toEqual(["UPDATE", "ROTATE"]);
    expect(updated.changes).toEqual([
      { field: "name", before: "ci", after: "ci 2" },
      { field: "permissions", before: null, after: "DOCKER:READ_ANY" },
    ]);
    expect(rotated.changes).toMatchObject([{ field: "key" }]);
  });

  Deno.test(`${where}: audit --json prints one line with the same events`, async () => {
    await using installation = await install();
    await installation.program(CREATE);
    await installation.program(DELETE);
    const events = eventsIn(await installation.program(["audit"]));
    const [line] = eventsIn(await installation.program(["audit", "--json"]));
    expect(line).toEqual({ events });
    const [rest] = eventsIn(await installation.program(["audit", "--json", "--after", events.at(-1)?.id ?? ""]));
    expect(rest).toEqual({ events: [] });
    const failed = await installation.program(["audit", "--json", "--after", "x"]);
    expect(JSON.parse(failed.stdout)).toMatchObject({ code: "USAGE" });
  });

  Deno.test(`${where}: audit --after prints only later events, and with an empty id it prints all events`, async () => {
    await using installation = await install();
    await installation.program(CREATE);
    const before = eventsIn(await installation.program(["audit"]));
    await installation.program(DELETE);
    const all = eventsIn(await installation.program(["audit"]));
    const after = (id: string | undefined): Promise<Outcome> => installation.program(["audit", "--after", id ?? ""]);
    expect(eventsIn(await after(before.at(-1)?.id))).toEqual(all.slice(before.length));
    expect(eventsIn(await after("0"))).toEqual(all);
    expect(eventsIn(await after(""))).toEqual(all);
    expect(eventsIn(await after(all.at(-1)?.id))).toEqual([]);
    expect(all.at(-1)).toMatchObject({ action: "DELETE", outcome: "DONE" });
  });

  Deno.test(`${where}: audit fails with FORBIDDEN and names the missing right if the key lacks LOGS:READ_ANY`, async () => {
    await using installation = await install();
    const made = await installation.program(["apikey", "--create", "--name", "a", "--permissions", "LOGS:READ_OWN"]);
    const env = { SERVICE_API_KEY: made.stdout.trim() };
    const { code, stdout, stderr } = await installation.program(["audit"], { env });
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(stderr).toContain("LOGS:READ_ANY");
  });
}

Deno.test("audit prints more events than one request returns, each once and in order", () =>
  inTemporaryDirectory(async (directory) => {
    await withStoreIn(directory, async (store) => {
      await Promise.all(Array.from({ length: 2500 }, (_, i) =>
        store.recordEvent({
          at: new Date(i),
          actor: { id: "key_1", name: "the actor" },
          address: "203.0.113.7",
          requestId: null,
          action: "DELETE",
          keyId: `key_${i}`,
          keyName: null,
          outcome: "NOT_FOUND",
        })));
    });
    const events = eventsIn(await inProcess(["audit", "--data-dir", directory]));
    expect(events.map(({ key: { id } }) => id)).toEqual(Array.from({ length: 2500 }, (_, i) => `key_${i}`));
    expect(new Set(events.map(({ id }) => id)).size).toBe(2500);
    const rest = eventsIn(await inProcess(["audit", "--data-dir", directory, "--after", events[1499]?.id ?? ""]));
    expect(rest).toEqual(events.slice(1500));
  }));

Deno.test("audit of a missing store prints no events, and says on standard error which store it searched", async () => {
  await using installation = await embedded(inProcess);
  const { code, stdout, stderr } = await installation.program(["audit"]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
  expect(stderr).toMatch(
    /^service-api: No audit events found\. Searched the store ".*keys\.db", which does not exist\.\n$/,
  );
});

Deno.test("audit says which user changed a local store without a key: with sudo, the user who called sudo", async () => {
  await using installation = await embedded(inProcess);
  const { program } = installation;
  const userAfter = async (env: Readonly<Record<string, string>>): Promise<unknown> => {
    await program([...CREATE, "--overwrite"], { env });
    return JSON.parse((await program(["audit"])).stdout.trimEnd().split("\n").at(-1) ?? "").localUser;
  };
  expect(await userAfter({ LOGNAME: "root", USER: "root", SUDO_USER: "ana" })).toBe("ana");
  expect(await userAfter({ LOGNAME: "ben" })).toBe("ben");
  expect(await userAfter({ USERNAME: "cem" })).toBe("cem");
  const key = (await program([...CREATE, "--overwrite"])).stdout.trim();
  expect(await userAfter({ USER: key })).not.toContain(key);
});

Deno.test("audit --key with an old or the new name prints the whole life of a renamed key, and no other key's", async () => {
  await using installation = await embedded(inProcess);
  const { program } = installation;
  await program(["apikey", "--create", "--name", "ci", "--roles", "GUEST"]);
  await program(["apikey", "--create", "--name", "other", "--roles", "GUEST"]);
  await program(["apikey", "update", "ci", "--rename", "release"]);
  await program(["apikey", "--delete", "--name", "release"]);
  for (const name of ["ci", "release"]) {
    // deno-lint-ignore no-await-in-loop -- one command after the other
    const events = eventsIn(await program(["audit", "--key", name]));
    expect(events.map(({ action, key }) => `${action} ${key.name}`)).toEqual([
      "CREATE ci",
      "UPDATE ci",
      "DELETE release",
    ]);
  }
});

for (const after of ["abc", "-1", "9999999999999999999"]) {
  Deno.test(`audit --after ${after} is a usage error`, async () => {
    const { code, stdout, stderr } = await inProcess(["audit", `--after=${after}`]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toBe(`service-api: --after must be the id of an event, not "${after}".\n`);
  });
}

Deno.test("if no event has the key of --key, audit suggests a key with a similar name, but no key that is far away", async () => {
  await using installation = await embedded(inProcess);
  const { program } = installation;
  await program(["apikey", "--create", "--name", "ci deploy", "--roles", "GUEST"]);
  for (
    const [typed, suggestion] of [["ci deply", 'Did you mean "ci deploy"? '], [
      "CI deploy",
      'Did you mean "ci deploy"? ',
    ], ["backup", ""]]
  ) {
    // deno-lint-ignore no-await-in-loop -- one command after the other
    const { code, stdout, stderr } = await program(["audit", "--key", typed ?? ""]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
    expect(stderr).toContain(`service-api: No audit events match the filters. ${suggestion}Searched the store `);
  }
});

Deno.test("audit fails if the server has no audit trail, and the message says so", async () => {
  await using server = startForeignServer([]);
  const { code, stdout, stderr } = await inProcess(["audit", "--base-url", server.url]);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(
    /^service-api: 127\.0\.0\.1:\d+ has no audit trail: its schema lacks Query\.auditEvents\.\n$/,
  );
});

Deno.test("audit fails if standard output cannot be written", async () => {
  await using installation = await embedded(inProcess);
  await installation.program(CREATE);
  const host = new FakeHost(["audit"], { env: installation.env });
  host.stdout.write = () => Promise.reject(new Error("full"));
  expect(await run(host)).toBe(1);
  expect(host.stderr.text).toMatch(/full/);
});

Deno.test("control characters in an event cannot end a line or move the cursor", async () => {
  await using installation = await overHttp();
  const name = 'a\u001b[2J\r\n{"id":"1"}';
  const query = "mutation ($n: String!) { apiKey { create(input: { name: $n, roles: [GUEST] }) { id } } }";
  const body = JSON.stringify({ query, variables: { n: name } });
  expect((await installation.program(["request", "--body", body])).code).not.toBe(0);
  const outcome = await installation.program(["audit"]);
  expect(eventsIn(outcome).at(-1)).toMatchObject({ outcome: "INVALID_NAME", key: { id: null, name } });
  expect(outcome.stdout.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
});

/** An event as servers report it. */
const EVENT = {
  id: "1",
  at: "2026-01-02T03:04:05.000Z",
  action: "CREATE",
  outcome: "DONE",
  key: { id: "key_1", name: "ci" },
  actor: null,
  address: null,
  requestId: null,
  occurrences: 1,
};

Deno.test("audit prints the events of an older server, which does not report what changed", async () => {
  await using server = startServer(({ body }) =>
    Response.json(
      body.includes("changes") || body.includes("localUser")
        ? { errors: [{ message: "Cannot query field." }] }
        : { data: { auditEvents: [EVENT] } },
    )
  );
  const { stdout } = await inProcess(["audit"], { env: { SERVICE_API_URL: server.url } });
  expect(JSON.parse(stdout)).toEqual(EVENT);
});

Deno.test("audit --since reads no earlier events from the server", async () => {
  await using installation = await embedded(inProcess);
  await installation.program(CREATE);
  const { stdout } = await installation.program(["audit"]);
  const { at } = JSON.parse(stdout);
  const query = "query ($since: String) { auditEvents(since: $since) { at } }";
  const request = async (since: string): Promise<unknown> => {
    const args = ["request", "--query", query, "--variables", JSON.stringify({ since })];
    return JSON.parse((await installation.program(args)).stdout).data.auditEvents;
  };
  expect(await request(at)).toEqual([{ at }]);
  expect(await request("2100-01-01T00:00:00Z")).toEqual([]);
  await using server = startServer(() => Response.json({ data: { auditEvents: [] } }));
  await inProcess(["audit", "--since", "2026-01-02"], { env: { SERVICE_API_URL: server.url } });
  expect(server.requests.map(({ body }) => JSON.parse(body).variables)).toEqual([
    { first: 1000, since: "2026-01-02T00:00:00.000Z" },
  ]);
});

Deno.test("audit --key finds the later names of a renamed key on an older server too, and asks once for what that server lacks", async () => {
  const renamed = { ...EVENT, id: "2", key: { id: "key_1", name: "release" }, action: "DELETE" };
  const other = { ...EVENT, id: "3", key: { id: "key_2", name: "other" } };
  await using server = startServer(({ body }) => {
    if (body.includes("$key")) return Response.json({ errors: [{ message: 'Unknown argument "key".' }] });
    const events = [EVENT, renamed, ...Array(998).fill(other)];
    return Response.json({
      data: { auditEvents: JSON.parse(body).variables.after === undefined ? events : [renamed] },
    });
  });
  const { stdout } = await inProcess(["audit", "--key", "ci"], { env: { SERVICE_API_URL: server.url } });
  expect(stdout.trimEnd().split("\n").map((line) => JSON.parse(line))).toEqual([EVENT, renamed, renamed]);
  expect(server.requests.filter(({ body }) => body.includes("$key"))).toHaveLength(1);
});

Deno.test("audit --since reads the whole trail of an older server, and prints the events since that time", async () => {
  const later = { ...EVENT, id: "2", at: "2026-01-02T03:04:06.000Z", changes: [] };
  await using server = startServer(({ body }) =>
    Response.json(
      body.includes("$since")
        ? { errors: [{ message: 'Unknown argument "since" on field "Query.auditEvents".' }] }
        : { data: { auditEvents: [EVENT, later] } },
    )
  );
  const { code, stdout } = await inProcess(["audit", "--since", "2026-01-02 03:04:06"], {
    env: { SERVICE_API_URL: server.url },
  });
  expect({ code, event: JSON.parse(stdout) }).toEqual({ code: 0, event: later });
});
