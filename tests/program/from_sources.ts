/** The program run from its sources, with the permissions that it is compiled with. */
import deno from "../../deno.json" with { type: "json" };

/** The words of the `start` task after `deno`, with the module's full path. */
export function fromSources(): readonly string[] {
  const [, ...words] = deno.tasks.start.command.split(" ");
  const main = `${import.meta.dirname}/../../main.ts`;
  return words.map((word) => word === "main.ts" ? main : word);
}

/** Makes a script that runs it so in any environment, also in none. */
export async function installFromSources(path: string): Promise<void> {
  const { stdout } = await new Deno.Command(Deno.execPath(), { args: ["info", "--json"] }).output();
  const { denoDir } = JSON.parse(new TextDecoder().decode(stdout));
  const words = [Deno.execPath(), ...fromSources()].map((word) => `'${word}'`).join(" ");
  await Deno.writeTextFile(path, `#!/bin/sh\nDENO_DIR='${denoDir}' exec ${words} "$@"\n`, { mode: 0o755 });
}
