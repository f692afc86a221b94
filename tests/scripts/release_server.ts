/** Releases on a local HTTP server, for tests that download them. */
import { packTar } from "modern-tar";
import { gzipSync } from "node:zlib";

/** Files by name. */
export type Files = Readonly<Record<string, Uint8Array<ArrayBuffer> | string>>;

/** The name of an archive without its extension, which is also the name of the directory in it. */
export const archiveName = (target: string, version = "1.2.3"): string => `service-api-${version}-${target}`;

/** The files of an archive, with a script in place of the executable. */
export function archived(script: string): Files {
  return {
    "service-api": `#!/bin/sh\n${script}\n`,
    "LICENSE": "the licence\n",
    "README.md": "the README\n",
    "THIRD-PARTY-LICENSES": "the licences of others\n",
    "completions/service-api.bash": "for bash\n",
    "completions/_service-api": "for zsh\n",
    "completions/service-api.fish": "for fish\n",
    "completions/service-api.ps1": "for PowerShell\n",
    "man/service-api.1": "for man\n",
    "man/service-api-rights.7": "for man too\n",
  };
}

export interface Release {
  readonly archive: Uint8Array<ArrayBuffer>;
  readonly sums: string;
  /** The files to publish: the archive and SHA256SUMS. */
  readonly files: Files;
}

/** A release of one archive. */
export async function makeRelease(contents: Files, target = Deno.build.target): Promise<Release> {
  const name = archiveName(target);
  const archive = await pack(name, contents);
  const sums = await checksumLine(archive, `${name}.tar.gz`);
  return { archive, sums, files: { [`${name}.tar.gz`]: archive, SHA256SUMS: sums } };
}

/** A line of SHA256SUMS, in the format of `sha256sum`. */
export async function checksumLine(file: Uint8Array<ArrayBuffer>, name: string): Promise<string> {
  return `${new Uint8Array(await crypto.subtle.digest("SHA-256", file)).toHex()}  ${name}\n`;
}

async function pack(folder: string, files: Files): Promise<Uint8Array<ArrayBuffer>> {
  const tar = await packTar(
    Object.entries(files).map(([name, content]) => {
      const body = bytesOf(content);
      const mode = name === "service-api" ? 0o755 : 0o644;
      return { header: { name: `${folder}/${name}`, size: body.length, mode }, body };
    }),
  );
  // Compresses only a little, because some tests pack a real executable, which is large.
  return Uint8Array.from(gzipSync(tar, { level: 1 }));
}

export const bytesOf = (content: Uint8Array<ArrayBuffer> | string): Uint8Array<ArrayBuffer> =>
  typeof content === "string" ? new TextEncoder().encode(content) : content;

export interface ReleaseServer extends AsyncDisposable {
  readonly url: string;
  /** The requested paths. */
  readonly requests: readonly string[];
}

/** Answers a request, or returns `undefined` to let the server send the file. */
export type Answer = (path: string) => Response | undefined | Promise<Response | undefined>;

/** Serves each file by its name, and ignores the directory in the URL. */
export function serveRelease(
  files: Files,
  answer: Answer = () => undefined,
  tls: { readonly cert: string; readonly key: string } | Record<never, never> = {},
): ReleaseServer {
  const requests: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {}, ...tls }, async (request) => {
    const { pathname } = new URL(request.url);
    requests.push(pathname);
    const file = files[pathname.slice(pathname.lastIndexOf("/") + 1)];
    return await answer(pathname) ??
      (file === undefined ? new Response("not found\n", { status: 404 }) : new Response(file));
  });
  const url = "cert" in tls ? `https://localhost:${server.addr.port}` : `http://127.0.0.1:${server.addr.port}`;
  return { url, requests, [Symbol.asyncDispose]: () => server.shutdown() };
}
