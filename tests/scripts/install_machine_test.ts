/** Machines and prefixes on which the installer cannot work, and what it says there. */
import { expect } from "expect";
import { openSmallDisk } from "../program/small_disk.ts";
import { type MachineOptions, openMachine, testInShells, TOOLS } from "./machine.ts";
import { expectRefusal, refuses, RELEASE } from "./refusal.ts";
import { archived, makeRelease, serveRelease } from "./release_server.ts";

const WITHOUT_CURL = [...TOOLS, "sha256sum", "shasum"];

const onMachine = (system: string, cpu: string, more: Readonly<Record<string, string>> = {}): MachineOptions => ({
  standIns: { uname: `case $1 in -s) echo ${system} ;; -m) echo ${cpu} ;; esac`, ...more },
});
const NO_GETCONF = { getconf: 'echo "getconf: $1: unknown variable" >&2; exit 1' };

refuses("musl is refused, with what to do", {
  machine: onMachine("Linux", "x86_64", {
    ...NO_GETCONF,
    ldd: "printf 'musl libc (x86_64)\\nVersion 1.2.5\\nDynamic Program Loader\\n' >&2; exit 1",
  }),
  says: /no build for musl, .*Deno, which there is for glibc alone\. Use .* glibc 2\.27 or newer, such as debian/,
  requests: 0,
});

for (const version of ["2.5", "2.17", "2.26", "2.26.9000"]) {
  refuses(`glibc ${version} is refused, with what has a newer one`, {
    machine: onMachine("Linux", "aarch64", {
      getconf: `case $1 in GNU_LIBC_VERSION) echo glibc ${version} ;; *) echo 64 ;; esac`,
    }),
    says: new RegExp(`needs glibc 2\\.27 or newer, and this system has glibc ${version}: Debian 10, .* have it$`, "m"),
    requests: 0,
  });
}

refuses("a 32-bit system is refused on a 64-bit CPU", {
  machine: onMachine("Linux", "aarch64", { getconf: "case $1 in LONG_BIT) echo 32 ;; *) echo glibc 2.36 ;; esac" }),
  says: /this is a 32-bit system/,
  requests: 0,
});

for (const cpu of ["riscv64", "armv7l", "i686", "ppc64le"]) {
  refuses(`the CPU ${cpu} is refused, with those that there are`, {
    machine: onMachine("Linux", cpu),
    says: new RegExp(`no build for the CPU ${cpu}: there are those for x86_64 and aarch64`),
    requests: 0,
  });
}

refuses("FreeBSD is refused, with what there is", {
  machine: onMachine("FreeBSD", "amd64"),
  says: /no build for FreeBSD: there are those for Linux, macOS and Windows/,
  requests: 0,
});

for (const system of ["MINGW64_NT-10.0-22631", "MSYS_NT-10.0-22631", "CYGWIN_NT-10.0-22631"]) {
  refuses(`${system} is told of install.ps1`, {
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
  refuses(`a machine without ${what} is told what to install`, {
    machine: { tools, standIns },
    says,
    requests: 0,
  });
}

refuses("where neither HOME nor PREFIX is set, PREFIX is asked for", {
  env: { HOME: "" },
  says: /neither HOME nor PREFIX is set: let PREFIX name a directory/,
  requests: 0,
});

refuses("a directory for temporary files that is not there is named", {
  env: { TMPDIR: "/dev/null/tmp" },
  says: /\/dev\/null\/tmp cannot be written to: let TMPDIR name another/,
  requests: 0,
});

refuses("a prefix below a file is refused, and named", {
  env: { PREFIX: "/dev/null/prefix" },
  says: /\/dev\/null cannot be made: see to that, or let PREFIX name another/,
  requests: 2,
});

testInShells(
  "a directory in the place of the executable is refused, and nothing is moved into it",
  async (shell) => {
    await using server = serveRelease(RELEASE.files);
    await using machine = await openMachine();
    await Deno.mkdir(`${machine.home}/.local/bin/service-api`, { recursive: true });
    const before = await machine.state();
    expect(await machine.run(shell, { env: { SERVICE_API_DOWNLOAD_URL: server.url } })).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/\/bin\/service-api is in the way: it is a directory/),
    });
    expect(await machine.state()).toEqual(before);
  },
);

const disk = await openSmallDisk();
if (disk === undefined) {
  Deno.test.ignore(
    "install.sh on a full disk and a read-only one: not run, since this user may not mount one",
    () => {},
  );
} else {
  const large = await makeRelease({ ...archived("echo service-api 1.2.3"), "README.md": new Uint8Array(1e6) });
  refuses("a full disk is named: the prefix", {
    files: (await makeRelease(archived(`echo service-api 1.2.3; exit\n${"#".repeat(1e6)}`))).files,
    env: { PREFIX: `${disk.path}/prefix` },
    says: /No space left[^]*\/prefix\/bin cannot be written to: .* PREFIX/,
    requests: 2,
  });

  refuses("a full disk is named: temporary files", {
    files: large.files,
    env: { TMPDIR: disk.path },
    says: new RegExp(`No space left[^]*could not be unpacked in ${disk.path}/.* TMPDIR`),
    requests: 2,
  });

  testInShells("a read-only prefix is named", async (shell) => {
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

  Deno.test.afterAll(disk.close);
}
