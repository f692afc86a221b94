/** The error messages of install.sh on machines and in directories in which it cannot work. */
import { expect } from "expect";
import { openSmallDisk } from "../program/small_disk.ts";
import { type MachineOptions, openMachine, testInstaller, TOOLS } from "./machine.ts";
import { expectRefusal, refuses, RELEASE } from "./refusal.ts";
import { archived, makeRelease, serveRelease } from "./release_server.ts";

const onMachine = (system: string, cpu: string, more: Readonly<Record<string, string>> = {}): MachineOptions => ({
  standIns: { uname: `case $1 in -s) echo ${system} ;; -m) echo ${cpu} ;; esac`, ...more },
});

refuses("rejects musl and suggests an alternative", {
  machine: onMachine("Linux", "x86_64", {
    getconf: 'echo "getconf: $1: unknown variable" >&2; exit 1',
    ldd: "printf 'musl libc (x86_64)\\nVersion 1.2.5\\nDynamic Program Loader\\n' >&2; exit 1",
  }),
  message: /no build for musl, .* Deno requires glibc\. Use .* glibc 2\.27 or newer, for example debian/,
  requests: 0,
});

for (const version of ["2.5", "2.17", "2.26.9000"]) {
  refuses(`rejects glibc ${version} and names systems with a newer version`, {
    machine: onMachine("Linux", "aarch64", {
      getconf: `case $1 in GNU_LIBC_VERSION) echo glibc ${version} ;; *) echo 64 ;; esac`,
    }),
    message: new RegExp(`requires glibc 2\\.27 or newer, but this system has glibc ${version}\\. Debian 10, `),
    requests: 0,
  });
}

refuses("rejects a 32-bit system on a 64-bit CPU", {
  machine: onMachine("Linux", "aarch64", { getconf: "case $1 in LONG_BIT) echo 32 ;; *) echo glibc 2.36 ;; esac" }),
  message: /This is a 32-bit system/,
  requests: 0,
});

refuses("rejects an unsupported CPU and names the supported CPUs", {
  machine: onMachine("Linux", "armv7l"),
  message: /no build for the CPU armv7l\. There are builds for x86_64 and aarch64/,
  requests: 0,
});

refuses("rejects an unsupported system and names the supported systems", {
  machine: onMachine("FreeBSD", "amd64"),
  message: /no build for FreeBSD\. There are builds for Linux, macOS and Windows/,
  requests: 0,
});

for (const system of ["MINGW64_NT-10.0-22631", "MSYS_NT-10.0-22631", "CYGWIN_NT-10.0-22631"]) {
  refuses(`refers to install.ps1 on ${system}`, {
    machine: onMachine(system, "x86_64"),
    message: /in PowerShell: {2}irm http:\S+\/install\.ps1 \| iex$/m,
    requests: 0,
  });
}

const WITHOUT_CURL = [...TOOLS, "sha256sum", "shasum"];
for (
  const [missing, tools, message, standIns = {}] of [
    ["curl or wget", WITHOUT_CURL, /curl or wget is required, but neither is installed\. Install curl/],
    ["curl or GNU wget", WITHOUT_CURL, /the installed wget is not GNU wget\. Install curl/, {
      wget: "echo 'BusyBox v1.35.0 multi-call binary.' >&2; exit 1",
    }],
    ["checksum program", [...TOOLS, "curl"], /sha256sum, shasum or openssl is required .* Install coreutils/],
    ["tar", [...WITHOUT_CURL, "curl"].filter((tool) => tool !== "tar"), /tar is required, .* Install tar/],
  ] as const
) {
  refuses(`says what to install on a machine with no ${missing}`, {
    machine: { tools, standIns },
    message,
    requests: 0,
  });
}

refuses("asks for PREFIX if neither HOME nor PREFIX is set", {
  env: { HOME: "" },
  message: /Neither HOME nor PREFIX is set\. Set PREFIX/,
  requests: 0,
});

refuses("names TMPDIR if the directory does not exist", {
  env: { TMPDIR: "/dev/null/tmp" },
  message: /Could not write to \/dev\/null\/tmp\. Set TMPDIR/,
  requests: 0,
});

refuses("names PREFIX if it cannot create the directory", {
  env: { PREFIX: "/dev/null/prefix" },
  message: /Could not create \/dev\/null\. .*PREFIX/,
  requests: 2,
});

testInstaller("refuses to replace a directory, and moves nothing into it", async () => {
  await using server = serveRelease(RELEASE.files);
  await using machine = await openMachine();
  await Deno.mkdir(`${machine.home}/.local/bin/service-api`, { recursive: true });
  const before = await machine.state();
  expect(await machine.run({ env: { SERVICE_API_DOWNLOAD_URL: server.url } })).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/Could not install \S+\/bin\/service-api: a directory with this name exists\./),
  });
  expect(await machine.state()).toEqual(before);
});

const disk = await openSmallDisk();
if (disk === undefined) {
  Deno.test.ignore(
    "install.sh names the directory on a full or read-only disk (skipped: this user cannot mount a disk)",
    () => {},
  );
} else {
  const large = await makeRelease({ ...archived("echo service-api 1.2.3"), "README.md": new Uint8Array(1e6) });
  refuses("names PREFIX if its disk is full", {
    files: (await makeRelease(archived(`echo service-api 1.2.3; exit\n${"#".repeat(1e6)}`))).files,
    env: { PREFIX: `${disk.path}/prefix` },
    message: /No space left[^]*Could not write to \S+\/prefix\/bin\. .*PREFIX/,
    requests: 2,
  });

  refuses("names TMPDIR if its disk is full", {
    files: large.files,
    env: { TMPDIR: disk.path },
    message: new RegExp(`No space left[^]*Could not unpack .* in ${disk.path}/.* TMPDIR`),
    requests: 2,
  });

  testInstaller("names PREFIX if its disk is read-only", async () => {
    await disk.setReadOnly(true);
    try {
      await expectRefusal({
        env: { PREFIX: `${disk.path}/prefix` },
        message: new RegExp(`Read-only[^]*Could not create ${disk.path}/prefix\\. .*PREFIX`),
        requests: 2,
      });
    } finally {
      await disk.setReadOnly(false);
    }
  });

  Deno.test.afterAll(disk.close);
}
