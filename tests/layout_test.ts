/** The source layout: which folder may import which, what the program loads at start, and how large a folder may be. */
import { expect } from "expect";
import { dirname } from "node:path";
import deno from "../deno.json" with { type: "json" };

const ROOT = new URL("../", import.meta.url);

/** The import map of the program. */
const IMPORT_MAP: ReadonlyMap<string, string> = new Map(
  Object.entries(deno.imports),
);

interface Import {
  readonly target: string;
  /** Whether it is an `import type`, which loads nothing. */
  readonly isType: boolean;
  /** Whether it is an `import(…)`, which loads nothing until it is executed. */
  readonly onDemand: boolean;
}

/** Every import of a module. */
async function importsOf(module: string): Promise<readonly Import[]> {
  const text = await Deno.readTextFile(new URL(module, ROOT));
  const resolve = (specifier: string): string => {
    if (specifier.startsWith("#")) {
      return (IMPORT_MAP.get(specifier) ?? specifier).slice(2);
    }
    if (!specifier.startsWith(".")) return specifier;
    return new URL(specifier, new URL(module, ROOT)).pathname.slice(
      ROOT.pathname.length,
    );
  };
  const statics = text.matchAll(
    /^(?:import|export)\s(type\s)?(?:[^;"]*?\sfrom\s)?"([^"]+)"/gm,
  );
  const dynamics = text.matchAll(/\bimport\("([^"]+)"\)/g);
  return [
    ...[...statics].map(([, type, target = ""]) => ({
      target: resolve(target),
      isType: type !== undefined,
      onDemand: false,
    })),
    ...[...dynamics].map(([, target = ""]) => ({
      target: resolve(target),
      isType: false,
      onDemand: true,
    })),
  ];
}

async function modulesIn(folder: string): Promise<readonly string[]> {
  const entries = await Array.fromAsync(Deno.readDir(new URL(folder, ROOT)));
  const modules = entries.map(({ name, isDirectory }) =>
    isDirectory ? modulesIn(`${folder}/${name}`) : [`${folder}/${name}`]
  );
  return (await Promise.all(modules)).flat().filter((path) => path.endsWith(".ts"));
}

/** A module and everything that its static imports load, directly or indirectly. */
async function loadedFrom(
  module: string,
  seen = new Set<string>(),
): Promise<Set<string>> {
  if (seen.has(module) || !module.endsWith(".ts")) return seen.add(module);
  seen.add(module);
  const imports = await importsOf(module);
  for (const { target, isType, onDemand } of imports) {
    // deno-lint-ignore no-await-in-loop -- `seen` must contain everything that the previous imports load
    if (!isType && !onDemand) await loadedFrom(target, seen);
  }
  return seen;
}

const ALLOWED_IMPORTS: Readonly<Record<string, RegExp>> = {
  "src/apikey": /^src\/apikey\//,
  "src/client": /^src\/(apikey|client)\/|^graphql-request$|^zod\/mini$/,
  "src/server":
    /^src\/(apikey|server|store)\/|^graphql(-http)?$|^prom-client$|^sha256-uint8array$|^node:(buffer|https?|net|stream|timers\/promises)$/,
  "src/store": /^src\/(apikey|store)\/|^pg$|^node:(sqlite|timers\/promises)$/,
  "src/cli":
    /^src\/|^deno\.json$|^@(commander-js|clack)\/|^(graphql|yaml|zod\/mini|fast-string-truncated-width)$|^node:(crypto|fs|process|readline|stream)$/,
};

for (const [folder, allowed] of Object.entries(ALLOWED_IMPORTS)) {
  Deno.test(`${folder} imports only modules that it is allowed to import`, async () => {
    const modules = await modulesIn(folder);
    const imports = (await Promise.all(modules.map(importsOf))).flat();
    expect(modules.length).toBeGreaterThan(0);
    expect(imports.filter(({ target }) => !allowed.test(target))).toEqual([]);
  });
}

/**
 * Entry files. Each imports the folders below it, and these folders import other files next to the entry file. Each
 * entry file therefore counts as a separate folder. Otherwise, these imports would look like cycles.
 */
const ENTRIES = [
  "src/cli/program.ts",
  "src/cli/commands/apikey/lifecycle.ts",
  "src/cli/commands/commands.ts",
  "src/cli/prompts/prompts.ts",
  "src/client/client.ts",
  "src/server/open_server.ts",
];

function folderOf(module: string): string {
  return ENTRIES.includes(module) ? module : dirname(module);
}

Deno.test("static imports between folders form no cycle, not even with `import type`", async () => {
  const folders = new Map<string, Set<string>>();
  for (const module of await modulesIn("src")) {
    const targets = folders.get(folderOf(module)) ?? new Set();
    folders.set(folderOf(module), targets);
    for (const { target, onDemand } of await importsOf(module)) {
      if (!onDemand && target.startsWith("src/")) targets.add(folderOf(target));
    }
  }
  const cycles: string[] = [];
  const visit = (folder: string, path: readonly string[]): void => {
    if (path.includes(folder)) {
      return void cycles.push(
        [...path.slice(path.indexOf(folder)), folder].join(" → "),
      );
    }
    for (const target of folders.get(folder) ?? []) {
      if (target !== folder) visit(target, [...path, folder]);
    }
  };
  for (const folder of folders.keys()) visit(folder, []);
  expect(cycles).toEqual([]);
});

/** A longer list of files is hard to take in at a glance. */
const MAX_FILES = 15;

Deno.test("no folder in src/ and scripts/ has more than 15 TypeScript files", async () => {
  const counts = new Map<string, number>();
  for (
    const module of [...await modulesIn("src"), ...await modulesIn("scripts")]
  ) {
    counts.set(dirname(module), (counts.get(dirname(module)) ?? 0) + 1);
  }
  expect([...counts].filter(([, count]) => count > MAX_FILES)).toEqual([]);
});

Deno.test("the program starts without loading prompts, completions, zod, the client, the server or the store", async () => {
  const loaded = [...await loadedFrom("main.ts")];
  expect(loaded).toContain("src/cli/commands/apikey/create.ts");
  const onDemand =
    /^src\/((client|server|store)|cli\/(completions|prompts))\/|commands\/(serve|login)|graphql|zod|sqlite/;
  expect(loaded.filter((module) => onDemand.test(module))).toEqual([]);
});

Deno.test("completions load the client, the server and the store only to complete key names", async () => {
  const loaded = [...await loadedFrom("src/cli/completions/complete.ts")];
  expect(loaded).toContain("src/cli/completions/values.ts");
  expect(
    loaded.filter((module) => /^src\/(client|server|store)\/|graphql|sqlite/.test(module)),
  ).toEqual([]);
});

Deno.test("only the command needs loads the parser of graphql, and only when it runs", async () => {
  const loaded = [...await loadedFrom("src/cli/commands/commands.ts")];
  expect(loaded).toContain("src/cli/commands/needs/needs.ts");
  expect(loaded.filter((module) => module === "graphql")).toEqual([]);
  expect(await loadedFrom("src/cli/commands/needs/document_needs.ts")).toContain("graphql");
});

Deno.test("prompts, the rights matrix and the progress bar are not loaded at start", async () => {
  const loaded = [...await loadedFrom("main.ts")];
  expect(
    loaded.filter((module) => /\/prompts|clack|rights_matrix|progress|style|text_width/.test(module)),
  ).toEqual([]);
});

Deno.test("the YAML parser is loaded only if there is a config file", async () => {
  const loaded = [...await loadedFrom("src/cli/connection/connection.ts")];
  expect(loaded).toContain("src/cli/config_file/read.ts");
  expect(
    loaded.filter((module) => /^yaml$|config_file\/(yaml|edit)/.test(module)),
  ).toEqual([]);
});

Deno.test("the client loads neither the embedded server nor the store", async () => {
  const loaded = [...await loadedFrom("src/client/client.ts")];
  expect(loaded).toEqual(
    expect.arrayContaining(["zod/mini", "graphql-request"]),
  );
  expect(
    loaded.filter((module) => /^src\/(server|store|cli)\/|sqlite/.test(module)),
  ).toEqual([]);
});

Deno.test("the client does not call z.catch, which would add all of zod's internal functions to its bundle", async () => {
  const loaded = [...await loadedFrom("src/cli/connection/connection.ts")].filter((module) => module.endsWith(".ts"));
  expect(loaded).toContain("src/client/create/create_request.ts");
  const texts = await Promise.all(loaded.map((module) => Deno.readTextFile(new URL(module, ROOT))));
  expect(loaded.filter((_module, i) => texts[i]?.includes("z.catch("))).toEqual([]);
});

Deno.test("the HTTP server loads the metrics only on demand", async () => {
  const loaded = [...await loadedFrom("src/server/http/http_server.ts")];
  expect(loaded).toContain("src/server/http/metrics_listener.ts");
  expect(loaded.filter((module) => /^prom-client$|telemetry\/metrics/.test(module))).toEqual([]);
  expect(await loadedFrom("src/server/telemetry/metrics.ts")).toContain("prom-client");
});

Deno.test("the embedded server loads HTTP and PostgreSQL only on demand", async () => {
  const loaded = [...await loadedFrom("src/server/open_server.ts")];
  expect(loaded).toContain("src/store/sqlite.ts");
  expect(
    loaded.filter((module) => /^pg$|src\/server\/http|node:(crypto|https?|net)$/.test(module)),
  ).toEqual([]);
});

Deno.test("the tests use the program's dependencies in the same versions", async () => {
  const [map, testMap, lock, testLock] = await Promise.all(
    ["deno.json", "tests/deno.json", "deno.lock", "tests/deno.lock"].map(async (
      path,
    ) => JSON.parse(await Deno.readTextFile(new URL(path, ROOT)))),
  );
  const own = Object.entries<string>(map.imports).map((
    [name, target],
  ) => [name, target.replace(/^\.\//, "../")]);
  expect(testMap.imports).toMatchObject(Object.fromEntries(own));
  expect(testLock.specifiers).toMatchObject(lock.specifiers);
  expect(testMap.compilerOptions).toEqual(map.compilerOptions);
});
