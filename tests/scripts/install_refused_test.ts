/** What the installer refuses, in words that help, with everything left as it was. */
import { expect } from "expect";
import { AUTHORITY, CERTIFICATE, PRIVATE_KEY } from "../client/certificates.ts";
import { openSmallDisk } from "../program/small_disk.ts";
import { type MachineOptions, openMachine, testInShells, TOOLS } from "./machine.ts";
import { type Answer, archived, archiveName, checksumLine, type Files, makeRelease, serveRelease } from "./release_server.ts";

const TARGET = Deno.build.target;
const ARCHIVE = `${archiveName(TARGET)}.tar.gz`;
const RELEASE = await makeRelease(archived("echo service-api 1.2.3"));
const TAMPERED = (await makeRelease(archived("echo service-api 1.2.3 # and more")))[ARCHIVE] ?? "";
const GOOD = RELEASE[ARCHIVE] as Uint8Array<ArrayBuffer>;
const SUMS = RELEASE.SHA256SUMS as string;
const [SUM = ""] = SUMS.split(" ");
const WITHOUT_CURL = [...TOOLS, "sha256sum", "shasum"];

interface Refusal {
  /** @default a good release */
  readonly files?: Files;
  readonly answer?: Answer;
  readonly machine?: MachineOptions;
  readonly env?: Readonly<Record<string, string>>;
  /** What is said on standard error. */
  readonly says: RegExp;
  /** How many files are asked for. */
  readonly requests: number;
}

/** Runs the installer on a machine that has an older version, which has to be as it was afterwards. */
async function expectRefusal(
  shell: string,
  { files = RELEASE, answer, machine: options, env, says, requests }: Refusal,
): Promise<void> {
  await using server = serveRelease(files, answer);
  await using machine = await openMachine(options);
  await Deno.mkdir(`${machine.home}/.local/bin`, { recursive: true });
  await Deno.writeTextFile(`${machine.home}/.local/bin/service-api`, "older\n", { mode: 0o755 });
  const before = await machine.state();
  const { code, stdout, stderr } = await machine.run(shell, { env: { SERVICE_API_DOWNLOAD_URL: server.url, ...env } });
  expect({ code, stdout, stderr, requests: server.requests.length }).toEqual({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(says),
    requests,
  });
  expect(await machine.state()).toEqual(before);
}

const refuses = (rule: string, refusal: Refusal, needs?: readonly string[]): Promise<void> =>
  testInShells(rule, (shell) => expectRefusal(shell, refusal), needs);

// What is downloaded

await refuses("a tampered archive is not used", {
  files: { ...RELEASE, [ARCHIVE]: TAMPERED },
  says: /service-api-1\.2\.3-\S+\.tar\.gz is not what SHA256SUMS says, and has not been used: .* not [0-9a-f]{64}$/m,
  requests: 2,
});

await refuses("a shorter archive is not used", {
  files: { ...RELEASE, [ARCHIVE]: GOOD.slice(0, GOOD.length - 20) },
  says: /is not what SHA256SUMS says/,
  requests: 2,
});

/** The beginning of the archive, and then the connection is gone. */
const cutOff: Answer = (path) => {
  if (!path.endsWith(ARCHIVE)) return undefined;
  const beginning = new Blob([GOOD.slice(0, 100)]).stream();
  return new Response(beginning, { headers: { "Content-Length": String(GOOD.length) } });
};

for (const [tool, tools] of [["curl", [...WITHOUT_CURL, "curl"]], ["wget", [...WITHOUT_CURL, "wget"]]] as const) {
  await refuses(`an archive is not used whose download with ${tool} is cut off`, {
    answer: cutOff,
    machine: { tools },
    says: new RegExp(`/${ARCHIVE} could not be downloaded to /`),
    requests: 2,
  }, [tool]);

  await refuses(`what ${tool} does not find on the server is named: checksums`, {
    files: { [ARCHIVE]: GOOD },
    machine: { tools },
    says: /404[^]*http:\S+\/SHA256SUMS could not be downloaded/,
    requests: 1,
  }, [tool]);

  await refuses(`what ${tool} does not find on the server is named: archive`, {
    files: { SHA256SUMS: SUMS },
    machine: { tools },
    says: new RegExp(`404[^]*http:\\S+/${ARCHIVE} could not be downloaded`),
    requests: 2,
  }, [tool]);

  await refuses(`without a network, with ${tool}, the address is named that was not reached: no server`, {
    machine: { tools },
    env: { SERVICE_API_DOWNLOAD_URL: "http://127.0.0.1:1" },
    says: /http:\/\/127\.0\.0\.1:1\/SHA256SUMS could not be downloaded/,
    requests: 0,
  }, [tool]);

  await refuses(`without a network, with ${tool}, the address is named that was not reached: no such name`, {
    machine: { tools },
    env: { SERVICE_API_DOWNLOAD_URL: "https://nowhere.invalid" },
    says: /https:\/\/nowhere\.invalid\/SHA256SUMS could not be downloaded/,
    requests: 0,
  }, [tool]);

  await refuses(`with ${tool}, no redirection leads from this machine to plain http`, {
    answer: () => new Response(null, { status: 302, headers: { Location: "http://localhost:1/" } }),
    machine: { tools },
    says: /could not be downloaded/,
    requests: 1,
  }, [tool]);

  await testInShells(`with ${tool}, no redirection leads from https to http`, async (shell) => {
    await using plain = serveRelease(RELEASE);
    const tls = { cert: CERTIFICATE, key: PRIVATE_KEY };
    const redirect: Answer = (path) => Response.redirect(`${plain.url}${path}`);
    await using redirecting = serveRelease({}, redirect, tls);
    await using direct = serveRelease(RELEASE, undefined, tls);
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
    expect(await machine.run(shell, { env: { ...env, SERVICE_API_DOWNLOAD_URL: direct.url } })).toMatchObject({ code: 0 });
  }, [tool]);
}

