/** The rules for all files in `scripts/recipes/`. */
import { expect } from "expect";
import { testWith } from "../tools.ts";
import { HEADINGS_WITH_COMMANDS } from "./readme.ts";
import { openWorkspace, RECIPE_PATHS, RECIPES } from "./workspace.ts";

Deno.test("scripts/recipes/README.md lists every recipe", async () => {
  const readme = await Deno.readTextFile(`${RECIPES}/README.md`);
  const linked = [...readme.matchAll(/\]\(([^#)]+)\)/g)].map(([, target]) => target);
  expect([...new Set(linked)].toSorted()).toEqual(RECIPE_PATHS.toSorted());
});

Deno.test("every section with commands in scripts/recipes/README.md has tests", () => {
  expect(HEADINGS_WITH_COMMANDS).toEqual([
    "Ensure",
    "Rotation",
    "Secrets managers",
    "Expiring keys",
    "Unused keys",
    "Least permissions",
  ]);
});

Deno.test("the first lines of every recipe say what to change", async () => {
  const heads = await Promise.all(RECIPE_PATHS.map(async (name) => {
    const lines = (await Deno.readTextFile(`${RECIPES}/${name}`)).split("\n");
    const end = lines.findIndex((line) => !/^(#|\/\/)/.test(line));
    return { name, head: lines.slice(0, end).join("\n") };
  }));
  expect(heads.filter(({ head }) => !/^(#|\/\/) Change:/m.test(head)).map(({ name }) => name)).toEqual([]);
});

testWith(["shellcheck"], "the scripts have no ShellCheck findings", async () => {
  await using workspace = await openWorkspace();
  const scripts = RECIPE_PATHS.filter((path) => path.endsWith(".sh")).map((path) => path.replace(/.*\//, ""));
  expect(scripts.length).toBeGreaterThan(0);
  expect(await workspace.run(["shellcheck", ...scripts])).toEqual({ code: 0, stdout: "", stderr: "" });
});

for (const name of ["rotate-key", "with-key"]) {
  testWith(["sh"], `${name} exits with 2 and prints its usage if arguments are missing`, async () => {
    await using workspace = await openWorkspace();
    const stderr = expect.stringMatching(new RegExp(`^Usage: ${name} NAME `));
    expect(await workspace.run(["sh", `${name}.sh`, "one", "two"])).toEqual({ code: 2, stdout: "", stderr });
  });
}
