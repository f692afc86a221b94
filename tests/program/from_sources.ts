/** The program run from its sources, with the permissions that it is compiled with. */
import deno from "../../deno.json" with { type: "json" };

/** The words of the `start` task after `deno`, with the module's full path. */
export function fromSources(): readonly string[] {
  const [, ...words] = deno.tasks.start.command.split(" ");
  const main = `${import.meta.dirname}/../../main.ts`;
  return words.map((word) => word === "main.ts" ? main : word);
}
