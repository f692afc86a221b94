/** Looks inside the executables for all targets. Damage to a copy in memory shows that each check can fail. */
import { expect } from "expect";
import { Buffer } from "node:buffer";
import { buildExecutable } from "../program/executable.ts";
import { readElf } from "./elf.ts";
import { readMachO } from "./mach_o.ts";
import { readPe } from "./pe.ts";
import { differences, readProgram } from "./program.ts";

type Undo = () => void;

/**
 * The error that the damage causes, and a function that changes one field of a header, or a byte of the program. The
 * second argument is the start of the program.
 */
type Damage = readonly [error: string, damage: (file: DataView, program: number) => Undo];

interface Format {
  readonly read: (file: Uint8Array<ArrayBuffer>) => { readonly program: Uint8Array };
  /** What `read` returns besides the program. */
  readonly properties: Readonly<Record<string, unknown>>;
  readonly damages: readonly Damage[];
}

function set(file: DataView, at: number, value: number, isLittleEndian = true): Undo {
  const old = file.getUint32(at, isLittleEndian);
  file.setUint32(at, value, isLittleEndian);
  return () => file.setUint32(at, old, isLittleEndian);
}

function add(file: DataView, at: number, amount: number): Undo {
  return set(file, at, file.getUint32(at, true) + amount);
}

/** The first two program headers describe no loaded segments. */
function elfSegment(file: DataView, index: number): number {
  return file.getUint32(0x20, true) + (index + 2) * 56;
}

function elfSection(file: DataView, index: number): number {
  return file.getUint32(0x28, true) + index * 64;
}

/** The position of a field in the note before the program or in the trailer at the end of the file. */
function elfField(file: DataView, program: number, beforeProgram: number, beforeEnd: number): number {
  const hasNote = file.getUint32(program - 18, true) === 0x5355_4901;
  return hasNote ? program - beforeProgram : file.byteLength - beforeEnd;
}

const ELF: readonly Damage[] = [
  ["The file is not a 64-bit little-endian ELF file", (file) => add(file, 0, 1)],
  ["segment 3 is not inside the file", (file) => add(file, elfSegment(file, 3) + 36, 1)],
  ["segment 0 and segment 1 overlap", (file) => set(file, elfSegment(file, 1) + 8, 0)],
  ["segment 1 and segment 2 overlap", (file) => add(file, elfSegment(file, 1) + 44, 1)],
  ["segment 1 is not aligned", (file) => add(file, elfSegment(file, 1) + 16, 1)],
  ["section 5 is not inside the file", (file) => add(file, elfSection(file, 5) + 36, 1)],
  ["section 4 and section 5 overlap", (file) => add(file, elfSection(file, 4) + 32, 4096)],
  ["The file has neither a trailer nor a note", (file, program) => add(file, elfField(file, program, 18, 16), 1)],
  ["The program does not have the length", (file, program) => add(file, elfField(file, program, 22, 8), 8)],
];

/** The position of a segment, by name, or of another load command, by type. */
function command(file: DataView, wanted: string | number): number {
  for (let at = 32; at < 32 + file.getUint32(20, true); at += file.getUint32(at + 4, true)) {
    const name = new TextDecoder().decode(new Uint8Array(file.buffer, at + 8, 16)).replace(/\0.*$/s, "");
    if (file.getUint32(at, true) === wanted || name === wanted) return at;
  }
  throw new Error(`no load command ${wanted}`);
}

