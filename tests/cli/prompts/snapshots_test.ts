/** What the prompts look like in a small, a usual and a large window: with colours, without, in ASCII, and as plain lines. */
import { expect } from "expect";
import { RESOURCES } from "../../../src/apikey/permission.ts";
import { rightsOf } from "../../../src/apikey/rights.ts";
import type { Prompts } from "../../../src/cli/prompts/prompts.ts";
import { promptAtTerminal } from "../../program/terminal_host.ts";

const KEYS = Array.from({ length: 200 }, (_, index) => ({
  value: index,
  label: `ci job ${index}`,
  hint: "VIEWER, 3 permissions  used 2 days ago",
}));

const PROMPTS = {
  text: (prompts) =>
    prompts.text({ label: "Description", hint: "what the key is for (optional)", initial: "for ci", canGoBack: true }),
  confirm: (prompts) => prompts.confirm({ label: "Create this key?", initial: true, canEdit: true }),
  mode: (prompts) => prompts.selectOne({ label: "What do you want to do?", items: KEYS.slice(0, 3), canGoBack: true }),
  search: (prompts) => prompts.searchOne({ label: "Key to rotate", items: KEYS }),
  select: (prompts) => prompts.select({ label: "Keys to delete", items: KEYS, initial: [0, 2, 199], canGoBack: true }),
  permissions: (prompts) =>
    prompts.permissions({
      label: "Permissions",
      resources: RESOURCES,
      roles: ["VIEWER"],
      byRoles: rightsOf(["VIEWER"], []),
      anyIncludesOwn: true,
      initial: ["API_KEY:UPDATE_ANY"],
      canGoBack: true,
    }),
} satisfies Record<string, (prompts: Prompts) => Promise<unknown>>;

const SIZES = [[40, 15], [80, 24], [160, 50]] as const;

const STYLES = {
  colour: { NO_COLOR: "" },
  "no colour": {},
  ASCII: { LANG: "C" },
  plain: { TERM: "dumb" },
} as const;

/** The screens below lines that name them. With `UPDATE_SNAPSHOTS=1`, the tests write this file. */
const FILE = new URL("snapshots.txt", import.meta.url);

const screens: string[] = [];
const expected = Deno.env.get("UPDATE_SNAPSHOTS") === "1" ? undefined : await Deno.readTextFile(FILE);

for (const [kind, show] of Object.entries(PROMPTS)) {
  for (const [columns, rows] of SIZES) {
    for (const [style, env] of Object.entries(STYLES)) {
      Deno.test(`the prompt ${kind} at ${columns} x ${rows}, ${style}`, async () => {
        const { screen, answer } = await promptAtTerminal<unknown>(show, { columns, rows, env });
        const raw = screen.raw.replaceAll("\x1b", "␛");
        screen.input.end();
        await expect(answer).rejects.toThrow("Interrupted");
        const section = `=== ${kind}, ${columns} x ${rows}, ${style} ===\n${raw.trimEnd()}\n`;
        // Plain lines scroll.
        if (style !== "plain") expect(raw.split("\n").length).toBeLessThanOrEqual(rows);
        if (expected === undefined) screens.push(section);
        else expect(expected.split(/^(?==== )/m)).toContain(section);
      });
    }
  }
}

if (expected === undefined) {
  Deno.test("the snapshots are written", async () => {
    await Deno.writeTextFile(FILE, screens.join(""));
  });
}
