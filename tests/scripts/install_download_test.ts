/** What the installer does not download, or does not use. */
import { expect } from "expect";
import { AUTHORITY, CERTIFICATE, PRIVATE_KEY } from "../client/certificates.ts";
import { openMachine, testInShells, TOOLS } from "./machine.ts";
import { refuses, RELEASE } from "./refusal.ts";
import { type Answer, archived, archiveName, checksumLine, makeRelease, serveRelease } from "./release_server.ts";

const TARGET = Deno.build.target;
const ARCHIVE = `${archiveName(TARGET)}.tar.gz`;
const TAMPERED = await makeRelease(archived("echo service-api 1.2.3 # and more"));
const [SUM = ""] = RELEASE.sums.split(" ");
const WITHOUT_CURL = [...TOOLS, "sha256sum", "shasum"];

refuses("a tampered archive is not used", {
  files: { ...RELEASE.files, [ARCHIVE]: TAMPERED.archive },
  says: /service-api-1\.2\.3-\S+\.tar\.gz is not what SHA256SUMS says, and has not been used: .* not [0-9a-f]{64}$/m,
  requests: 2,
});

refuses("a shorter archive is not used", {
  files: { ...RELEASE.files, [ARCHIVE]: RELEASE.archive.slice(0, RELEASE.archive.length - 20) },
  says: /is not what SHA256SUMS says/,
  requests: 2,
});

/** The beginning of the archive, and then the connection is gone. */
const cutOff: Answer = (path) => {
  if (!path.endsWith(ARCHIVE)) return undefined;
  const beginning = new Blob([RELEASE.archive.slice(0, 100)]).stream();
  return new Response(beginning, { headers: { "Content-Length": String(RELEASE.archive.length) } });
};

for (const [tool, tools] of [["curl", [...WITHOUT_CURL, "curl"]], ["wget", [...WITHOUT_CURL, "wget"]]] as const) {
  refuses(`an archive is not used whose download with ${tool} is cut off`, {
    answer: cutOff,
    machine: { tools },
    says: new RegExp(`/${ARCHIVE} could not be downloaded to /`),
    requests: 2,
  }, [tool]);

  refuses(`what ${tool} does not find on the server is named: checksums`, {
    files: { [ARCHIVE]: RELEASE.archive },
    machine: { tools },
    says: /404[^]*http:\S+\/SHA256SUMS could not be downloaded/,
    requests: 1,
  }, [tool]);

  refuses(`what ${tool} does not find on the server is named: archive`, {
    files: { SHA256SUMS: RELEASE.sums },
    machine: { tools },
    says: new RegExp(`404[^]*http:\\S+/${ARCHIVE} could not be downloaded`),
    requests: 2,
  }, [tool]);

  refuses(`without a network, with ${tool}, the address is named that was not reached: no server`, {
    machine: { tools },
    env: { SERVICE_API_DOWNLOAD_URL: "http://127.0.0.1:1" },
    says: /http:\/\/127\.0\.0\.1:1\/SHA256SUMS could not be downloaded/,
    requests: 0,
  }, [tool]);

  refuses(`without a network, with ${tool}, the address is named that was not reached: no such name`, {
    machine: { tools },
    env: { SERVICE_API_DOWNLOAD_URL: "https://nowhere.invalid" },
    says: /https:\/\/nowhere\.invalid\/SHA256SUMS could not be downloaded/,
    requests: 0,
  }, [tool]);

  refuses(`with ${tool}, no redirection leads from this machine to plain http`, {
    answer: (path) =>
      path.startsWith("/moved/")
        ? undefined
        : new Response(null, { status: 302, headers: { Location: `/moved${path}` } }),
    machine: { tools },
    says: /could not be downloaded/,
    requests: 1,
  }, [tool]);

  testInShells(`with ${tool}, no redirection leads from https to http`, async (shell) => {
    await using plain = serveRelease(RELEASE.files);
    const tls = { cert: CERTIFICATE, key: PRIVATE_KEY };
    const redirect: Answer = (path) => Response.redirect(`${plain.url}${path}`);
    await using redirecting = serveRelease({}, redirect, tls);
    await using direct = serveRelease(RELEASE.files, undefined, tls);
    await using machine = await openMachine({ tools });
    const authority = `${machine.path}/authority.pem`;
    await Deno.writeTextFile(authority, AUTHORITY);
    await Deno.writeTextFile(`${machine.path}/wgetrc`, `ca_certificate = ${authority}\n`);
    const env = { CURL_CA_BUNDLE: authority, WGETRC: `${machine.path}/wgetrc` };
    const before = await machine.state();
    expect(await machine.run(shell, { env: { ...env, SERVICE_API_DOWNLOAD_URL: redirecting.url } })).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/could not be downloaded/),
    });
    expect({ plain: plain.requests, state: await machine.state() }).toEqual({ plain: [], state: before });
    expect(redirecting.requests).toEqual(["/SHA256SUMS"]);
    expect(await machine.run(shell, { env: { ...env, SERVICE_API_DOWNLOAD_URL: direct.url } })).toMatchObject({
      code: 0,
    });
  }, [tool]);
}

