/** The recipes of the README: the blocks of its section "Recipes". */

export interface Block {
  /** What stands behind the backticks. */
  readonly language: string;
  readonly text: string;
}

const README = await Deno.readTextFile(`${import.meta.dirname}/../../README.md`);

/** The blocks under each heading of the section. */
export const RECIPES: ReadonlyMap<string, readonly Block[]> = new Map(
  (README.split(/^## /m).find((section) => section.startsWith("Recipes\n")) ?? "")
    .split(/^### /m).slice(1)
    .map((part) => [part.split("\n", 1)[0] ?? "", blocksIn(part)]),
);

function blocksIn(text: string): readonly Block[] {
  return [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)]
    .map(([, language = "", block = ""]) => ({ language, text: block }));
}

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
