/** The README, by its sections and blocks. */

export interface Block {
  /** What stands behind the backticks. */
  readonly language: string;
  readonly text: string;
}

export const README = await Deno.readTextFile(`${import.meta.dirname}/../README.md`);

/** What comes before the first section, and the sections, each from its heading on, which comes without `##`. */
export const SECTIONS: readonly string[] = README.split(/^## /m);

/** @throws {Error} when there is no such section */
export function sectionOf(heading: string): string {
  const section = SECTIONS.find((section) => headingOf(section) === heading);
  if (section === undefined) throw new Error(`the README has no section "${heading}"`);
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
