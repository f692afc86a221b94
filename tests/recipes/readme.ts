/** The shell commands in `scripts/recipes/README.md`. */
import { RECIPES } from "./workspace.ts";

const SECTIONS: readonly string[] = (await Deno.readTextFile(`${RECIPES}/README.md`)).split(/^## /m);

/**
 * The shell blocks of a section, in order.
 *
 * @param count the number of blocks that have a test
 * @throws {Error} if the section has a different number of blocks, because every block needs a test
 */
export function commandsOf(heading: string, count: number): readonly string[] {
  const section = SECTIONS.find((section) => section.startsWith(`${heading}\n`)) ?? "";
  const blocks = [...section.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block = ""]) => block);
  if (blocks.length !== count) {
    throw new Error(`scripts/recipes/README.md has ${blocks.length} blocks under "${heading}"`);
  }
  return blocks;
}

/** The headings of the sections with commands. */
export const HEADINGS_WITH_COMMANDS: readonly string[] = SECTIONS
  .filter((section) => section.includes("```"))
  .map((section) => section.split("\n", 1)[0] ?? "");
