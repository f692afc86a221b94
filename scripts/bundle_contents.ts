/** Uses source maps to count how many bytes of the bundles come from each npm package. */
import { decode } from "@jridgewell/sourcemap-codec";
import { dirname, resolve } from "node:path";

/** An npm package in the bundles. */
export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** Its directory in Deno's npm cache. */
  readonly directory: string;
  /** How many bytes of the bundles come from this package. Code in several bundles counts once per bundle. */
  readonly bytes: number;
}

export interface BundleContents {
  /** Sorted by directory. */
  readonly packages: readonly BundledPackage[];
  /** How many bytes come from the program's own code. */
  readonly own: number;
  /** How many bytes come from no source file, for example from helper functions that the bundler adds. */
  readonly glue: number;
}

interface SourceMap {
  readonly sources: readonly string[];
  readonly mappings: string;
}

/** Reads the bundles in a directory and its subdirectories. The source map of `x.js` is `x.js.map`. */
export async function readBundleContents(directory: string): Promise<BundleContents> {
  const packages = new Map<string, BundledPackage>();
  let own = 0;
  let glue = 0;
  for await (const path of filesIn(directory)) {
    if (!path.endsWith(".js.map")) continue;
    const code = await Deno.readTextFile(path.replace(/\.map$/, ""));
    const map: SourceMap = JSON.parse(await Deno.readTextFile(path));
    for (const [source, bytes] of bytesBySource(code, map)) {
      const found = source === undefined ? undefined : packageOf(resolve(dirname(path), source).replaceAll("\\", "/"));
      if (source === undefined) glue += bytes;
      else if (found === undefined) own += bytes;
      else {
        const { bytes: before = 0 } = packages.get(found.directory) ?? {};
        packages.set(found.directory, { ...found, bytes: before + bytes });
      }
    }
  }
  return {
    packages: [...packages.values()].toSorted((a, b) => a.directory < b.directory ? -1 : 1),
    own,
    glue,
  };
}

/** The paths of all files below a directory. */
export async function* filesIn(directory: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(directory)) {
    const path = `${directory}/${name}`;
    if (isDirectory) yield* filesIn(path);
    else yield path;
  }
}

/** Counts the bytes of a bundle by source file. The bytes that come from no source file have the key `undefined`. */
function bytesBySource(code: string, { sources, mappings }: SourceMap): Map<string | undefined, number> {
  const bytes = new Map<string | undefined, number>();
  const add = (source: string | undefined, count: number): void => {
    bytes.set(source, (bytes.get(source) ?? 0) + count);
  };
  const segments = decode(mappings);
  code.split("\n").forEach((line, number) => {
    let column = 0;
    let source: string | undefined;
    for (const [start, index] of segments[number] ?? []) {
      add(source, start - column);
      column = start;
      source = index === undefined ? undefined : sources[index];
    }
    add(source, line.length - column + 1);
  });
  return bytes;
}

/**
 * Finds the npm package that a source file belongs to. Files of npm packages are in Deno's cache, in directories of the
 * form `…/npm/HOST/NAME/VERSION/`. Returns `undefined` for any other file.
 */
function packageOf(path: string): Omit<BundledPackage, "bytes"> | undefined {
  const found = /^(.*\/npm\/[^/]+\/((?:@[^/]+\/)?[^/]+)\/(\d[^/]*))\//.exec(path);
  if (found === null) return undefined;
  const [, directory = "", name = "", version = ""] = found;
  return { name, version, directory };
}
