/** A release on a file server of this machine, with the program from its sources in place of the executable. */
import deno from "../../deno.json" with { type: "json" };
import { installFromSources } from "../program/from_sources.ts";

export interface Release extends AsyncDisposable {
  /** What stands before `/latest/download/FILE` and `/download/vVERSION/FILE`. */
  readonly url: string;
  /** Puts other bytes in the place of the archive. */
  tamper(): void;
  /** Takes the archive out of the list of checksums. */
  forget(): void;
}

/** The files of a release besides the executable. */
const DOCUMENTS = [
  "LICENSE",
  "README.md",
  "THIRD-PARTY-LICENSES",
  "completions/service-api.bash",
  "completions/_service-api",
  "completions/service-api.fish",
  "completions/service-api.ps1",
] as const;

/** The installer, where there is one. */
export const INSTALLER: string | undefined = await Deno.readTextFile(
  `${import.meta.dirname}/../../scripts/install.sh`,
).catch(() => undefined);

/** Publishes a release for this machine. */
export async function publishRelease(): Promise<Release> {
  const name = `service-api-${deno.version}-${Deno.build.target}`;
  const directory = await Deno.makeTempDir({ prefix: "service-api-release-" });
  await Deno.mkdir(`${directory}/${name}/completions`, { recursive: true });
  await Promise.all([
    installFromSources(`${directory}/${name}/service-api`),
    ...DOCUMENTS.map((document) => Deno.writeTextFile(`${directory}/${name}/${document}`, "a text\n")),
  ]);
  const { stdout } = await new Deno.Command("tar", { args: ["-czf", "-", name], cwd: directory }).output();
  await Deno.remove(directory, { recursive: true });
  let archive = stdout;
  const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", archive)).toHex();
  let sums = `${"0".repeat(64)}  other.zip\n${sum}  ${name}.tar.gz\n`;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    const [, file] = /^\/(?:latest\/download|download\/v[\d.]+)\/([^/]+)$/.exec(new URL(request.url).pathname) ?? [];
    if (file === "install.sh") return new Response(INSTALLER);
    if (file === "SHA256SUMS") return new Response(sums);
    return file === `${name}.tar.gz` ? new Response(archive) : new Response(null, { status: 404 });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    tamper: () => {
      archive = archive.with(archive.length - 1, (archive.at(-1) ?? 0) ^ 1);
    },
    forget: () => {
      sums = sums.replace(/.*tar\.gz\n/, "");
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