const MACH_O: readonly Damage[] = [
  ["The file is not a 64-bit Mach-O file", (file) => add(file, 0, 1)],
  ["load command 0 has the size 73", (file) => add(file, 36, 1)],
  ["The load commands do not have the size that the header states", (file) => add(file, 20, 8)],
  ["The load commands overlap the first section", (file) => set(file, command(file, "__TEXT") + 120, 64)],
  ["is not inside __DATA", (file) => add(file, command(file, "__DATA") + 72 + 44, 1)],
  ["__LINKEDIT is not inside the file", (file) => add(file, command(file, "__LINKEDIT") + 48, 1)],
  ["__TEXT and __DATA", (file) => add(file, command(file, "__TEXT") + 48, 0x4000)],
  ["overlap", (file) => add(file, command(file, "__DATA") + 36, 1)],
  ["__LINKEDIT is not aligned to a page", (file) => add(file, command(file, "__LINKEDIT") + 24, 8)],
  ["__DATA is larger in the file than in memory", (file) => set(file, command(file, "__DATA") + 32, 8)],
  ["__LINKEDIT is not the end of the file", (file) => add(file, command(file, "__LINKEDIT") + 48, -1)],
  ["part 0x2+8 is not inside __LINKEDIT", (file) => set(file, command(file, 2) + 8, 8)],
  ["part 0x2+8 and", (file) => add(file, command(file, 2) + 12, 1)],
];

/** Adds to a big-endian number in the signature. */
function addInSignature(file: DataView, field: number, amount: number): Undo {
  const at = file.getUint32(command(file, 0x1d) + 8, true) + field;
  return set(file, at, file.getUint32(at) + amount, false);
}

const SIGNATURE: readonly Damage[] = [
  ["page 1000 does not have the hash in the signature", (file) => add(file, 1000 * 4096, 1)],
  ["does not have the hash in the signature", (file, program) => add(file, program + 100_000, 1)],
  ["page 0 does not have the hash in the signature", (file) => addInSignature(file, 20 + 16, 32)],
  ["The signature is not one code directory", (file) => addInSignature(file, 8, 1)],
  ["The code directory does not cover everything", (file) => addInSignature(file, 20 + 28, -1)],
  ["The code directory does not cover everything", (file) => addInSignature(file, 20 + 32, -4096)],
  ["The signature is not ad-hoc", (file) => addInSignature(file, 20 + 12, -2)],
  ["The signature names other code", (file) => addInSignature(file, 20 + 76, 1)],
  ["The file has no section __SUI,d3n0l4nd", (file) => add(file, command(file, "__SUI") + 72, 1)],
];

const MARKER: readonly Damage[] = [
  ["The file has no marker before the program", (file, program) => add(file, program - 24, 1)],
  ["The program does not reach to the end of the file", (file, program) => add(file, program - 8, -1)],
];

/** The position of a field of the optional header. */
function peHeader(file: DataView, field: number): number {
  return file.getUint32(0x3c, true) + 24 + field;
}

function peSection(file: DataView, index: number): number {
  return peHeader(file, file.getUint16(peHeader(file, -4), true)) + index * 40;
}

/** The position of the root table of the resources, which are in the last section. */
function resources(file: DataView): number {
  return file.getUint32(peSection(file, file.getUint16(peHeader(file, -18), true) - 1) + 20, true);
}

const PE: readonly Damage[] = [
  ["The file is not a 64-bit PE file", (file) => add(file, 0, 1)],
  ["the section table is not inside the headers", (file) => set(file, peHeader(file, 60), 0x200)],
  ["section 1 is not inside the file", (file) => add(file, peSection(file, 1) + 16, 100_000_000)],
  ["section 0 and section 1 overlap", (file) => add(file, peSection(file, 0) + 16, 0x200)],
  ["section 0 and section 1 overlap", (file) => add(file, peSection(file, 0) + 8, 0x1000)],
  ["section 1 is not aligned", (file) => add(file, peSection(file, 1) + 12, 1)],
  ["is not inside the image", (file) => add(file, peHeader(file, 56), -0x100_0000)],
  ["The file has a checksum", (file) => add(file, peHeader(file, 64), 1)],
  ["The file has a signature", (file) => add(file, peHeader(file, 144), 1)],
  ["A resource is not inside a section", (file) => add(file, peHeader(file, 132), 100_000)],
  ["The file has 2 resources", (file) => add(file, resources(file) + 12, 0x10000)],
  ["The resource is 11/D3N0L4ND", (file) => add(file, resources(file) + 16, 1)],
  ["The resource is 10/E3N0L4ND", (file, program) => add(file, program - 32, 1)],
];

