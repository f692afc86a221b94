/**
 * Writes the man pages to dist/man, or to another directory.
 *
 *   deno task man [--output DIR]
 */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { PROJECT } from "./bundle.ts";
import { readCommit } from "./commit.ts";
import { manPages } from "./man/pages.ts";

const { values } = parseArgs({ options: { output: { type: "string", default: resolve(PROJECT, "dist/man") } } });
const output = resolve(values.output);
const commit = await readCommit(PROJECT);
await Deno.mkdir(output, { recursive: true });
for (const [name, text] of await manPages(commit?.time ?? new Date())) {
  // deno-lint-ignore no-await-in-loop -- the lines keep their order
  await Deno.writeTextFile(`${output}/${name}`, text);
  console.log(`${output}/${name}`);
}
