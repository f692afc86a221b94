/** The table of `audit` at a terminal. */
import { expect } from "expect";
import type { AuditEvent } from "../../../../src/client/client.ts";
import { formatEventTable } from "../../../../src/cli/commands/audit/event_table.ts";
import { widthOf } from "../../../../src/cli/terminal/text_width.ts";
import { TerminalHost } from "../../../program/terminal_host.ts";

const EVENT: AuditEvent = {
  id: "1",
  at: "2026-01-02T03:04:05.678Z",
  action: "DELETE",
  outcome: "DONE",
  key: { id: "key_1", name: "ci deploy" },
  actor: { id: "key_2", name: "first admin" },
  address: "203.0.113.7",
  requestId: "5f1c",
  occurrences: 1,
  changes: [],
};

interface TableOptions {
  readonly columns?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly isFollowing?: boolean;
}

/** @param pages the events of each page; every member that an event does not set is that of `EVENT` */
async function tableOf(
  pages: readonly (readonly Partial<AuditEvent>[])[],
  { columns = 80, env = {}, isFollowing = false }: TableOptions = {},
): Promise<string> {
  const host = new TerminalHost([], { columns, env, showsOutput: true });
  const read = async function* (): AsyncGenerator<readonly AuditEvent[]> {
    for (const events of pages) yield events.map((event) => ({ ...EVENT, ...event }));
  };
  const table = (await Array.fromAsync(formatEventTable(read(), isFollowing, host))).join("");
  return table + host.stderr.text;
}

function created(permissions: string): Partial<AuditEvent> {
  const changes = Object.entries({ name: "ci deploy", roles: "VIEWER", permissions, key: "sak_…abcd", enabled: "true" })
    .map(([field, after]) => ({ field, before: null, after }));
  return { action: "CREATE", changes };
}

const EXAMPLES: readonly Partial<AuditEvent>[] = [
  { ...created("DOCKER:READ_ANY"), actor: null, address: null },
  {
    action: "UPDATE",
    at: "2026-01-03T00:00:00Z",
    changes: [
      { field: "name", before: "ci deploy", after: "release" },
      { field: "permissions", before: "DOCKER:READ_ANY", after: "DOCKER:READ_ANY,VMS:READ_ANY" },
    ],
  },
  { action: "DELETE", outcome: "FORBIDDEN", key: { id: "key_1", name: "release" } },
  {
    action: "VERIFY",
    outcome: "UNAUTHENTICATED",
    key: { id: null, name: null },
    actor: null,
    occurrences: 12,
  },
  {
    action: "ADD_RESOURCE",
    key: { id: null, name: null },
    changes: [
      { field: "name", before: null, after: "ORDERS" },
      { field: "description", before: null, after: "orders, invoices" },
    ],
  },
  { key: { id: "key_1", name: "release" }, changes: [{ field: "roles", before: "VIEWER", after: null }] },
];

/** The table for each width in columns, with the note on what does not fit. */
const TABLES = {
  40: `\
TIME (UTC)   EVENT    NAME     BY
01-02 03:04  CREATE   ci …loy  (lo…er)
01-03 00:00  UPDATE   ci …loy  fir…min
01-02 03:04  DEL…DEN  release  fir…min
01-02 03:04  VER…x12
01-02 03:04  ADD…RCE  ORDERS   fir…min
01-02 03:04  DELETE   release  fir…min
service-api: The columns FROM and
CHANGES do not fit. Use a wider
terminal or --json to see everything.
`,
  80: `\
TIME (UTC)        EVENT                    NAME       BY            FROM
2026-01-02 03:04  CREATE                   ci deploy  (local user)
2026-01-03 00:00  UPDATE                   ci deploy  first admin   203.0.113.7
2026-01-02 03:04  DELETE FORBIDDEN         release    first admin   203.0.113.7
2026-01-02 03:04  VERIFY UNAU…TICATED x12                           203.0.113.7
2026-01-02 03:04  ADD_RESOURCE             ORDERS     first admin   203.0.113.7
2026-01-02 03:04  DELETE                   release    first admin   203.0.113.7
service-api: The column CHANGES does not fit. Use a wider terminal or --json to
see everything.
`,
  160: `\
TIME (UTC)           EVENT                       NAME       BY            FROM         CHANGES
2026-01-02 03:04:05  CREATE                      ci deploy  (local user)               roles: VIEWER; permissions: DOCKER:READ_ANY
2026-01-03 00:00:00  UPDATE                      ci deploy  first admin   203.0.113.7  name: ci deploy → release; permissions: +VMS:READ_ANY
2026-01-02 03:04:05  DELETE FORBIDDEN            release    first admin   203.0.113.7
2026-01-02 03:04:05  VERIFY UNAUTHENTICATED x12                           203.0.113.7
2026-01-02 03:04:05  ADD_RESOURCE                ORDERS     first admin   203.0.113.7  description: orders, invoices
2026-01-02 03:04:05  DELETE                      release    first admin   203.0.113.7  had roles: VIEWER
`,
} as const;

for (const columns of [40, 80, 160] as const) {
  Deno.test(`at a terminal of ${columns} columns, audit shows when, what, which key and who, and what else fits`, async () => {
    expect(await tableOf([EXAMPLES], { columns })).toBe(TABLES[columns]);
  });
}

