/** Reads the READMEs and splits them into sections and code blocks. */

export interface Block {
  /** The word after the opening backticks, for example `sh`. */
  readonly language: string;
  readonly text: string;
}

const ROOT = new URL("../", import.meta.url);

const PATHS = ["README.md", ...(await Promise.all(["scripts/", "src/", "tests/"].map(readmesIn))).flat()];

/** The text of every README of the project, by its path from the root. */
export const READMES: ReadonlyMap<string, string> = new Map(
  await Promise.all(PATHS.map(async (path) => [path, await Deno.readTextFile(new URL(path, ROOT))] as const)),
);

export const README = READMES.get("README.md") ?? "";
export const SERVER_README = READMES.get("src/server/README.md") ?? "";
export const TESTS_README = READMES.get("tests/README.md") ?? "";

/** @param folder ends in `/` */
async function readmesIn(folder: string): Promise<readonly string[]> {
  const entries = await Array.fromAsync(Deno.readDir(new URL(folder, ROOT)));
  const paths = entries.map(({ name, isDirectory }) => {
    if (isDirectory) return readmesIn(`${folder}${name}/`);
    return Promise.resolve(name === "README.md" ? [`${folder}${name}`] : []);
  });
  return (await Promise.all(paths)).flat();
}

/** The text before the first section, then the sections. Each section starts with its heading, without the `##`. */
export function sectionsIn(readme: string): readonly string[] {
  return readme.split(/^## /m);
}

/**
 * The section with this heading in README.md or src/server/README.md.
 *
 * @throws {Error} if neither file has the section
 */
export function sectionOf(heading: string): string {
  const sections = [README, SERVER_README].flatMap(sectionsIn);
  const section = sections.find((section) => headingOf(section) === heading);
  if (section === undefined) throw new Error(`the READMEs have no section "${heading}"`);
  return section;
}

/** The heading of a section: its first line. */
export function headingOf(section: string): string {
  return section.split("\n", 1)[0] ?? "";
}

export function blocksIn(text: string): readonly Block[] {
  return [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)]
    .map(([, language = "", block = ""]) => ({ language, text: block }));
}

/** The texts of the code blocks in one language. */
export function textsIn(text: string, language: string): readonly string[] {
  return blocksIn(text).filter((block) => block.language === language).map(({ text }) => text);
}
