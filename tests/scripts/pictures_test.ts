/** Checks that the pictures of the READMEs show what the program draws. */
import { expect } from "expect";
import { drawPictures } from "../../scripts/pictures/draw.ts";
import { README } from "../readme.ts";

const FOLDER = new URL("../../scripts/pictures/", import.meta.url);

const drawn = await drawPictures();

for (const [name, svg] of drawn) {
  Deno.test(`scripts/pictures/${name} shows what the program draws`, async () => {
    const stored = await Deno.readTextFile(new URL(name, FOLDER)).catch(() => "");
    const changed = svg.split("\n").filter((line) => !stored.split("\n").includes(line)).map(wordsOf);
    if (svg !== stored) throw new Error(["The picture is out of date. Run: deno task pictures", ...changed].join("\n"));
  });
}

/** The visible text of a line of SVG. */
function wordsOf(line: string): string {
  return line.replaceAll(/(?:<[^>]*>)+/g, " ").trim();
}

Deno.test("scripts/pictures/ contains only pictures that the task draws", async () => {
  const files = (await Array.fromAsync(Deno.readDir(FOLDER))).map(({ name }) => name);
  expect(files.filter((name) => name.endsWith(".svg")).toSorted()).toEqual([...drawn.keys()].toSorted());
});

Deno.test("every picture in the README exists in a light and a dark variant", () => {
  const named = [...README.matchAll(/scripts\/pictures\/(\S+\.svg)"/g)].map(([, name = ""]) => name);
  expect(named.length).toBeGreaterThan(0);
  expect(named.filter((name) => !drawn.has(name))).toEqual([]);
  expect(named.map((name) => name.replace("-light", "-dark")).filter((name) => !named.includes(name))).toEqual([]);
});
