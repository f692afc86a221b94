/** Attributes the bytes of the bundles to the npm packages they come from, by source maps. */
import { decode } from "@jridgewell/sourcemap-codec";
import { dirname, resolve } from "node:path";

/** An npm package in the bundles. */
export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** Its directory in Deno's npm cache. */
  readonly directory: string;
  /** The bytes in all bundles. Code in several bundles counts several times. */
  readonly bytes: number;
}

export interface BundleContents {
  /** Sorted by directory. */
  readonly packages: readonly BundledPackage[];
  /** Bytes of the program's own code. */
  readonly own: number;
  /** Bytes that the bundler and minifier add. */
  readonly glue: number;
}

interface SourceMap {
  readonly sources: readonly string[];
  readonly mappings: string;
}

/** Reads the bundles in a directory. Each has its source map next to it, as `.js.map`. */
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

/** The bytes of a bundle by source; `undefined` for those without a source. */
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

/** The npm package that a file in Deno's cache belongs to: `…/npm/HOST/NAME/VERSION/…`. */
function packageOf(path: string): Omit<BundledPackage, "bytes"> | undefined {
  const found = /^(.*\/npm\/[^/]+\/((?:@[^/]+\/)?[^/]+)\/(\d[^/]*))\//.exec(path);
  if (found === null) return undefined;
  const [, directory = "", name = "", version = ""] = found;
  return { name, version, directory };
}