const OTHER_TARGET = TARGET.replace(/^[^-]+/, "riscv64");

for (
  const [what, sums] of Object.entries({
    "nothing": "",
    "no line for this machine": SUMS.replace(TARGET, OTHER_TARGET),
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
  await refuses(`SHA256SUMS is refused that has ${what}`, {
    files: { ...RELEASE, SHA256SUMS: sums },
    says: new RegExp(`http:\\S+/SHA256SUMS has no archive for ${TARGET}$`, "m"),
    requests: 1,
  });
}

await refuses("SHA256SUMS is refused that has two archives for this machine", {
  files: { ...RELEASE, SHA256SUMS: `${SUMS}${SUMS.replace("1.2.3", "1.2.4")}` },
  says: /SHA256SUMS has more than one archive for /,
  requests: 1,
});

const { "completions/_service-api": _, ...incomplete } = archived("echo service-api 1.2.3");

await refuses("an archive is refused that lacks a file", {
  files: await makeRelease({ ...incomplete, "completions/other": "" }),
  says: /there is no completions\/_service-api in service-api-1\.2\.3-/,
  requests: 2,
});

await refuses("what is no archive is refused, though its checksum is right", {
  files: { [ARCHIVE]: "no archive", SHA256SUMS: await checksumLine(new TextEncoder().encode("no archive"), ARCHIVE) },
  says: /could not be unpacked in \//,
  requests: 2,
});

await refuses("an executable is refused that does not run here, with its own words", {
  files: await makeRelease(archived("echo 'libgcc_s.so.1: cannot open' >&2; exit 127")),
  says: /does not run on this system, and has not been installed: libgcc_s\.so\.1: cannot open$/m,
  requests: 2,
});

// Where it comes from

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
  await refuses(`nothing is downloaded from ${url}`, {
    env: { SERVICE_API_DOWNLOAD_URL: url },
    // That would succeed.
    machine: { standIns: { curl: "exit 0" } },
    says: /nothing is downloaded from \S+: let SERVICE_API_DOWNLOAD_URL begin with https:\/\/ \(plain http is for 127/,
    requests: 0,
  });
}

await testInShells("the own machine is not reached through a proxy", async (shell) => {
  await using server = serveRelease(RELEASE);
  await using machine = await openMachine();
  const env = { SERVICE_API_DOWNLOAD_URL: server.url, http_proxy: "http://127.0.0.1:1", ALL_PROXY: "http://127.0.0.1:1" };
  expect(await machine.run(shell, { env })).toMatchObject({ code: 0 });
});

// The machine

const onMachine = (system: string, cpu: string, more: Readonly<Record<string, string>> = {}): MachineOptions => ({
  standIns: { uname: `case $1 in -s) echo ${system} ;; -m) echo ${cpu} ;; esac`, ...more },
});
const NO_GETCONF = { getconf: 'echo "getconf: $1: unknown variable" >&2; exit 1' };

await refuses("musl is refused, with what to do", {
  machine: onMachine("Linux", "x86_64", {
    ...NO_GETCONF,
    ldd: "printf 'musl libc (x86_64)\\nVersion 1.2.5\\nDynamic Program Loader\\n' >&2; exit 1",
  }),
  says: /no build for musl, .*Deno, which there is for glibc alone\. Use .* glibc 2\.27 or newer, such as debian/,
  requests: 0,
});

for (const version of ["2.5", "2.17", "2.26", "2.26.9000"]) {
  await refuses(`glibc ${version} is refused, with what has a newer one`, {
    machine: onMachine("Linux", "aarch64", {
      getconf: `case $1 in GNU_LIBC_VERSION) echo glibc ${version} ;; *) echo 64 ;; esac`,
    }),
    says: new RegExp(`needs glibc 2\\.27 or newer, and this system has glibc ${version}: Debian 10, .* have it$`, "m"),
    requests: 0,
  });
}

await refuses("a system of 32 bits is refused on a CPU of 64", {
  machine: onMachine("Linux", "aarch64", { getconf: "case $1 in LONG_BIT) echo 32 ;; *) echo glibc 2.36 ;; esac" }),
  says: /this system is one of 32 bits/,
  requests: 0,
});

for (const cpu of ["riscv64", "armv7l", "i686", "ppc64le"]) {
  await refuses(`the CPU ${cpu} is refused, with those that there are`, {
    machine: onMachine("Linux", cpu),
    says: new RegExp(`no build for the CPU ${cpu}: there are those for x86_64 and aarch64`),
    requests: 0,
  });
}

await refuses("FreeBSD is refused, with what there is", {
  machine: onMachine("FreeBSD", "amd64"),
  says: /no build for FreeBSD: there are those for Linux, macOS and Windows/,
  requests: 0,
});

for (const system of ["MINGW64_NT-10.0-22631", "MSYS_NT-10.0-22631", "CYGWIN_NT-10.0-22631"]) {
  await refuses(`${system} is told of install.ps1`, {
    machine: onMachine(system, "x86_64"),
    says: /in PowerShell: {2}irm http:\S+\/install\.ps1 \| iex$/m,
    requests: 0,
  });
}

for (
  const [what, tools, says, standIns = {}] of [
    ["curl and wget", WITHOUT_CURL, /curl or wget is needed, and neither is here: install curl/],
    ["curl and a wget that looks at certificates", WITHOUT_CURL, /the wget here is another: install curl/, {
      wget: "echo 'BusyBox v1.35.0 multi-call binary.' >&2; exit 1",
    }],
    ["what verifies checksums", [...TOOLS, "curl"], /sha256sum, shasum or openssl is needed .*: install coreutils/],
    ["tar", [...WITHOUT_CURL, "curl"].filter((tool) => tool !== "tar"), /tar is needed, and is not here: install it/],
  ] as const
) {
  await refuses(`a machine without ${what} is told what to install`, {
    machine: { tools, standIns },
    says,
    requests: 0,
  });
}

await refuses("where neither HOME nor PREFIX is set, PREFIX is asked for", {
  env: { HOME: "" },
  says: /neither HOME nor PREFIX is set: let PREFIX name a directory/,
  requests: 0,
});

await refuses("a directory for temporary files that is not there is named", {
  env: { TMPDIR: "/dev/null/tmp" },
  says: /\/dev\/null\/tmp cannot be written to: let TMPDIR name another/,
  requests: 0,
});

// The prefix

await refuses("a prefix below a file is refused, and named", {
  env: { PREFIX: "/dev/null/prefix" },
  says: /\/dev\/null cannot be made: see to that, or let PREFIX name another/,
  requests: 2,
});

await testInShells("a directory in the place of the executable is refused, and nothing is moved into it", async (shell) => {
  await using server = serveRelease(RELEASE);
  await using machine = await openMachine();
  await Deno.mkdir(`${machine.home}/.local/bin/service-api`, { recursive: true });
  const before = await machine.state();
  expect(await machine.run(shell, { env: { SERVICE_API_DOWNLOAD_URL: server.url } })).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/\/bin\/service-api is in the way: it is a directory/),
  });
  expect(await machine.state()).toEqual(before);
});

