/** Downloads that install.sh rejects. */
import { expect } from "expect";
import { AUTHORITY, CERTIFICATE, PRIVATE_KEY } from "../client/certificates.ts";
import { openMachine, testInAllShells, testInstaller, TOOLS } from "./machine.ts";
import { expectRefusal, refuses, RELEASE } from "./refusal.ts";
import { type Answer, archived, archiveName, checksumLine, makeRelease, serveRelease } from "./release_server.ts";

const TARGET = Deno.build.target;
const ARCHIVE = `${archiveName(TARGET)}.tar.gz`;
const TAMPERED = await makeRelease(archived("echo service-api 1.2.3 # and more"));
const [SUM = ""] = RELEASE.sums.split(" ");

testInAllShells("rejects a tampered archive", (shell) =>
  expectRefusal({
    files: { ...RELEASE.files, [ARCHIVE]: TAMPERED.archive },
    message:
      /service-api-1\.2\.3-\S+\.tar\.gz does not match SHA256SUMS and was not installed\. .* not [0-9a-f]{64}\.$/m,
    requests: 2,
  }, shell));

/** Sends the first bytes of the archive and then closes the connection. */
const truncated: Answer = (path) => {
  if (!path.endsWith(ARCHIVE)) return undefined;
  const start = new Blob([RELEASE.archive.slice(0, 100)]).stream();
  return new Response(start, { headers: { "Content-Length": String(RELEASE.archive.length) } });
};

for (const tool of ["curl", "wget"]) {
  const machine = { tools: [...TOOLS, "sha256sum", "shasum", tool] };

  refuses(`rejects an archive if the connection ends during the download with ${tool}`, {
    answer: truncated,
    machine,
    message: new RegExp(`Could not download http:\\S+/${ARCHIVE} to /`),
    requests: 2,
  }, [tool]);

  refuses(`names the missing file if ${tool} gets the status 404`, {
    files: { SHA256SUMS: RELEASE.sums },
    machine,
    message: new RegExp(`404[^]*Could not download http:\\S+/${ARCHIVE} to /`),
    requests: 2,
  }, [tool]);

  refuses(`names the URL that ${tool} could not reach`, {
    machine,
    env: { SERVICE_API_DOWNLOAD_URL: "https://nowhere.invalid" },
    message: /Could not download https:\/\/nowhere\.invalid\/SHA256SUMS to /,
    requests: 0,
  }, [tool]);

  refuses(`follows no redirect from http:// on a loopback address with ${tool}`, {
    answer: (path) =>
      path.startsWith("/moved/")
        ? undefined
        : new Response(null, { status: 302, headers: { Location: `/moved${path}` } }),
    machine,
    message: /Could not download /,
    requests: 1,
  }, [tool]);

  testInstaller(`follows no redirect from https to http with ${tool}`, async () => {
    await using plain = serveRelease(RELEASE.files);
    const tls = { cert: CERTIFICATE, key: PRIVATE_KEY };
    const redirect: Answer = (path) => Response.redirect(`${plain.url}${path}`);
    await using redirecting = serveRelease({}, redirect, tls);
    await using direct = serveRelease(RELEASE.files, undefined, tls);
    await using opened = await openMachine(machine);
    const authority = `${opened.path}/authority.pem`;
    await Deno.writeTextFile(authority, AUTHORITY);
    await Deno.writeTextFile(`${opened.path}/wgetrc`, `ca_certificate = ${authority}\n`);
    const env = { CURL_CA_BUNDLE: authority, WGETRC: `${opened.path}/wgetrc` };
    const before = await opened.state();
    expect(await opened.run({ env: { ...env, SERVICE_API_DOWNLOAD_URL: redirecting.url } })).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/Could not download /),
    });
    expect({ plain: plain.requests, state: await opened.state() }).toEqual({ plain: [], state: before });
    expect(redirecting.requests).toEqual(["/SHA256SUMS"]);
    expect(await opened.run({ env: { ...env, SERVICE_API_DOWNLOAD_URL: direct.url } })).toMatchObject({ code: 0 });
  }, [tool]);

  testInstaller(`gives up if the server stops sending to ${tool}`, async () => {
    const stop = Promise.withResolvers<undefined>();
    const half = new ReadableStream({
      start: async (controller) => {
        // Sends only one byte, because curl compares the average rate of the last seconds with its limit.
        controller.enqueue(RELEASE.archive.slice(0, 1));
        await stop.promise;
        controller.close();
      },
    });
    await using slow = serveRelease(RELEASE.files, (path) => path.endsWith(".tar.gz") ? new Response(half) : undefined);
    await using silent = serveRelease(RELEASE.files, () => stop.promise);
    await using opened = await openMachine(machine);
    const before = await opened.state();
    try {
      const outcomes = await Promise.all(
        [slow, silent].map(({ url }) =>
          opened.run({ env: { SERVICE_API_DOWNLOAD_URL: url, SERVICE_API_STALL_LIMIT: "1" } })
        ),
      );
      const failed = { code: 1, stderr: expect.stringMatching(/Could not download /) };
      expect(outcomes).toMatchObject([failed, failed]);
      expect(await opened.state()).toEqual(before);
    } finally {
      stop.resolve(undefined);
    }
  }, [tool]);
}

