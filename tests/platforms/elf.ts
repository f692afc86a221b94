/**
 * Reads an ELF executable that contains a program.
 *
 * Formats: System V ABI, chapters 4 (sections) and 5 (segments); denoland/sui, `Elf::append`. Deno 2.7 appends the
 * program and a trailer to the base. Deno 2.9 puts the program into a note.
 */
import { checkRanges, MEMORY, range } from "./ranges.ts";

export interface Elf {
  /** `e_machine`: 62 is x86-64, 183 is AArch64. */
  readonly machine: number;
  readonly program: Uint8Array;
}

const LOADED_SEGMENT = 1;
const NOTE_SEGMENT = 4;
const SECTION_WITHOUT_BYTES = 8;
const NOTE = 0x5355_4901;
const TRAILER = 0x501e;
/** The sum of the bytes of `d3n0l4nd`, the name of the section with the program. */
const SUM_OF_NAME = 679;

/** @throws {Error} if the file is not such an executable */
export function readElf(file: Uint8Array): Elf {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const u16 = (at: number): number => view.getUint16(at, true);
  const u32 = (at: number): number => view.getUint32(at, true);
  const u64 = (at: number): number => Number(view.getBigUint64(at, true));
  const table = (at: number, size: number, count: number): readonly number[] =>
    Array.from({ length: count }, (_, index) => at + index * size);

  if (view.getUint32(0) !== 0x7f454c46 || file[4] !== 2 || file[5] !== 1) {
    throw new Error("The file is not a 64-bit little-endian ELF file");
  }
  const headers = table(u64(0x20), u16(0x36), u16(0x38));
  const segments = headers.filter((at) => u32(at) === LOADED_SEGMENT);
  const sectionsStart = u64(0x28);
  const sectionsEnd = sectionsStart + u16(0x3a) * u16(0x3c);
  const sections = table(sectionsStart, u16(0x3a), u16(0x3c))
    .map((at, index) =>
      range(`section ${index}`, u64(at + 24), u32(at + 4) === SECTION_WITHOUT_BYTES ? 0 : u64(at + 32))
    );
  const contents = range("the file before the section headers", 0, sectionsStart);

  checkRanges(segments.map((at, index) => range(`segment ${index}`, u64(at + 8), u64(at + 32))), contents);
  checkRanges(segments.map((at, index) => range(`segment ${index}`, u64(at + 16), u64(at + 40))), MEMORY);
  checkRanges(sections, contents);
  for (const [index, at] of segments.entries()) {
    // The kernel maps whole pages, so the position in the file and the address differ by a multiple of the alignment.
    if ((u64(at + 16) - u64(at + 8)) % u64(at + 48) !== 0) throw new Error(`segment ${index} is not aligned`);
  }

  const machine = u16(0x12);
  const wrongLength = new Error("The program does not have the length that the file states");
  const trailer = file.length - 16;
  if (u32(trailer) === TRAILER && u32(trailer + 4) === SUM_OF_NAME) {
    if (file.length - u64(trailer + 8) !== sectionsEnd) throw wrongLength;
    return { machine, program: file.subarray(sectionsEnd, trailer) };
  }
  const segment = headers.find((at) => u32(at) === NOTE_SEGMENT && u32(u64(at + 8) + 8) === NOTE);
  if (segment === undefined) throw new Error("The file has neither a trailer nor a note for the program");
  const note = u64(segment + 8);
  // A note has 12 bytes for its sizes and type, 4 bytes for the name "SUI", and the descriptor: the length of the
  // section's name, this name, the program.
  const end = note + 16 + u32(note + 4);
  if (Math.ceil(end / 4) * 4 !== note + u64(segment + 32)) throw wrongLength;
  return { machine, program: file.subarray(note + 16 + 2 + "d3n0l4nd".length, end) };
}
