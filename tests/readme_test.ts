/** The links and tables of the READMEs match the project and the program. */
import { expect } from "expect";
import deno from "../deno.json" with { type: "json" };
import { EXIT_CODES } from "../src/cli/exit_code.ts";
import { parseConfig } from "../src/cli/config_file/yaml.ts";
import { inProcess } from "./program/program.ts";
import { README, READMES, sectionOf, SERVER_README, textsIn } from "./readme.ts";

Deno.test("README.md has at most 250 lines", () => {
  expect(README.trimEnd().split("\n").length).toBeLessThanOrEqual(250);
});

for (const [path, text] of READMES) {
  Deno.test(`every task that ${path} names is in deno.json`, () => {
    const named = [...text.matchAll(/(?:^|[` ])(?:deno|deno@[\d.]+) task (\w[\w-]*)/gm)].map(([, name = ""]) => name);
    expect(named.filter((name) => !(name in deno.tasks))).toEqual([]);
  });

  Deno.test(`every link in ${path} leads to an existing file and heading`, async () => {
    const links = [...text.matchAll(/(?:\]\(|srcset="|src=")([^)"]+)/g)].map(([, target = ""]) => target);
    const broken = await Promise.all(links.map((link) => whyBroken(link, path)));
    expect(broken.filter((why) => why !== undefined)).toEqual([]);
  });
}

/** What is wrong with a link in a file, or `undefined` if the link is correct or leads to a web site. */
async function whyBroken(link: string, path: string): Promise<string | undefined> {
  if (/^https?:/.test(link)) return undefined;
  const source = new URL(`../${path}`, import.meta.url);
  const { href, hash } = new URL(link, source);
  const text = await Deno.readTextFile(new URL(href.replace(hash, ""))).catch(() => undefined);
  if (text === undefined) return `${link}: no such file`;
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) => title.toLowerCase().replaceAll(" ", "-"));
  return hash === "" || headings.includes(hash.slice(1)) ? undefined : `${link}: no such heading`;
}

Deno.test("the config file in README.md is valid", () => {
  const [text = ""] = textsIn(README, "yaml");
  const { profiles } = parseConfig(text, "config.yaml", (path) => path);
  expect([...profiles.keys()]).toEqual(["default", "staging"]);
  expect(profiles.get("staging")?.headers).toHaveLength(1);
});

Deno.test("README.md lists every error code with its exit code", () => {
  const rows = [...README.matchAll(/^\| (\d+) +\|[^|]*\| *(`[^|]*`) *\|$/gm)];
  const codes = rows.flatMap(([, exit, names = ""]) =>
    names.split(", ").map((code) => [code.slice(1, -1), Number(exit)])
  );
  expect(Object.fromEntries(codes)).toEqual(EXIT_CODES);
});

const COMMANDS = [
  "apikey",
  "request",
  "needs",
  "resource",
  "serve",
  "store",
  "audit",
  "config",
  "login",
  "logout",
  "completions",
];
const HELP = new Map(
  await Promise.all(COMMANDS.map(async (name) => [name, (await inProcess([name, "--help"])).stdout] as const)),
);
const ALL_HELP = [...HELP.values()].join("");

/** The flags in a text, without `--help`, which every command has. */
function flagsIn(text: string): readonly string[] {
  return [...new Set(text.match(/(?<![\w-])--[a-z]+(?:-[a-z]+)*/g))].filter((flag) => flag !== "--help");
}

Deno.test("README.md lists every command", () => {
  const [, table = ""] = README.split("\n## Commands\n");
  const cells = [...table.matchAll(/^\| (`\w[^|]*)\|/gm)].map(([, cell = ""]) => cell);
  const listed = cells.flatMap((cell) => [...cell.matchAll(/`(\w+)/g)].map(([, name = ""]) => name));
  expect(new Set(listed)).toEqual(new Set(COMMANDS));
});

Deno.test("README.md lists the flag and the variable of every setting", () => {
  const settings = sectionOf("Settings");
  const [, server = ""] = /\nServer settings:\n([^]*?)\n\n/.exec(HELP.get("request") ?? "") ?? [];
  expect(flagsIn(server).filter((flag) => !settings.includes(`\`${flag}`))).toEqual([]);
  const variables = ALL_HELP.match(/SERVICE_API_[A-Z_]+/g) ?? [];
  expect([...new Set(variables)].filter((name) => !settings.includes(`\`${name}\``))).toEqual([]);
});

Deno.test("src/server/README.md lists every flag of serve", () => {
  expect(flagsIn(HELP.get("serve") ?? "").filter((flag) => !sectionOf("Serving").includes(`\`${flag}`))).toEqual([]);
});

Deno.test("every variable in the READMEs is in a help page, and the program has permission to read it", () => {
  const variables = [...new Set([README, SERVER_README].join("").match(/SERVICE_API_[A-Z_]+/g))]
    .filter((name) => name !== "SERVICE_API_DOWNLOAD_URL");
  expect(variables.length).toBeGreaterThan(5);
  expect(variables.filter((name) => !ALL_HELP.includes(name))).toEqual([]);
  expect(variables.filter((name) => !deno.tasks.start.command.includes(name))).toEqual([]);
});
