/** The limit for responses over the network, `--max-response-size`. */
import { expect } from "expect";
import { constants, createBrotliCompress, createGzip, gzipSync } from "node:zlib";
import { buildExecutable } from "../program/executable.ts";
import { inProcess, SYSTEM_ENV, withEnv } from "../program/program.ts";
import { execute } from "../execute.ts";
import { findProgram } from "../tools.ts";
import { startServer } from "./foreign_server.ts";
import { startRawServer, writeWithoutEnd } from "./raw_server.ts";

const REQUEST = ["request", "--query", "{ a }"];
const HEAD = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
const CHUNK = `10000\r\n${" ".repeat(65_536)}\r\n`;

/** A JSON body of a number of bytes. */
function jsonOf(size: number): string {
  return `{"data":"${"x".repeat(size - 11)}"}`;
}

for (
  const [what, toResponse] of [
    ["", (body: string): Response => new Response(body)],
    ["in chunks ", (body: string): Response => new Response(new Blob([body]).stream())],
    [
      "with gzip ",
      (body: string): Response => new Response(gzipSync(body), { headers: { "content-encoding": "gzip" } }),
    ],
  ] as const
) {
  Deno.test(`a response sent ${what}may be as large as --max-response-size, but no larger`, async () => {
    await using server = startServer(({ headers }) => toResponse(jsonOf(Number(headers.get("x-size")))));
    const program = withEnv(inProcess, { SERVICE_API_URL: server.url, SERVICE_API_MAX_RESPONSE_SIZE: "200KB" });
    const largest = await program([...REQUEST, "--header", "x-size: 200000"]);
    expect(largest).toEqual({ code: 0, stdout: `${jsonOf(200_000)}\n`, stderr: "" });

    const { code, stdout, stderr } = await program([...REQUEST, "--header", "x-size: 200001"]);
    expect({ code, stdout }).toEqual({ code: 4, stdout: "" });
    expect(stderr).toMatch(
      /^service-api: The response from 127\.0\.0\.1:\d+ is larger than 0\.2 MB\. If .* raise --max-response-size\.\n$/,
    );
    expect((await program([...REQUEST, "--header", "x-size: 200001", "--max-response-size", "1MB"])).code).toBe(0);
  });
}

for (
  const [what, head, body] of [
    ["without a length", "", " ".repeat(65_536)],
    ["with a false length and in chunks", "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", CHUNK],
  ] as const
) {
  Deno.test(`a body without end, sent ${what}, is BAD_RESPONSE`, async () => {
    await using server = await startRawServer({
      over: "tcp",
      answer: (socket) => {
        socket.write(`${HEAD}${head}\r\n`);
        writeWithoutEnd(socket, body);
      },
    });
    const { stdout } = await inProcess([...REQUEST, "--json", "--max-response-size", "1MB", "--timeout", "30s"], {
      env: { SERVICE_API_URL: server.url },
    });
    expect(JSON.parse(stdout)).toMatchObject({ code: "BAD_RESPONSE", error: expect.stringContaining("than 1 MB") });
  });
}

Deno.test("--max-response-size does not limit the embedded server", async () => {
  const directory = await Deno.makeTempDir();
  try {
    const args = [...REQUEST.slice(0, 1), "--query", "{ __typename }", "--max-response-size", "1B"];
    const outcome = await inProcess([...args, "--data-dir", directory]);
    expect(outcome).toEqual({ code: 0, stdout: '{"data":{"__typename":"Query"}}\n', stderr: "" });
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

for (
  const [what, brackets] of [["objects", "{},"], ["nested lists", "["], ["errors", '{"message":"a"},']] as const
) {
  Deno.test(`a small response with very many ${what} is BAD_RESPONSE, because it would need much memory`, async () => {
    await using server = startServer(() => new Response(`{"errors":[${brackets.repeat(10_000)}`));
    const args = [...REQUEST, "--json", "--base-url", server.url];
    const { stdout } = await inProcess([...args, "--max-response-size", "319KB"]);
    expect(JSON.parse(stdout)).toMatchObject({
      code: "BAD_RESPONSE",
      error: expect.stringContaining("too many lists"),
    });
    const { stdout: accepted } = await inProcess([...args, "--max-response-size", "321KB"]);
    expect(accepted).not.toContain("too many lists");
  });
}

/** Far more than the default limit, in bytes. */
const BOMB_SIZE = 500_000_000;

/** Compresses a JSON string of `BOMB_SIZE` spaces. */
async function bomb(coding: "gzip" | "br"): Promise<Uint8Array<ArrayBuffer>> {
  const compressor = coding === "gzip"
    ? createGzip({ level: 1 })
    : createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: 1, [constants.BROTLI_PARAM_LGWIN]: 24 } });
  const block = new Uint8Array(1_000_000).fill(0x20);
  const parts: Uint8Array<ArrayBuffer>[] = [];
  compressor.on("data", (part: Uint8Array<ArrayBuffer>) => parts.push(part));
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  compressor.on("end", resolve);
  for (let size = 0; size < BOMB_SIZE; size += block.length) {
    // deno-lint-ignore no-await-in-loop -- each write waits until there is room for it
    await new Promise<void>((written) => compressor.write(block, () => written()));
  }
  compressor.end();
  await ended;
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

const build = await buildExecutable();
const time = Deno.build.os === "linux" ? findProgram("time") : undefined;
const missing = build.kind === "not built"
  ? `the executable was not built: ${build.reason}`
  : time === undefined
  ? "GNU time is not installed"
  : undefined;

for (const coding of ["gzip", "br"] as const) {
  const rule = `with a ${coding} bomb, the executable uses less than 200 MB of memory`;
  if (missing !== undefined || build.kind === "not built" || time === undefined) {
    Deno.test.ignore(`${rule} (skipped: ${missing})`, () => {});
    continue;
  }
  Deno.test(rule, async () => {
    const body = await bomb(coding);
    await using server = startServer(() => new Response(body, { headers: { "content-encoding": coding } }));
    const args = ["-f", "%M", build.path, ...REQUEST, "--base-url", server.url];
    const { code, stderr } = await execute(time, args, { clearEnv: true, env: { ...SYSTEM_ENV } });
    expect(code).toBe(4);
    expect(stderr).toMatch(/is larger than 64 MB\./);
    const kibibytes = Number(stderr.trim().split("\n").at(-1));
    expect(kibibytes * 1024).toBeGreaterThan(0);
    expect(kibibytes * 1024).toBeLessThan(200_000_000);
  });
}
