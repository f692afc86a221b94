/**
 * Reads a Windows executable that contains a program.
 *
 * Formats: "PE Format" in Microsoft's documentation; the resource is from denoland/sui, `write_resource`.
 */
import { checkRanges, range } from "./ranges.ts";

export interface Pe {
  /** 0x8664 is x86-64, 0xaa64 is ARM64. */
  readonly machine: number;
  /** 3 is the console. */
  readonly subsystem: number;
  readonly program: Uint8Array;
}

const RESOURCES = 2;
const SIGNATURES = 4;
/** The resource type `RT_RCDATA`. */
const RAW_DATA = 10;

interface Resource {
  /** The type, the name and the language. */
  readonly path: readonly (string | number)[];
  /** The position of the data in memory. */
  readonly address: number;
  readonly size: number;
}

/** @throws {Error} if the file is not such an executable */
export function readPe(file: Uint8Array): Pe {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const u16 = (at: number): number => view.getUint16(at, true);
  const u32 = (at: number): number => view.getUint32(at, true);

  const coff = u32(0x3c) + 4;
  const optional = coff + 20;
  if (u16(0) !== 0x5a4d || u32(coff - 4) !== 0x4550 || u16(optional) !== 0x20b) {
    throw new Error("The file is not a 64-bit PE file");
  }
  const sectionTable = optional + u16(coff + 16);
  const sections = Array.from({ length: u16(coff + 2) }, (_, index) => {
    const at = sectionTable + index * 40;
    return { index, size: u32(at + 8), address: u32(at + 12), rawSize: u32(at + 16), start: u32(at + 20) };
  });
  const [alignment, fileAlignment] = [u32(optional + 32), u32(optional + 36)];
  const [imageSize, headersSize] = [u32(optional + 56), u32(optional + 60)];

  const table = range("the section table", sectionTable, sections.length * 40);
  checkRanges([table], range("the headers", 0, headersSize));
  checkRanges(
    sections.map(({ index, start, rawSize }) => range(`section ${index}`, start, rawSize)),
    range("the file after the headers", headersSize, file.length - headersSize),
  );
  checkRanges(
    sections.map(({ index, address, size }) => range(`section ${index}`, address, size)),
    range("the image", headersSize, imageSize - headersSize),
  );
  for (const { index, address, start } of sections) {
    if (address % alignment !== 0 || start % fileAlignment !== 0) throw new Error(`section ${index} is not aligned`);
  }
  // A checksum of 0 means "none". Any other checksum or a signature would be that of the base without the program.
  if (u32(optional + 64) !== 0) throw new Error("The file has a checksum");
  if (u32(optional + 112 + SIGNATURES * 8) !== 0) throw new Error("The file has a signature");

  const positionOf = (address: number, size: number): number => {
    const section = sections.find(({ address: from, rawSize }) => address >= from && address + size <= from + rawSize);
    if (section === undefined) throw new Error("A resource is not inside a section");
    return section.start + address - section.address;
  };
  const directory = optional + 112 + RESOURCES * 8;
  const root = positionOf(u32(directory), u32(directory + 4));
  const nameAt = (field: number): string | number => {
    if (field < 0x8000_0000) return field;
    const at = root + field - 0x8000_0000;
    return new TextDecoder("utf-16le").decode(file.subarray(at + 2, at + 2 + u16(at) * 2));
  };
  const resourcesIn = (table: number, path: Resource["path"]): readonly Resource[] =>
    Array.from({ length: u16(table + 12) + u16(table + 14) }, (_, index) => {
      const entry = table + 16 + index * 8;
      const own = [...path, nameAt(u32(entry))];
      const offset = u32(entry + 4);
      if (offset >= 0x8000_0000) return resourcesIn(root + offset - 0x8000_0000, own);
      return [{ path: own, address: u32(root + offset), size: u32(root + offset + 4) }];
    }).flat();

  const [resource, ...others] = resourcesIn(root, []);
  if (resource === undefined || others.length > 0) throw new Error(`The file has ${others.length + 1} resources`);
  const [type, name] = resource.path;
  if (type !== RAW_DATA || name !== "D3N0L4ND") throw new Error(`The resource is ${type}/${name}`);
  const start = positionOf(resource.address, resource.size);
  return { machine: u16(coff), subsystem: u16(optional + 68), program: file.subarray(start, start + resource.size) };
}
