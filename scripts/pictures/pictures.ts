/**
 * `deno task pictures`: writes the pictures of the root README to the folder of this module, as SVG files. Each picture
 * shows what the program draws in a terminal. If the program does not change, neither do the files.
 */
import { drawPictures } from "./draw.ts";

const pictures = await drawPictures();
await Promise.all(
  [...pictures].map(([name, svg]) => Deno.writeTextFile(new URL(name, import.meta.url), svg)),
);
for (const name of pictures.keys()) console.log(`scripts/pictures/${name}`);
