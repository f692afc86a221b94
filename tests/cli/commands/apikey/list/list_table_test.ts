/** The table of `apikey list` at a terminal. */
import { expect } from "expect";
import type { ApiKey } from "../../../../../src/client/client.ts";
import { formatTable } from "../../../../../src/cli/commands/apikey/list/list_table.ts";
import { widthOf } from "../../../../../src/cli/terminal/text_width.ts";
import { PLAIN_KEY } from "../../../../client/api_key.ts";
import { TerminalHost } from "../../../../program/terminal_host.ts";

const NOW = new Date("2026-05-01T12:00:00Z");

const KEY: ApiKey = { ...PLAIN_KEY, name: "web", createdAt: "2026-01-02T03:04:05Z" };

async function tableOf(
  keys: readonly Partial<ApiKey>[],
  columns = 80,
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const host = new TerminalHost([], { columns, env, showsOutput: true });
  host.now = () => NOW;
  const pages = async function* (): AsyncGenerator<readonly ApiKey[]> {
    for (let i = 0; i < keys.length; i += 700) yield keys.slice(i, i + 700).map((key) => ({ ...KEY, ...key }));
  };
  return (await Array.fromAsync(formatTable(pages(), host))).join("");
}

const EXAMPLES: readonly Partial<ApiKey>[] = [
  { name: "web", roles: ["ADMIN"], lastUsedAt: "2026-05-01T11:58:00Z" },
  { name: "ci build", permissions: ["DOCKER:READ_ANY", "VMS:READ_ANY"], expiresAt: "2026-05-04T12:00:00Z" },
  { name: "ci deploy", roles: ["VIEWER"], permissions: ["DOCKER:UPDATE_ANY"], expiresAt: "2026-04-30T00:00:00Z" },
  { name: "nightly backup of the production database", roles: ["GUEST", "CONNECT"], enabled: false },
];

/** The table for each width in columns. */
const TABLES = {
  40: `\
NAME           RIGHTS         STATUS
web            ADMIN          active
ci build       2 permissions  active
ci deploy      VIEWER…ission  expired
nightl…tabase  GUEST,…ONNECT  disabled
`,
  160: `\
NAME                                       RIGHTS                STATUS    EXPIRES  LAST USED  CREATED
web                                        ADMIN                 active             2m ago     119d ago
ci build                                   2 permissions         active    in 3d               119d ago
ci deploy                                  VIEWER, 1 permission  expired   36h ago             119d ago
nightly backup of the production database  GUEST, CONNECT        disabled                      119d ago
`,
} as const;

Deno.test("at a terminal, apikey list shows rights, status and relative times, and shortens names in the middle", async () => {
  expect(await tableOf(EXAMPLES)).toBe(`\
NAME                RIGHTS              STATUS    EXPIRES  LAST USED  CREATED
web                 ADMIN               active             2m ago     119d ago
ci build            2 permissions       active    in 3d               119d ago
ci deploy           VIEWER, 1…rmission  expired   36h ago             119d ago
nightly b…database  GUEST, CONNECT      disabled                      119d ago
`);
});

for (const columns of [40, 160] as const) {
  Deno.test(`at a terminal of ${columns} columns, apikey list shows the columns that fit`, async () => {
    expect(await tableOf(EXAMPLES, columns)).toBe(TABLES[columns]);
  });
}

for (
  const [what, env] of [
    ["a locale without UTF-8", { LANG: "C" }],
    ["the terminal type dumb", { TERM: "dumb", NO_COLOR: "" }],
  ] as const
) {
  Deno.test(`with ${what}, the table is ASCII without escape sequences`, async () => {
    const table = await tableOf(EXAMPLES, 80, env);
    expect(table).toMatch(/^[\n -~]+$/);
    expect(table).toContain("\nnightly ...atabase  GUEST, CONNECT      disabled");
  });
}

Deno.test("at every width, no line of the table is wider than the terminal, and each has the start and end of the name", async () => {
  const wide = [...EXAMPLES, { name: "鍵".repeat(60) }, { name: "e\u0301".repeat(60), roles: ["ADMIN"] }];
  for (let columns = 6; columns < 130; columns++) {
    // deno-lint-ignore no-await-in-loop -- one table after the other
    const lines = (await tableOf(wide, columns)).split("\n");
    expect(lines.filter((line) => widthOf(line) >= columns)).toEqual([]);
    expect(lines).toHaveLength(wide.length + 2);
  }
  expect((await tableOf(wide, 40)).split("\n")[4]).toMatch(/^nightl…tabase /);
});

Deno.test("the table leaves out columns for which the server reports nothing", async () => {
  expect(await tableOf([{ roles: null, permissions: null, enabled: null }])).toBe("NAME  CREATED\nweb   119d ago\n");
});

Deno.test("colours mark disabled and expired keys and keys that expire within a week, also if other columns are missing", async () => {
  const [, ...lines] = (await tableOf(EXAMPLES, 80, { NO_COLOR: "", FORCE_COLOR: "1" })).split("\n");
  const escape = "\x1b";
  expect(lines[0]).not.toContain(escape);
  expect(lines[1]).toContain(`${escape}[33min 3d${escape}[39m`);
  expect(lines[2]).toContain(`${escape}[31mexpired${escape}[39m`);
  expect(lines[3]).toContain(`${escape}[2mnightly`);
});

Deno.test("the widths of a long table come from its first keys, and all keys are in it once", async () => {
  const names = Array.from({ length: 2500 }, (_, i) => `key ${i}${i === 2400 ? " with a long name" : ""}`);
  const lines = (await tableOf(names.map((name) => ({ name })))).trimEnd().split("\n");
  expect(lines).toHaveLength(2501);
  expect(lines[2401]).toMatch(/^key …ame {2}/);
  expect(lines.at(-1)).toMatch(/^key 2499 /);
});

Deno.test("names from other servers cannot control the terminal", async () => {
  expect(await tableOf([{ name: "a\x1b[2Jb" }])).toContain("a\\u{1b}[2Jb");
});