const FORMATS: Readonly<Record<string, Format>> = {
  "x86_64-unknown-linux-gnu": { read: readElf, properties: { machine: 62 }, damages: ELF },
  "aarch64-unknown-linux-gnu": { read: readElf, properties: { machine: 183 }, damages: ELF },
  "x86_64-apple-darwin": {
    read: readMachO,
    properties: { processor: "x86-64", signedPages: undefined },
    damages: [...MACH_O, ...MARKER],
  },
  "aarch64-apple-darwin": {
    read: readMachO,
    properties: { processor: "arm64", signedPages: expect.any(Number) },
    damages: [...MACH_O, ...SIGNATURE],
  },
  "x86_64-pc-windows-msvc": { read: readPe, properties: { machine: 0x8664, subsystem: 3 }, damages: PE },
};

/** The paths of the executables, by target. */
const paths = new Map<string, string>();
const notBuilt: string[] = [];

for (const [target, { read, properties, damages }] of Object.entries(FORMATS)) {
  // deno-lint-ignore no-await-in-loop -- one at a time: each build uses hundreds of megabytes
  const build = await buildExecutable(target);
  const rule = `the executable for ${target} is complete and correctly laid out`;
  if (build.kind === "not built") {
    notBuilt.push(target);
    Deno.test.ignore(`${rule}: skipped, ${build.reason}`, () => {});
    continue;
  }
  paths.set(target, build.path);

  Deno.test(rule, async () => {
    expect(read(await Deno.readFile(build.path))).toMatchObject(properties);
  });

  Deno.test(`damage to the executable for ${target} is found`, async () => {
    const file = await Deno.readFile(build.path);
    const start = read(file).program.byteOffset;
    for (const [error, damage] of damages) {
      const undo = damage(new DataView(file.buffer), start);
      expect(() => read(file)).toThrow(error);
      undo();
    }
    expect(read(file)).toMatchObject(properties);
  });

  Deno.test(`a changed byte in the program for ${target} is found`, async () => {
    const program = read(await Deno.readFile(build.path)).program.slice();
    const parts = readProgram(program);
    for (const part of ["metadata", "file table", "main.js", "server/open_server.js"]) {
      const copy = program.slice();
      const text = parts.get(part) ?? "";
      // A digit or letter becomes the one before it, so that JSON stays valid.
      const position = text.search(/[1-9b-z][^1-9b-z]*$/);
      copy[Buffer.from(copy.buffer).indexOf(text, 0, "latin1") + position] = text.charCodeAt(position) - 1;
      expect(differences(parts, readProgram(copy))).toEqual([part]);
    }
  });
}

/**
 * Removes what is different for each target: the target in the version in `version.js`, and the length of this module
 * in the file table. Deno 2.9 also stores the file name of the executable, which ends in the target, in the metadata.
 */
function withoutTarget(parts: ReadonlyMap<string, string>, target: string): ReadonlyMap<string, string> {
  const version = parts.get("version.js") ?? "";
  const table = parts.get("file table") ?? "";
  const length = `,${version.length}],`;
  const at = table.indexOf(length, table.indexOf('"version.js"'));
  expect(version).toContain(`, ${target})`);
  expect(at).toBeGreaterThan(0);
  return new Map(parts).set("version.js", version.replace(target, ""))
    .set("metadata", parts.get("metadata")?.replace(`-${target}"`, '"') ?? "")
    .set("file table", table.slice(0, at) + table.slice(at + length.length));
}

const same = "the executables for all targets contain the same program, except for the target in its version";
if (notBuilt.length > 0) {
  Deno.test.ignore(`${same}: skipped, not built for ${notBuilt.join(", ")}`, () => {});
} else {
  Deno.test(same, async () => {
    const [first = new Map<string, string>(), ...others] = await Array.fromAsync(paths, async ([target, path]) => {
      const program = FORMATS[target]?.read(await Deno.readFile(path)).program ?? new Uint8Array();
      return withoutTarget(readProgram(program), target);
    });
    expect([...first.keys()]).toEqual(expect.arrayContaining(["main.js", "server/open_server.js"]));
    for (const other of others) expect(differences(first, other)).toEqual([]);
  });
}
