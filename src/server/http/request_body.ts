/** Reads the body of an HTTP request. */
import { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { HttpError } from "../graphql/http_message.ts";

/**
 * Reads the body of a request as UTF-8.
 *
 * @param maxLength the maximum length, in bytes
 * @throws {HttpError} 413 if the body is longer
 * @throws {HttpError} 400 if the body is incomplete or not UTF-8
 */
export function readBody(request: IncomingMessage, maxLength: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (status: number, message: string): void => reject(new HttpError(status, message));
    const failTooLong = (): void => fail(413, `The body of a request may be at most ${maxLength} bytes long.`);
    if (Number(request.headers["content-length"] ?? 0) > maxLength) return failTooLong();
    const chunks: Uint8Array[] = [];
    let length = 0;
    request.on("data", (chunk: Uint8Array) => {
      length += chunk.length;
      if (length > maxLength) failTooLong();
      else chunks.push(chunk);
    });
    request.on("end", () => {
      try {
        resolve(UTF8.decode(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)));
      } catch {
        fail(400, "The body is not UTF-8.");
      }
    });
    const failIncomplete = (): void => {
      if (!request.complete) fail(400, "The body is incomplete.");
    };
    request.on("error", failIncomplete);
    request.on("close", failIncomplete);
  });
}

const UTF8 = new TextDecoder("utf-8", { fatal: true });