Deno.test("at 80 columns, the changes of common events are shown, and lose their end if they are too long", async () => {
  const events = EXAMPLES.slice(0, 2).map((event) => ({ ...event, actor: null, address: null }));
  expect(await tableOf([events])).toBe(`\
TIME (UTC)        EVENT   NAME       BY            CHANGES
2026-01-02 03:04  CREATE  ci deploy  (local user)  roles: VIEWER; permissions:…
2026-01-03 00:00  UPDATE  ci deploy  (local user)  name: ci deploy → release; …
`);
});

Deno.test("at 80 columns, long names lose their middle before the reason of a refusal does", async () => {
  const [name, address] = ["nightly backup of the database", "127.0.0.1"];
  const refusal = {
    action: "REMOVE_RESOURCE",
    outcome: "FAILED",
    key: { id: null, name: null },
    changes: [{ field: "name", before: "ORDERS", after: null }],
    address,
  };
  expect(await tableOf([[refusal, { key: { id: "key_1", name }, actor: { id: "key_2", name }, address }]])).toBe(`\
TIME (UTC)        EVENT                   NAME          BY            FROM
2026-01-02 03:04  REMOVE_RESOURCE FAILED  ORDERS        first admin   127.0.0.1
2026-01-02 03:04  DELETE                  nightl…abase  nightl…abase  127.0.0.1
`);
});

Deno.test("the user of a local command is shown as local, because a key can have the same name", async () => {
  const local = { actor: null, address: null };
  const table = await tableOf([[{ ...local, localUser: "first admin" }, { ...local, localUser: null }, {}]]);
  expect(table.match(/first admin( \(local\))?|\(local user\)/g)).toEqual([
    "first admin (local)",
    "(local user)",
    "first admin",
  ]);
});

Deno.test("if two keys have had the same name, their ids are shown if they fit", async () => {
  const events = [{}, { action: "CREATE" }, { action: "CREATE", key: { id: "key_2", name: "ci deploy" } }];
  const [header, ...rows] = (await tableOf([events], { columns: 100 })).trimEnd().split("\n");
  expect(header).toMatch(/ ID$/);
  expect(rows.map((row) => row.slice(-5))).toEqual(["key_1", "key_1", "key_2"]);
  expect(await tableOf([events], { columns: 66 })).toMatch(/The column ID does not fit/);
  expect(await tableOf([events.slice(0, 2)], { columns: 100 })).not.toMatch(/ID$/m);
});

Deno.test("in colour, refused events are red and times are dim", async () => {
  const [header, ...lines] = (await tableOf([EXAMPLES], { env: { NO_COLOR: "" } })).split("\n");
  const escape = "\x1b";
  expect(header).toContain(`${escape}[2mTIME (UTC)${escape}[22m`);
  expect(lines[0]).toContain(`${escape}[2m2026-01-02 03:04${escape}[22m  CREATE `);
  expect(lines[2]).toContain(`${escape}[31mDELETE FORBIDDEN${escape}[39m`);
});

for (
  const [what, env] of [
    ["a locale without UTF-8", { LANG: "C" }],
    ["the terminal type dumb", { TERM: "dumb", NO_COLOR: "" }],
  ] as const
) {
  Deno.test(`with ${what}, the table is ASCII without escape sequences`, async () => {
    const table = await tableOf([EXAMPLES], { columns: 160, env });
    expect(table).toMatch(/^[\n -~]+$/);
    expect(table).toContain("name: ci deploy -> release");
  });
}

Deno.test("at every width, no line of the table is wider than the terminal", async () => {
  const long = { ...created("DOCKER:READ_ANY"), key: { id: "key_1", name: "鍵".repeat(60) } };
  for (let columns = 25; columns < 200; columns++) {
    // deno-lint-ignore no-await-in-loop -- one table after the other
    const lines = (await tableOf([[...EXAMPLES, long]], { columns })).split("\n");
    expect({ columns, wide: lines.filter((line) => widthOf(line) >= columns) }).toEqual({ columns, wide: [] });
  }
});

Deno.test("of a long list, the table shows the first three items and how many more there are", async () => {
  const permissions = ["DISK", "DOCKER", "LOGS", "VMS", "SHARE"].map((resource) => `${resource}:READ_ANY`).join(",");
  expect(await tableOf([[created(permissions)]], { columns: 160 })).toContain(
    "permissions: DISK:READ_ANY, DOCKER:READ_ANY, LOGS:READ_ANY, 2 more",
  );
});

Deno.test("while following, the first event is shown at once, under a header that leaves room for longer names", async () => {
  const short = { key: { id: "key_1", name: "a" }, actor: { id: "key_2", name: "b" }, action: "CREATE" };
  const table = await tableOf([[], [short], [], [{}]], { isFollowing: true, columns: 160 });
  expect(table.match(/TIME/g)).toHaveLength(1);
  expect(table).toMatch(/ DELETE +ci deploy +first admin /);
});

Deno.test("text from the server cannot control the terminal", async () => {
  const hostile = "a\x1b[2Jb";
  const table = await tableOf([[{
    at: hostile,
    action: hostile,
    outcome: hostile,
    key: { id: null, name: hostile },
    actor: { id: null, name: hostile },
    address: hostile,
    changes: [{ field: hostile, before: hostile, after: hostile }],
  }]], { columns: 400 });
  expect(table).not.toMatch(/[^\P{C}\n]/u);
  expect(table.match(/a\\u\{1b\}\[2Jb/g)).toHaveLength(9);
});
