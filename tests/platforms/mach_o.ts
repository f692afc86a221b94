/**
 * Reads a macOS executable into which `deno compile` has embedded a program.
 *
 * Formats: `mach-o/loader.h` and `kern/cs_blobs.h` of Apple's xnu. denoland/sui puts the program into the segment
 * `__SUI` on arm64. On x86-64 it appends a marker, the length of the program and the program to the string table.
 */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { checkRanges, MEMORY, type Range, range } from "./ranges.ts";

export interface MachO {
  readonly processor: "arm64" | "x86-64";
  /** The names of the segments, in the order of the file. */
  readonly segments: readonly string[];
  /** How many page hashes the signature has; `undefined` if the file is not signed. */
  readonly signedPages: number | undefined;
  readonly program: Uint8Array;
}

interface Segment extends Range {
  readonly memory: Range;
  readonly sections: readonly Range[];
}

const LC_SEGMENT_64 = 0x19;
const LC_CODE_SIGNATURE = 0x1d;
const ZERO_FILL_TYPES = [0x1, 0xc, 0x12];

/**
 * The parts of `__LINKEDIT`, by load command. `field` is the offset, in the load command, of the field that says where
 * the part starts. The next field is the number of elements. `size` is the size of an element.
 */
const LINKEDIT_PARTS: Readonly<Record<number, readonly (readonly [field: number, size: number])[]>> = {
  0x2: [[8, 16], [16, 1]], // LC_SYMTAB: symbols, strings
  0xb: [[32, 8], [40, 56], [48, 4], [56, 4], [64, 8], [72, 8]], // LC_DYSYMTAB
  0x8000_0022: [[8, 1], [16, 1], [24, 1], [32, 1], [40, 1]], // LC_DYLD_INFO_ONLY
  [LC_CODE_SIGNATURE]: [[8, 1]],
  0x26: [[8, 1]], // LC_FUNCTION_STARTS
  0x29: [[8, 1]], // LC_DATA_IN_CODE
  0x8000_0033: [[8, 1]], // LC_DYLD_EXPORTS_TRIE
  0x8000_0034: [[8, 1]], // LC_DYLD_CHAINED_FIXUPS
};

/** @throws {Error} if the file is not a macOS executable with an embedded program, or if a hash in its signature is wrong */
export function readMachO(file: Uint8Array): MachO {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const u32 = (at: number): number => view.getUint32(at, true);
  const u64 = (at: number): number => Number(view.getBigUint64(at, true));
  const text = (at: number, length: number): string =>
    new TextDecoder().decode(file.subarray(at, at + length)).replace(/\0.*$/s, "");

  if (u32(0) !== 0xfeedfacf) throw new Error("The file is not a 64-bit Mach-O file");
  const processor = u32(4) === 0x0100_000c ? "arm64" : "x86-64";
  const commandsEnd = 32 + u32(20);
  const commands: { readonly type: number; readonly at: number }[] = [];
  let end = 32;
  while (commands.length < u32(16)) {
    commands.push({ type: u32(end), at: end });
    const size = u32(end + 4);
    if (size < 8 || size % 8 !== 0) throw new Error(`load command ${commands.length - 1} has the size ${size}`);
    end += size;
  }
  if (end !== commandsEnd) throw new Error("The load commands do not have the size that the header states");

  const segments = commands.filter(({ type }) => type === LC_SEGMENT_64).map(({ at }): Segment => ({
    ...range(text(at + 8, 16), u64(at + 40), u64(at + 48)),
    memory: range(text(at + 8, 16), u64(at + 24), u64(at + 32)),
    sections: Array.from({ length: u32(at + 64) }, (_, index) => at + 72 + index * 80)
      .filter((section) => !ZERO_FILL_TYPES.includes(u32(section + 64) & 0xff))
      .map((at) => range(`${text(at + 16, 16)},${text(at, 16)}`, u32(at + 48), u64(at + 40))),
  }));
  checkSegments(segments, processor === "arm64" ? 0x4000 : 0x1000, file.length);
  const [firstSection] = segments.flatMap(({ sections }) => sections);
  if (firstSection === undefined || commandsEnd > firstSection.start) {
    throw new Error("The load commands overlap the first section");
  }
  const linkedit = segments.at(-1);
  if (linkedit?.name !== "__LINKEDIT" || linkedit.end !== file.length) {
    throw new Error("__LINKEDIT is not the end of the file");
  }
  checkRanges(
    commands.flatMap(({ type, at }) =>
      (LINKEDIT_PARTS[type] ?? []).filter(([field]) => u32(at + field + 4) > 0).map(([field, size]) =>
        range(`part 0x${type.toString(16)}+${field}`, u32(at + field), u32(at + field + 4) * size)
      )
    ),
    linkedit,
  );

  const signature = commands.find(({ type }) => type === LC_CODE_SIGNATURE);
  const code = segments.find(({ name }) => name === "__TEXT");
  return {
    processor,
    segments: segments.map(({ name }) => name),
    program: findProgram(file, processor, segments),
    signedPages: signature && checkSignature(file, u32(signature.at + 8), code),
  };
}