const disk = await openSmallDisk();
if (disk === undefined) {
  Deno.test.ignore("install.sh on a full disk and a read-only one: not run, since this user may not mount one", () => {});
} else {
  const large = await makeRelease({ ...archived("echo service-api 1.2.3"), README: new Uint8Array(1e6) });
  const before = async (): Promise<readonly string[]> => (await Array.fromAsync(Deno.readDir(disk.path))).map(String);

  await refuses("a full disk is named: the prefix", {
    files: await makeRelease(archived(`echo service-api 1.2.3; exit\n${"#".repeat(1e6)}`)),
    env: { PREFIX: `${disk.path}/prefix` },
    says: /No space left[^]*\/prefix\/bin cannot be written to: .* PREFIX/,
    requests: 2,
  });

  await refuses("a full disk is named: temporary files", {
    files: large,
    env: { TMPDIR: disk.path },
    says: new RegExp(`No space left[^]*could not be unpacked in ${disk.path}/.* TMPDIR`),
    requests: 2,
  });

  await testInShells("a read-only prefix is named", async (shell) => {
    await disk.setReadOnly(true);
    try {
      await expectRefusal(shell, {
        env: { PREFIX: `${disk.path}/prefix` },
        says: new RegExp(`Read-only[^]*${disk.path}/prefix cannot be made: .* PREFIX`),
        requests: 2,
      });
    } finally {
      await disk.setReadOnly(false);
    }
  });

  await testInShells("nothing was left on the disk", async () => expect(await before()).toEqual([]));

  Deno.test.afterAll(() => disk[Symbol.asyncDispose]());
}