const OTHER_TARGET = TARGET.replace(/^[^-]+/, "riscv64");

for (
  const [what, sums] of Object.entries({
    "nothing": "",
    "no line for this machine": RELEASE.sums.replace(TARGET, OTHER_TARGET),
    "a page that asks to log in": "<!DOCTYPE html>\n<title>Log in</title>\n",
    "a short checksum": `${SUM.slice(1)}  ${ARCHIVE}\n`,
    "a long checksum": `${SUM}0  ${ARCHIVE}\n`,
    "one space": `${SUM} ${ARCHIVE}\n`,
    "something before the name": `${SUM}  ./${ARCHIVE}\n`,
    "something after the name": `${SUM}  ${ARCHIVE}.exe\n`,
    "a name with a directory": `${SUM}  ../../${ARCHIVE}\n`,
    "a version with a directory": `${SUM}  ${archiveName(TARGET, "1/../../1")}.tar.gz\n`,
    "a version with an address": `${SUM}  ${archiveName(TARGET, "1@127.0.0.1:1")}.tar.gz\n`,
    "a version that is a command": `${SUM}  ${archiveName(TARGET, "1$(touch here)`touch here`;touch here")}.tar.gz\n`,
    "a version that is a pattern": `${SUM}  ${archiveName(TARGET, "1*")}.tar.gz\n`,
    "a version that is an option": `${SUM}  ${archiveName(TARGET, "-o")}.tar.gz\n`,
    "zeros": `\0${SUM}  ${archiveName(TARGET, "1\0/1")}.tar.gz\0\n`,
  })
) {
  refuses(`SHA256SUMS is refused that has ${what}`, {
    files: { ...RELEASE.files, SHA256SUMS: sums },
    says: new RegExp(`http:\\S+/SHA256SUMS has no archive for ${TARGET}$`, "m"),
    requests: 1,
  });
}

refuses("SHA256SUMS is refused that has two archives for this machine", {
  files: { ...RELEASE.files, SHA256SUMS: `${RELEASE.sums}${RELEASE.sums.replace("1.2.3", "1.2.4")}` },
  says: /SHA256SUMS has more than one archive for /,
  requests: 1,
});

const { "completions/_service-api": _, ...incomplete } = archived("echo service-api 1.2.3");

refuses("an archive is refused that lacks a file", {
  files: (await makeRelease({ ...incomplete, "completions/other": "" })).files,
  says: /there is no completions\/_service-api in service-api-1\.2\.3-/,
  requests: 2,
});

refuses("what is no archive is refused, though its checksum is right", {
  files: { [ARCHIVE]: "no archive", SHA256SUMS: await checksumLine(new TextEncoder().encode("no archive"), ARCHIVE) },
  says: /could not be unpacked in \//,
  requests: 2,
});

refuses("an executable is refused that does not run here, with its own words", {
  files: (await makeRelease(archived("echo 'libgcc_s.so.1: cannot open' >&2; exit 127"))).files,
  says: /does not run on this system, and has not been installed: libgcc_s\.so\.1: cannot open$/m,
  requests: 2,
});

for (
  const url of [
    "http://example.com/releases",
    "http://127.0.0.1.example.com",
    "http://localhost.example.com",
    "http://127.0.0.1@example.com",
    "http://127.0.0.1:80@example.com",
    "http://localhost:80\\@example.com",
    "http://[::1].example.com",
    "http://0.0.0.0",
    "HTTP://127.0.0.1",
    "ftp://127.0.0.1",
    "file:///tmp",
    "//127.0.0.1",
    "https://",
    "127.0.0.1",
    "-o",
  ]
) {
  refuses(`nothing is downloaded from ${url}`, {
    env: { SERVICE_API_DOWNLOAD_URL: url },
    // That would succeed.
    machine: { standIns: { curl: "exit 0" } },
    says: /nothing is downloaded from \S+: let SERVICE_API_DOWNLOAD_URL begin with https:\/\/ \(plain http is for 127/,
    requests: 0,
  });
}

testInShells("the own machine is not reached through a proxy", async (shell) => {
  await using server = serveRelease(RELEASE.files);
  await using machine = await openMachine();
  const env = {
    SERVICE_API_DOWNLOAD_URL: server.url,
    http_proxy: "http://127.0.0.1:1",
    ALL_PROXY: "http://127.0.0.1:1",
  };
  expect(await machine.run(shell, { env })).toMatchObject({ code: 0 });
});
