/**
 * Reads an ELF executable that contains a program.
 *
 * Formats: System V ABI, chapters 4 (sections) and 5 (segments); the trailer is from denoland/sui, `Elf::append`.
 */
import { checkRanges, MEMORY, range } from "./ranges.ts";

export interface Elf {
  /** `e_machine`: 62 is x86-64, 183 is AArch64. */
  readonly machine: number;
  readonly program: Uint8Array;
}

const LOADED = 1;
const WITHOUT_BYTES = 8;
const TRAILER_SIZE = 16;

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
  const segments = table(u64(0x20), u16(0x36), u16(0x38)).filter((at) => u32(at) === LOADED);
  const sectionsStart = u64(0x28);
  const sectionsEnd = sectionsStart + u16(0x3a) * u16(0x3c);
  const sections = table(sectionsStart, u16(0x3a), u16(0x3c))
    .map((at, index) => range(`section ${index}`, u64(at + 24), u32(at + 4) === WITHOUT_BYTES ? 0 : u64(at + 32)));
  const base = range("the base", 0, sectionsStart);

  checkRanges(segments.map((at, index) => range(`segment ${index}`, u64(at + 8), u64(at + 32))), base);
  checkRanges(segments.map((at, index) => range(`segment ${index}`, u64(at + 16), u64(at + 40))), MEMORY);
  checkRanges(sections, base);
  for (const [index, at] of segments.entries()) {
    // The kernel maps whole pages, so the position in the file and the address differ by a multiple of the alignment.
    if ((u64(at + 16) - u64(at + 8)) % u64(at + 48) !== 0) throw new Error(`segment ${index} is not aligned`);
  }

  const trailer = file.length - TRAILER_SIZE;
  const nameSum = [..."d3n0l4nd"].reduce((sum, character) => sum + character.charCodeAt(0), 0);
  if (u32(trailer) !== 0x501e || u32(trailer + 4) !== nameSum) throw new Error("The file does not end in a trailer");
  if (file.length - u64(trailer + 8) !== sectionsEnd) {
    throw new Error("The program does not begin after the section headers");
  }
  return { machine: u16(0x12), program: file.subarray(sectionsEnd, trailer) };
}
