/** Compressed bodies: some expand to a gigabyte, some are damaged. */
import { type BrotliOptions, constants, createBrotliCompress, createGzip, gzipSync } from "node:zlib";
import { Readable } from "node:stream";
import type { Act } from "./hostile_server.ts";

const PART = new Uint8Array(1_000_000).fill(0x20);
const FAST: BrotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };

/** Sends a gigabyte of spaces, compressed, until the client leaves. */
function send(coding: "gzip" | "br", head: string): Act {
  return async ({ request, write, end }) => {
    await request();
    await write(head.replace("\r\n", `\r\nContent-Encoding: ${coding}\r\n`));
    const compressed = Readable.from(Array(1000).fill(PART)).pipe(
      coding === "gzip" ? createGzip() : createBrotliCompress(FAST),
    );
    for await (const bytes of compressed) {
      await write(`${bytes.length.toString(16)}\r\n`);
      await write(bytes);
      await write("\r\n");
    }
    await write("0\r\n\r\n");
    await end();
  };
}

const whole = new Uint8Array(gzipSync('{"data":{"apiKey":null}}'.repeat(100)));

export const bombs = {
  send,
  /** The beginning of a gzip body. */
  gzipPrefix: whole.slice(0, -12),
  damagedGzip: whole.map((byte, i) => i > 12 ? byte ^ 0x5a : byte),
} as const;
