/** The matrix of the rights of a key. */
import { expect } from "expect";
import { type Permission, RESOURCES } from "../../../src/apikey/permission.ts";
import { EVERY_RIGHT, rightsOf } from "../../../src/apikey/rights.ts";
import type { Role } from "../../../src/apikey/role.ts";
import type { EffectivePermissions } from "../../../src/client/client.ts";
import { drawRights } from "../../../src/cli/terminal/rights_matrix.ts";
import { styleFor } from "../../../src/cli/terminal/style.ts";
import { widthOf } from "../../../src/cli/terminal/text_width.ts";
import { TerminalHost } from "../../program/terminal_host.ts";

interface Drawing {
  readonly columns?: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** Draws the rights of a key on the embedded server. */
function draw(roles: readonly Role[], permissions: readonly Permission[], drawing: Drawing = {}): string {
  return drawReported({ roles, byRoles: rightsOf(roles, []), byPermissions: rightsOf([], permissions) }, drawing);
}

/** Draws the rights that a server reports. */
function drawReported(rights: EffectivePermissions, { columns = 80, env = {} }: Drawing = {}): string {
  const host = new TerminalHost([], { columns, env });
  return `\n${drawRights(rights, columns, styleFor(host.stderr, host)).join("\n")}\n`;
}

const SOME: readonly Permission[] = ["DOCKER:UPDATE_ANY", "DOCKER:READ_OWN", "CONNECT__REMOTE_ACCESS:DELETE_OWN"];

Deno.test("only resources with rights have a row, and _ANY includes _OWN", () => {
  expect(draw([], SOME)).toBe(`
                          CREATE   READ     UPDATE   DELETE
                          ANY OWN  ANY OWN  ANY OWN  ANY OWN
  CONNECT__REMOTE_ACCESS   ·   ·    ·   ·    ·   ·    ·   ●
  DOCKER                   ·   ·    ·   ●    ●   ●    ·   ·

  ● by permission
`);
});

Deno.test("rights by role, by permission and by both have different marks", () => {
  expect(draw(["GUEST", "CONNECT"], ["ME:READ_ANY", "ME:UPDATE_OWN", "CONNECT:READ_OWN"])).toBe(`
                          CREATE   READ     UPDATE   DELETE
                          ANY OWN  ANY OWN  ANY OWN  ANY OWN
  CONNECT                  ◆   ◆    ◆   ◈    ◆   ◆    ◆   ◆
  CONNECT__REMOTE_ACCESS   ◆   ◆    ◆   ◆    ◆   ◆    ◆   ◆
  ME                       ·   ·    ●   ◈    ·   ●    ·   ·

  ◆ by role  ● by permission  ◈ by both
`);
});

Deno.test("if all resources have equal rights, they share a row", () => {
  expect(draw(["ADMIN"], [])).toBe(`
                    CREATE   READ     UPDATE   DELETE
                    ANY OWN  ANY OWN  ANY OWN  ANY OWN
  all 29 resources   ◆   ◆    ◆   ◆    ◆   ◆    ◆   ◆

  ◆ by role
`);
});

Deno.test("the shared row comes last, after the resources whose rights differ", () => {
  expect(draw(["VIEWER"], ["DOCKER:CREATE_ANY"])).toBe(`
                CREATE   READ     UPDATE   DELETE
                ANY OWN  ANY OWN  ANY OWN  ANY OWN
  DOCKER         ●   ●    ◆   ◆    ·   ·    ·   ·
  the other 28   ·   ·    ◆   ◆    ·   ·    ·   ·

  ◆ by role  ● by permission
`);
});

Deno.test("if only a few resources have no rights, they have a row, and the others share one", () => {
  const permissions = RESOURCES.slice(0, 28).map((resource): Permission => `${resource}:READ_OWN`);
  expect(draw([], permissions)).toBe(`
                CREATE   READ     UPDATE   DELETE
                ANY OWN  ANY OWN  ANY OWN  ANY OWN
  WELCOME        ·   ·    ·   ·    ·   ·    ·   ·
  the other 28   ·   ·    ·   ●    ·   ·    ·   ·

  ● by permission
`);
});

Deno.test("if many resources have no rights, the others do not share a row", () => {
  const permissions = RESOURCES.slice(0, 14).map((resource): Permission => `${resource}:READ_OWN`);
  const lines = draw([], permissions).split("\n");
  expect(lines.filter((line) => line.includes("●") && !line.includes("by"))).toHaveLength(14);
  expect(lines.join()).not.toContain("WELCOME");
});

Deno.test("without rights there are no rows", () => {
  expect(draw([], [])).not.toMatch(/[◆●◈]/);
});

Deno.test("in 40 columns the header is abbreviated, and the legend explains it", () => {
  expect(draw(["GUEST"], SOME, { columns: 40 })).toBe(`
                       Cre Rea Upd Del
                       a o a o a o a o
  CONNECT__REMOTE_AC…  · · · · · · · ●
  DOCKER               · · · ● ● ● · ·
  ME                   · · · ◆ · · · ·

  ◆ by role  ● by permission  a any
  o own
`);
});

Deno.test("without a UTF-8 locale the marks are letters", () => {
  const drawn = draw(["GUEST", "CONNECT"], ["ME:READ_ANY", "CONNECT:READ_OWN"], { env: { LANG: "C" } });
  expect(drawn).toBe(`
                          CREATE   READ     UPDATE   DELETE
                          ANY OWN  ANY OWN  ANY OWN  ANY OWN
  CONNECT                  R   R    R   B    R   R    R   R
  CONNECT__REMOTE_ACCESS   R   R    R   R    R   R    R   R
  ME                       .   .    P   B    .   .    .   .

  R by role  P by permission  B by both
`);
});

Deno.test("each kind of mark has its own colour, and colours do not change the text", () => {
  const [roles, permissions] = [["GUEST"], ["ME:READ_ANY"]] as const;
  const drawn = draw(roles, permissions, { env: { FORCE_COLOR: "1" } });
  expect(drawn).toContain(" \x1b[32m●\x1b[39m   \x1b[33m◈\x1b[39m ");
  expect(drawn).toContain("\x1b[2m·\x1b[22m");
  // deno-lint-ignore no-control-regex -- removes escape sequences
  expect(drawn.replaceAll(/\x1b\[\d+m/g, "")).toBe(draw(roles, permissions));
});

Deno.test("resources and actions that only the server knows are shown too", () => {
  const byRoles = new Set(["DOCKER:READ_ANY", "ORDERS:READ_ANY", "ORDERS:ARCHIVE"]);
  expect(drawReported({ roles: ["VIEWER"], byRoles, byPermissions: new Set(["ORDERS:READ_OWN"]) })).toBe(`
          CREATE   READ     UPDATE   DELETE
          ANY OWN  ANY OWN  ANY OWN  ANY OWN
  DOCKER   ·   ·    ◆   ·    ·   ·    ·   ·
  ORDERS   ·   ·    ◆   ●    ·   ·    ·   ·

  ◆ by role  ● by permission
  Other rights: ORDERS:ARCHIVE
`);
});

Deno.test("a resource that only the server knows can share a row with the others", () => {
  const byRoles = new Set([...RESOURCES, "ORDERS"].map((resource) => `${resource}:READ_ANY`));
  expect(drawReported({ roles: ["VIEWER"], byRoles, byPermissions: new Set() })).toContain("\n  all 30 resources ");
});

Deno.test("if the server does not report what the roles grant, only the permissions are drawn, and a line names the roles", () => {
  const byPermissions = new Set(["DOCKER:READ_ANY"]);
  expect(drawReported({ roles: ["VIEWER"], byRoles: undefined, byPermissions })).toBe(`
          CREATE   READ     UPDATE   DELETE
          ANY OWN  ANY OWN  ANY OWN  ANY OWN
  DOCKER   ·   ·    ●   ·    ·   ·    ·   ·

  ● by permission
  The server does not report which rights the role VIEWER grants.
`);
  const roles = ["VIEWER", "CONNECT"];
  expect(drawReported({ roles, byRoles: undefined, byPermissions: new Set() }, { columns: 40 })).toBe(`
  The server does not report which
  rights the roles VIEWER, CONNECT
  grant.
`);
});

for (const [columns, LANG] of [[30, "C"], [40, "C.UTF-8"], [59, "C.UTF-8"], [60, "C.UTF-8"], [61, "C"]] as const) {
  Deno.test(`in ${columns} columns with LANG=${LANG} no line is too long and no cell is missing`, () => {
    for (
      const [roles, permissions] of [
        [["ADMIN"], SOME],
        [["GUEST", "CONNECT"], SOME],
        [[], [...EVERY_RIGHT].slice(3)],
      ] as const satisfies readonly (readonly [readonly Role[], readonly Permission[]])[]
    ) {
      const lines = draw(roles, permissions, { columns, env: { LANG } }).split("\n");
      expect(Math.max(...lines.map(widthOf))).toBeLessThan(columns);
      const cells = lines.slice(3, lines.indexOf("", 1)).map((line) => line.match(/(?<= )[◆●◈·RPB.](?= |$)/g));
      expect(cells.map((marks) => marks?.length)).toEqual(cells.map(() => 8));
    }
  });
}
