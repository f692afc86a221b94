/** Reads the body of an HTTP request. */
import { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { HttpError } from "../graphql/http_message.ts";

/**
 * Reads the body of a request as UTF-8.
 *
 * @param length the `Content-Length`; 0 if there is none
 * @param maxLength the maximum length, in bytes
 * @throws {HttpError} 413 if the body is longer
 * @throws {HttpError} 400 if the body is incomplete or not UTF-8
 */
export async function readBody(request: IncomingMessage, length: number, maxLength: number): Promise<string> {
  if (length > maxLength) throw tooLong(maxLength);
  // The whole body has arrived. Waiting for events would take about as long as the rest of the request. Without a size,
  // read() returns only the first chunk of a body that arrived in several.
  const arrived: unknown = request.readableLength === length ? request.read(length) : null;
  return decode(arrived instanceof Uint8Array ? arrived : Buffer.concat(await readChunks(request, maxLength)));
}

function readChunks(request: IncomingMessage, maxLength: number): Promise<readonly Uint8Array[]> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = [];
    let length = 0;
    request.on("data", (chunk: Uint8Array) => {
      length += chunk.length;
      if (length > maxLength) reject(tooLong(maxLength));
      else chunks.push(chunk);
    });
    let hasEnded = false;
    request.on("end", () => {
      hasEnded = true;
      resolve(chunks);
    });
    // Deno 2.7.11 never sets `complete`, and creating an error takes longer than reading a body.
    const failIncomplete = (): void => {
      if (!request.complete && !hasEnded) reject(new HttpError(400, "The body is incomplete."));
    };
    request.on("error", failIncomplete);
    request.on("close", failIncomplete);
  });
}

const UTF8 = new TextDecoder("utf-8", { fatal: true });

function decode(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw new HttpError(400, "The body is not UTF-8.");
  }
}

function tooLong(maxLength: number): HttpError {
  return new HttpError(413, `The body of a request may be at most ${maxLength} bytes long.`);
}
