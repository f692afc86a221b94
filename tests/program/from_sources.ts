/** Runs the program from its sources, with the permissions of the executable. */
import deno from "../../deno.json" with { type: "json" };
import { command } from "../execute.ts";
import { buildExecutable } from "./executable.ts";

/** The arguments that the `start` task passes to `deno`, with the full path of `main.ts`. */
export function fromSources(): readonly string[] {
  const [, ...words] = deno.tasks.start.command.split(" ");
  const main = `${import.meta.dirname}/../../main.ts`;
  return words.map((word) => word === "main.ts" ? main : word);
}

/** The path of Deno's cache. In an environment without HOME, Deno needs this path in DENO_DIR. */
export async function denoDirectory(): Promise<string> {
  return JSON.parse(await command(Deno.execPath(), ["info", "--no-config", "--json"])).denoDir;
}

/**
 * Installs the executable if it can be built, or else a script that runs the program from its sources in any environment,
 * even an empty one.
 */
export async function installProgram(path: string): Promise<void> {
  const build = await buildExecutable();
  if (build.kind === "built") return await Deno.symlink(build.path, path);
  const words = [Deno.execPath(), ...fromSources()].map((word) => `'${word}'`).join(" ");
  await Deno.writeTextFile(path, `#!/bin/sh\nDENO_DIR='${await denoDirectory()}' exec ${words} "$@"\n`, {
    mode: 0o755,
  });
}
