/** What may import what, and what is loaded only on demand. */
import { expect } from "expect";
import deno from "../deno.json" with { type: "json" };

const ROOT = new URL("../", import.meta.url);

/** What is loaded on demand, by the names of the import map. */
const PARTS: ReadonlyMap<string, string> = new Map(Object.entries(deno.imports));

interface Import {
  readonly target: string;
  /** Gone when types are erased. */
  readonly isType: boolean;
  /** An `import(…)`, not loaded until it is reached. */
  readonly onDemand: boolean;
}

/** Every import of a module. */
async function importsOf(module: string): Promise<readonly Import[]> {
  const text = await Deno.readTextFile(new URL(module, ROOT));
  const resolve = (specifier: string): string =>
    specifier.startsWith("#")
      ? (PARTS.get(specifier) ?? specifier).slice(2)
      : specifier.startsWith(".")
      ? new URL(specifier, new URL(module, ROOT)).pathname.slice(ROOT.pathname.length)
      : specifier;
  const statics = text.matchAll(/^(?:import|export)\s(type\s)?(?:[^;"]*?\sfrom\s)?"([^"]+)"/gm);
  const dynamics = text.matchAll(/\bimport\("([^"]+)"\)/g);
  return [
    ...[...statics].map(([, type, target = ""]) => ({
      target: resolve(target),
      isType: type !== undefined,
      onDemand: false,
    })),
    ...[...dynamics].map(([, target = ""]) => ({ target: resolve(target), isType: false, onDemand: true })),
  ];
}

async function modulesIn(folder: string): Promise<readonly string[]> {
  const entries = await Array.fromAsync(Deno.readDir(new URL(folder, ROOT)));
  const modules = entries.map(({ name, isDirectory }) =>
    isDirectory ? modulesIn(`${folder}/${name}`) : [`${folder}/${name}`]
  );
  return (await Promise.all(modules)).flat();
}

async function loadedFrom(module: string, seen = new Set<string>()): Promise<Set<string>> {
  if (seen.has(module) || !module.endsWith(".ts")) return seen.add(module);
  seen.add(module);
  const imports = await importsOf(module);
  for (const { target, isType, onDemand } of imports) {
    // deno-lint-ignore no-await-in-loop -- a walk that remembers where it has been
    if (!isType && !onDemand) await loadedFrom(target, seen);
  }
  return seen;
}

const MAY_IMPORT: Readonly<Record<string, RegExp>> = {
  "src/apikey": /^src\/apikey\//,
  "src/client": /^src\/(apikey|client)\/|^valibot$/,
  "src/server": /^src\/(apikey|server|store)\/|^graphql(-http)?$|^node:(buffer|crypto|https?|net|stream|timers)$/,
  "src/store": /^src\/(apikey|store)\/|^pg$|^node:(sqlite|timers)$/,
  "src/cli":
    /^src\/|^deno\.json$|^@(commander-js|clack)\/|^(yaml|zod\/mini|fast-string-truncated-width)$|^node:(crypto|process|readline|stream)$/,
};

for (const [folder, allowed] of Object.entries(MAY_IMPORT)) {
  Deno.test(`${folder} imports nothing but what the design lets it import`, async () => {
    const modules = await modulesIn(folder);
    const imports = (await Promise.all(modules.map(importsOf))).flat();
    expect(modules.length).toBeGreaterThan(0);
    expect(imports.filter(({ target }) => !allowed.test(target))).toEqual([]);
  });
}

Deno.test("starting up loads no client, no server, no store, no logging, no completions", async () => {
  const loaded = [...await loadedFrom("main.ts")];
  expect(loaded).toContain("src/cli/commands/apikey/create.ts");
  const onDemand =
    /^src\/((client|server|store)|cli\/completions)\/|commands\/(serve|login)|logtape|graphql|valibot|sqlite/;
  expect(loaded.filter((module) => onDemand.test(module))).toEqual([]);
});

Deno.test("completing loads no client, no server, no store, no logging, unless it asks for the names of keys", async () => {
  const loaded = [...await loadedFrom("src/cli/completions/complete.ts")];
  expect(loaded).toContain("src/cli/completions/values.ts");
  expect(loaded.filter((module) => /^src\/(client|server|store)\/|logtape|graphql|valibot|sqlite/.test(module)))
    .toEqual(
      [],
    );
});

Deno.test("no prompt, no picture and no status line is loaded without a terminal", async () => {
  const loaded = [...await loadedFrom("main.ts")];
  expect(loaded.filter((module) => /prompts|clack|rights_matrix|progress|style|text_width/.test(module)))
    .toEqual([]);
});

Deno.test("starting up loads neither questions nor what reads a config file", async () => {
  const loaded = [...await loadedFrom("main.ts")];
  expect(loaded).toContain("src/cli/config_file/read.ts");
  expect(loaded.filter((module) => /^yaml$|clack|prompts|config_file\/(yaml|edit)/.test(module))).toEqual([]);
});

Deno.test("a request to another server loads no server, no store, no logging", async () => {
  const loaded = [...await loadedFrom("src/client/client.ts")];
  expect(loaded).toContain("valibot");
  expect(loaded.filter((module) => /^src\/(server|store|cli)\/|logtape|graphql|sqlite/.test(module))).toEqual([]);
});

Deno.test("the server inside the program loads neither HTTP nor PostgreSQL", async () => {
  const loaded = [...await loadedFrom("src/server/open_server.ts")];
  expect(loaded).toContain("src/store/sqlite.ts");
  expect(loaded.filter((module) => /^pg$|src\/server\/http|node:(crypto|https?|net)$/.test(module)))
    .toEqual([]);
});
