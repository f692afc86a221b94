/** Draws every scene in both themes, without writing the pictures to files. */
import { SCENES } from "./scenes.ts";
import { readCells } from "./cells.ts";
import { drawSvg, THEMES } from "./svg.ts";

/** @returns SVG documents by file name, for example `create-light.svg` */
export async function drawPictures(): Promise<ReadonlyMap<string, string>> {
  const pictures = new Map<string, string>();
  for (const { name, title, columns, play } of SCENES) {
    // deno-lint-ignore no-await-in-loop -- each scene replaces the random number generator of the process
    const cells = await readCells(await play(columns), columns);
    for (const theme of THEMES) pictures.set(`${name}-${theme.name}.svg`, drawSvg(cells, columns, title, theme));
  }
  return pictures;
}
