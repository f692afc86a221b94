/** The program run from its sources, with the permissions that it is compiled with. */
import deno from "../../deno.json" with { type: "json" };
import { command } from "../execute.ts";

/** The words of the `start` task after `deno`, with the module's full path. */
export function fromSources(): readonly string[] {
  const [, ...words] = deno.tasks.start.command.split(" ");
  const main = `${import.meta.dirname}/../../main.ts`;
  return words.map((word) => word === "main.ts" ? main : word);
}

/** Where Deno has its cache, which it has to be told in an environment without HOME. */
export async function denoDirectory(): Promise<string> {
  return JSON.parse(await command(Deno.execPath(), ["info", "--no-config", "--json"])).denoDir;
}

/** Makes a script that runs it so in any environment, also in none. */
export async function installFromSources(path: string): Promise<void> {
  const words = [Deno.execPath(), ...fromSources()].map((word) => `'${word}'`).join(" ");
  await Deno.writeTextFile(path, `#!/bin/sh\nDENO_DIR='${await denoDirectory()}' exec ${words} "$@"\n`, {
    mode: 0o755,
  });
}