function checkSegments(segments: readonly Segment[], pageSize: number, fileSize: number): void {
  checkRanges(segments, range("the file", 0, fileSize));
  checkRanges(segments.map(({ memory }) => memory), MEMORY);
  for (const segment of segments) {
    const { name, start, end, memory, sections } = segment;
    if (start % pageSize !== 0 || memory.start % pageSize !== 0) throw new Error(`${name} is not aligned to a page`);
    if (end - start > memory.end - memory.start) throw new Error(`${name} is larger in the file than in memory`);
    checkRanges(sections, segment);
  }
}

const SIGNED_PAGE = 4096;

/**
 * Checks an ad-hoc signature: one code directory without special slots, which holds a SHA-256 hash of each page before
 * the signature. All numbers in it are big-endian.
 *
 * @returns the number of pages
 */
function checkSignature(file: Uint8Array, at: number, code: Segment | undefined): number {
  const view = new DataView(file.buffer, file.byteOffset + at, file.length - at);
  const directory = view.getUint32(16);
  if (view.getUint32(0) !== 0xfade_0cc0 || view.getUint32(4) !== file.length - at || view.getUint32(8) !== 1) {
    throw new Error("The signature is not one code directory that reaches to the end of the file");
  }
  const [magic, length, , flags, hashes, , specialSlots, pages, limit] = Array.from(
    { length: 9 },
    (_, index) => view.getUint32(directory + index * 4),
  );
  const isComplete = magic === 0xfade_0c02 && length === file.length - at - directory && limit === at &&
    specialSlots === 0 && pages === Math.ceil(at / SIGNED_PAGE);
  if (!isComplete) throw new Error("The code directory does not cover everything before the signature");
  // Hash size 32, hash type 2 (SHA-256), page size 2^12.
  if ((view.getUint32(directory + 36) & 0xffff_00ff) >>> 0 !== 0x2002_000c || ((flags ?? 0) & 2) === 0) {
    throw new Error("The signature is not ad-hoc with SHA-256 and pages of 4096 bytes");
  }
  const codeRange = [view.getBigUint64(directory + 64), view.getBigUint64(directory + 72)].map(Number);
  if (codeRange[0] !== code?.start || codeRange[1] !== code?.end) throw new Error("The signature names other code");
  for (let page = 0; page < pages; page++) {
    const hash = createHash("sha256").update(file.subarray(page * SIGNED_PAGE, Math.min((page + 1) * SIGNED_PAGE, at)));
    const position = at + directory + (hashes ?? 0) + page * 32;
    if (hash.digest().compare(file.subarray(position, position + 32)) !== 0) {
      throw new Error(`page ${page} does not have the hash in the signature`);
    }
  }
  return pages;
}

function findProgram(file: Uint8Array, processor: MachO["processor"], segments: readonly Segment[]): Uint8Array {
  if (processor === "arm64") {
    const section = segments.find(({ name }) => name === "__SUI")?.sections[0];
    if (section?.name !== "__SUI,d3n0l4nd") throw new Error("The file has no section __SUI,d3n0l4nd");
    return file.subarray(section.start, section.end);
  }
  const buffer = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  const marker = Buffer.from("<~sui-data~>\xef\xbe\xad\xde", "latin1");
  const length = buffer.lastIndexOf(marker) + marker.length;
  if (length < marker.length) throw new Error("The file has no marker before the program");
  if (length + 8 + Number(buffer.readBigUInt64LE(length)) !== file.length) {
    throw new Error("The program does not reach to the end of the file");
  }
  return file.subarray(length + 8);
}
