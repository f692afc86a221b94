/** No recipe is without its tests. */
import { expect } from "expect";
import { RECIPES } from "./blocks.ts";

Deno.test("every recipe is run by tests", async () => {
  const names = await Array.fromAsync(Deno.readDir(import.meta.dirname ?? ""), ({ name }) => name);
  const texts = await Promise.all(names.map((name) => Deno.readTextFile(`${import.meta.dirname}/${name}`)));
  const tested = texts.flatMap((text) => [...text.matchAll(/= recipe\(\s*"(.+?)",/g)].map(([, heading]) => heading));
  expect(RECIPES.size).toBeGreaterThan(0);
  expect([...new Set(tested)].toSorted()).toEqual([...RECIPES.keys()].toSorted());
});
