/** The recipes of the README: the blocks of its section "Recipes". */
import { type Block, blocksIn, headingOf, sectionOf } from "../readme.ts";

/** The blocks under each heading of the section. */
export const RECIPES: ReadonlyMap<string, readonly Block[]> = new Map(
  sectionOf("Recipes").split(/^### /m).slice(1).map((part) => [headingOf(part), blocksIn(part)]),
);

/**
 * The texts of the blocks under a heading, in their order.
 *
 * @param languages those of the blocks, so that none is added that no test runs
 */
export function recipe(heading: string, languages: readonly string[]): readonly string[] {
  const blocks = RECIPES.get(heading) ?? [];
  const found = blocks.map(({ language }) => language);
  if (found.join() !== languages.join()) throw new Error(`under "${heading}" the README has ${found.join() || "none"}`);
  return blocks.map(({ text }) => text);
}
