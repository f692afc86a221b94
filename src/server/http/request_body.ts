/** The body of a request on HTTP. */
import { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { HttpRefusal } from "../graphql/messages.ts";

/**
 * Reads the body of a request, as UTF-8.
 *
 * @param longest in bytes
 * @throws {HttpRefusal} 413 for a longer body, 400 for one that breaks off or is not UTF-8
 */
export function readBody(request: IncomingMessage, longest: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const refuse = (status: number, words: string): void => reject(new HttpRefusal(status, words));
    const refuseLong = (): void => refuse(413, `The body of a request may have ${longest} bytes at most.`);
    if (Number(request.headers["content-length"] ?? 0) > longest) return refuseLong();
    const chunks: Uint8Array[] = [];
    let length = 0;
    request.on("data", (chunk: Uint8Array) => {
      length += chunk.length;
      if (length > longest) refuseLong();
      else chunks.push(chunk);
    });
    request.on("end", () => {
      try {
        resolve(UTF8.decode(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)));
      } catch {
        refuse(400, "The body is not UTF-8.");
      }
    });
    const refuseFragment = (): void => {
      if (!request.complete) refuse(400, "The body broke off.");
    };
    request.on("error", refuseFragment);
    request.on("close", refuseFragment);
  });
}

const UTF8 = new TextDecoder("utf-8", { fatal: true });