for (
  const [what, sums] of Object.entries({
    "is empty": "",
    "has no line for this machine": RELEASE.sums.replace(TARGET, TARGET.replace(/^[^-]+/, "riscv64")),
    "has a short checksum": `${SUM.slice(1)}  ${ARCHIVE}\n`,
    "has a long checksum": `${SUM}0  ${ARCHIVE}\n`,
    "has text before the name": `${SUM}  ./${ARCHIVE}\n`,
    "has text after the name": `${SUM}  ${ARCHIVE}.exe\n`,
    "has a path in the version": `${SUM}  ${archiveName(TARGET, "1/../../1")}.tar.gz\n`,
    "has a command in the version": `${SUM}  ${archiveName(TARGET, "1$(touch here)`touch here`;touch here")}.tar.gz\n`,
    "has a pattern in the version": `${SUM}  ${archiveName(TARGET, "1*")}.tar.gz\n`,
    "has an option as the version": `${SUM}  ${archiveName(TARGET, "-o")}.tar.gz\n`,
    "has NUL bytes": `\0${SUM}  ${archiveName(TARGET, "1\0/1")}.tar.gz\0\n`,
  })
) {
  refuses(`rejects a SHA256SUMS file that ${what}`, {
    files: { ...RELEASE.files, SHA256SUMS: sums },
    message: new RegExp(`http:\\S+/SHA256SUMS lists no archive for ${TARGET}\\.$`, "m"),
    requests: 1,
  });
}

refuses("rejects a SHA256SUMS file that has two archives for this machine", {
  files: { ...RELEASE.files, SHA256SUMS: `${RELEASE.sums}${RELEASE.sums.replace("1.2.3", "1.2.4")}` },
  message: /SHA256SUMS lists more than one archive for /,
  requests: 1,
});

const { "completions/_service-api": _, ...incomplete } = archived("echo service-api 1.2.3");

refuses("rejects an archive that lacks a file", {
  files: (await makeRelease({ ...incomplete, "completions/other": "" })).files,
  message: /service-api-1\.2\.3-\S+ does not contain completions\/_service-api\.$/m,
  requests: 2,
});

refuses("rejects a file that matches its checksum but is not an archive", {
  files: { [ARCHIVE]: "no archive", SHA256SUMS: await checksumLine(new TextEncoder().encode("no archive"), ARCHIVE) },
  message: /Could not unpack .* in \//,
  requests: 2,
});

refuses("rejects an executable that does not run on this machine, and prints its error", {
  files: (await makeRelease(archived("echo 'libgcc_s.so.1: cannot open' >&2; exit 127"))).files,
  message: /does not run on this system and was not installed: libgcc_s\.so\.1: cannot open$/m,
  requests: 2,
});

for (
  const url of [
    "http://example.com/releases",
    "http://127.0.0.1.example.com",
    "http://localhost.example.com",
    "http://127.0.0.1:80@example.com",
    "http://localhost:80\\@example.com",
    "http://[::1].example.com",
    "HTTP://127.0.0.1",
    "file:///tmp",
    "https://",
    "-o",
  ]
) {
  refuses(`does not download from ${url}`, {
    env: { SERVICE_API_DOWNLOAD_URL: url },
    // If install.sh tried to download, this curl would succeed.
    machine: { standIns: { curl: "exit 0" } },
    message:
      /Cannot download from \S+\. Set SERVICE_API_DOWNLOAD_URL to an https:\/\/ URL\. http:\/\/ is allowed only for/,
    requests: 0,
  });
}
