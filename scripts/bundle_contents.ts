/** What is in the bundles: which package gave how many bytes of the code that the executable carries. */
import { decode } from "@jridgewell/sourcemap-codec";
import { dirname, resolve } from "node:path";

/** A package in the code of the program. */
export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** Its directory in Deno's cache of npm packages. */
  readonly directory: string;
  /** Of all bundles together: what several of them have counts as often. */
  readonly bytes: number;
}

export interface BundleContents {
  /** By their names. */
  readonly packages: readonly BundledPackage[];
  /** The program's own code, in bytes. */
  readonly own: number;
  /** What bundler and minifier add, in bytes. */
  readonly glue: number;
}

interface SourceMap {
  readonly sources: readonly string[];
  readonly mappings: string;
}

/** Reads the bundles of a directory by their source maps, each beside its bundle as `.js.map`. */
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

/** The paths of the files in a directory and those below it. */
export async function* filesIn(directory: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(directory)) {
    const path = `${directory}/${name}`;
    if (isDirectory) yield* filesIn(path);
    else yield path;
  }
}

/** How many bytes each source gave to a bundle; `undefined` is what comes from none. */
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
