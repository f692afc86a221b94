/** What the prompts look like in a small, a usual and a large window: with colours, without, in ASCII, and as plain lines. */
import { expect } from "expect";
import { RESOURCES } from "../../../src/apikey/permission.ts";
import { rightsOf } from "../../../src/apikey/rights.ts";
import type { Prompts } from "../../../src/cli/prompts/prompts.ts";
import { testPictures } from "../../program/snapshots.ts";
import { promptAtTerminal } from "../../program/terminal_host.ts";

const KEYS = Array.from({ length: 200 }, (_, index) => ({
  value: index,
  label: `ci job ${index}`,
  mark: index === 1 ? "in use, last ADMIN" : undefined,
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

testPictures(
  new URL("snapshots.txt", import.meta.url),
  "the prompt",
  Object.fromEntries(
    Object.entries(PROMPTS).map(([kind, show]) => [kind, async (window, see) => {
      const { screen, answer } = await promptAtTerminal<unknown>(show, window);
      see(screen.raw);
      screen.input.end();
      await expect(answer).rejects.toThrow("Interrupted");
    }]),
  ),
);
