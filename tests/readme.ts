/** The READMEs, by their sections and code blocks. */

export interface Block {
  /** What stands behind the backticks, for example `sh`. */
  readonly language: string;
  readonly text: string;
}

const ROOT = new URL("../", import.meta.url);

export const README = await Deno.readTextFile(new URL("README.md", ROOT));

export const SERVER_README = await Deno.readTextFile(new URL("src/server/README.md", ROOT));

export const TESTS_README = await Deno.readTextFile(new URL("tests/README.md", ROOT));

/** The text before the first section, and the sections, each from its heading on, without the `##`. */
export function sectionsIn(readme: string): readonly string[] {
  return readme.split(/^## /m);
}

/**
 * A section of the README, or of the server's.
 *
 * @throws {Error} if neither has it
 */
export function sectionOf(heading: string): string {
  const sections = [README, SERVER_README].flatMap(sectionsIn);
  const section = sections.find((section) => headingOf(section) === heading);
  if (section === undefined) throw new Error(`the READMEs have no section "${heading}"`);
  return section;
}

/** The first line of a section, or of a part of one. */
export function headingOf(section: string): string {
  return section.split("\n", 1)[0] ?? "";
}

export function blocksIn(text: string): readonly Block[] {
  return [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)]
    .map(([, language = "", block = ""]) => ({ language, text: block }));
}

/** The texts of the blocks in one language. */
export function textsIn(text: string, language: string): readonly string[] {
  return blocksIn(text).filter((block) => block.language === language).map(({ text }) => text);
}
