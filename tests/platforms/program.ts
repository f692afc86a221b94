/** Reads the program in an executable. Format: Deno's `cli/standalone/binary.rs`, `serialize_binary_data_section`. */

const MAGIC = "d3n0l4nd";

/** An entry of the file table: a directory, or a file with its position and length in the contents. */
type Entry =
  | { readonly Dir: { readonly n: string; readonly e: readonly Entry[] } }
  | { readonly File: { readonly n: string; readonly o: readonly [start: number, length: number] } };

/**
 * Splits a program into the metadata, the file table and the modules. The parts contain every byte of the program except
 * lengths and the bytes that are the same in every program.
 *
 * @returns the parts by name, with one character per byte. The name of a module is its path.
 * @throws {Error} if the program has another format, or modules outside of its file table
 */
export function readProgram(bytes: Uint8Array): ReadonlyMap<string, string> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  const take = (length: number): string => {
    at += length;
    return new TextDecoder("latin1").decode(bytes.subarray(at - length, at));
  };
  const takeWithLength = (): string => take(Number(view.getBigUint64((at += 8) - 8, true)));

  const start = take(MAGIC.length);
  const metadata = takeWithLength();
  // No npm packages, specifiers, redirects or remote modules: the program is bundled.
  const others = takeWithLength() + take(12);
  const table = takeWithLength();
  const contents = takeWithLength();
  if (start !== MAGIC || others !== "\0".repeat(12) || take(MAGIC.length) !== MAGIC || at !== bytes.length) {
    throw new Error("The program does not have the expected format");
  }
  const modulesIn = (entries: readonly Entry[], path: string): readonly (readonly [string, string])[] =>
    entries.flatMap((entry) => {
      if ("Dir" in entry) return modulesIn(entry.Dir.e, `${path}${entry.Dir.n}/`);
      const [offset, length] = entry.File.o;
      return [[`${path}${entry.File.n}`, contents.slice(offset, offset + length)] as const];
    });
  return new Map([["metadata", metadata], ["file table", table], ...modulesIn(JSON.parse(table), "")]);
}

/** The names of the parts that are not the same in both programs. */
export function differences(one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): readonly string[] {
  return [...new Set([...one.keys(), ...other.keys()])].filter((name) => one.get(name) !== other.get(name));
}
