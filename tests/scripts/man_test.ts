/** The man pages, which are made from the help pages. */
import { expect } from "expect";
import { manPages } from "../../scripts/man/pages.ts";
import { COMMANDS } from "../../src/cli/help/program_help.ts";
import { TOPICS } from "../../src/cli/help/topic_names.ts";
import { type Outcome, outcomeOf } from "../execute.ts";
import { inProcess } from "../program/program.ts";
import { testWith } from "../tools.ts";

const PAGES = await manPages(new Date("2026-03-02T09:30:00Z"));

Deno.test("the program, every command, every subcommand and every topic has a man page", () => {
  const names = [
    "service-api.1",
    ...COMMANDS.map(([name]) => `service-api-${name}.1`),
    "service-api-apikey-rotate.1",
    "service-api-resource-add.1",
    "service-api-store-copy.1",
    ...TOPICS.map(([name]) => `service-api-${name}.7`),
  ];
  expect(names.filter((name) => !PAGES.has(name))).toEqual([]);
});

Deno.test("a man page has the date of the commit and the summary of the command", () => {
  const page = PAGES.get("service-api-apikey-rotate.1") ?? "";
  expect(page).toMatch(/^\.TH SERVICE\\-API\\-APIKEY\\-ROTATE 1 2026-03-02 "service\\-api \d/);
  expect(page).toContain("\nservice\\-api\\-apikey\\-rotate \\- issue a new secret for a key\n");
});

testWith(
  ["groff"],
  "a man page shows all flags, examples and sections of --help, in lines of at most 80 characters",
  async () => {
    for (const command of ["apikey", "apikey list", "serve", "config"]) {
      // deno-lint-ignore no-await-in-loop -- one page at a time
      const { stdout: help } = await inProcess([...command.split(" "), "--help"]);
      // deno-lint-ignore no-await-in-loop -- as above
      const text = await rendered(`service-api-${command.replaceAll(" ", "-")}.1`);
      expect(text.split("\n").filter((line) => line.length > 80)).toEqual([]);
      const words = help.split(/\s+/).filter((word) => /^--[a-z-]+$|^[A-Z_]+:[A-Z_]+$|^SERVICE_API_\w+$/.test(word));
      expect(words.length).toBeGreaterThan(10);
      expect([command, words.filter((word) => !text.includes(word))]).toEqual([command, []]);
      const titles = [...help.matchAll(/^(\S.{0,39}):$/gm)].map(([, title = ""]) => title.toUpperCase());
      expect([command, titles.filter((title) => !text.includes(`\n${title}\n`))]).toEqual([command, []]);
    }
  },
);

testWith(["groff"], "the config file in the man page of settings keeps its line breaks", async () => {
  expect(await rendered("service-api-settings.7")).toMatch(/\n +profiles:\n +default: +# used .*\n +base-url: https/);
});

testWith(["groff"], "groff formats every man page without a warning", async () => {
  for (const [name, page] of PAGES) {
    // deno-lint-ignore no-await-in-loop -- one page at a time
    const { code, stderr } = await format("groff", ["-ww", "-man", "-T", "utf8", "-z"], page);
    expect({ name, code, stderr }).toEqual({ name, code: 0, stderr: "" });
  }
});

testWith(["mandoc"], "mandoc finds no fault in any man page", async () => {
  for (const [name, page] of PAGES) {
    // deno-lint-ignore no-await-in-loop -- one page at a time
    const { code, stdout } = await format("mandoc", ["-T", "lint", "-W", "warning"], page);
    expect({ name, code, stdout }).toEqual({ name, code: 0, stdout: "" });
  }
});

async function format(program: string, args: readonly string[], page: string): Promise<Outcome> {
  const command = new Deno.Command(program, { args: [...args], stdin: "piped", stdout: "piped", stderr: "piped" });
  return await outcomeOf(command.spawn(), page);
}

async function rendered(name: string): Promise<string> {
  const options = ["-man", "-T", "utf8", "-P-c", "-P-b", "-P-u", "-rLL=80n"];
  const { stdout } = await format("groff", options, PAGES.get(name) ?? "");
  return stdout;
}
