/** What install.sh installs on supported machines, and where. */
import { expect } from "expect";
import { execute } from "../execute.ts";
import { testWith } from "../tools.ts";
import { filesIn, INSTALLER, openMachine, testInAllShells, testInstaller, TOOLS } from "./machine.ts";
import { archived, makeRelease, serveRelease } from "./release_server.ts";

const NEW = 'echo "service-api 1.2.3 (new)"';
const RELEASE = await makeRelease(archived(NEW));

const INSTALLED = {
  "bin/service-api": [0o755, `#!/bin/sh\n${NEW}\n`],
  "share/bash-completion/completions/service-api": [0o644, "for bash\n"],
  "share/doc/service-api/LICENSE": [0o644, "the licence\n"],
  "share/doc/service-api/README.md": [0o644, "the README\n"],
  "share/doc/service-api/THIRD-PARTY-LICENSES": [0o644, "the licences of others\n"],
  "share/fish/vendor_completions.d/service-api.fish": [0o644, "for fish\n"],
  "share/man/man1/service-api.1": [0o644, "for man\n"],
  "share/man/man7/service-api-rights.7": [0o644, "for man too\n"],
  "share/zsh/site-functions/_service-api": [0o644, "for zsh\n"],
};

testInAllShells("installs to ~/.local, prints the path, and leaves no other file", async (shell) => {
  await using server = serveRelease(RELEASE.files);
  await using machine = await openMachine();
  const { code, stdout, stderr } = await machine.run({
    env: { SERVICE_API_DOWNLOAD_URL: `${server.url}/some/` },
  }, shell);
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringMatching(/^service-api: Downloading http:\S+\/some\/service-api-1\.2\.3-\S+\.tar\.gz\n$/),
  });
  const bin = `${machine.home}/.local/bin`;
  expect(stdout.split("\n")).toEqual([
    `Installed service-api 1.2.3 (new) in ${bin}`,
    "This directory is not in your PATH. Add this line to ~/.profile:",
    `  export PATH="${bin}:$PATH"`,
    "",
  ]);
  expect(await filesIn(machine.home)).toEqual(
    Object.fromEntries(Object.entries(INSTALLED).map(([path, file]) => [`.local/${path}`, file])),
  );
  expect(await filesIn(machine.tmp)).toEqual({});
  expect(server.requests).toEqual([
    "/some/SHA256SUMS",
    expect.stringMatching(/^\/some\/service-api-1\.2\.3-.*\.tar\.gz$/),
  ]);
});

testInstaller("does not mention PATH if PATH contains the directory", async () => {
  await using server = serveRelease(RELEASE.files);
  await using machine = await openMachine();
  const { stdout } = await machine.run({
    env: { SERVICE_API_DOWNLOAD_URL: server.url, PATH: `/before:${machine.home}/.local/bin:${machine.path}` },
  });
  expect(stdout).toBe(`Installed service-api 1.2.3 (new) in ${machine.home}/.local/bin\n`);
});

testInstaller(
  "installs to PREFIX without HOME, even if PREFIX has spaces, quotes and non-ASCII letters",
  async () => {
    await using server = serveRelease(RELEASE.files);
    await using machine = await openMachine();
    const prefix = `${machine.tmp}/spaces and 'quotes' "$HOME"/préfixe 目录`;
    const { code, stdout } = await machine.run({
      env: { SERVICE_API_DOWNLOAD_URL: server.url, PREFIX: `${prefix}/`, HOME: "" },
    });
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining(`${prefix}/bin\n`) });
    expect(await filesIn(prefix)).toEqual(INSTALLED);
  },
);

testInstaller("resolves a relative PREFIX against the working directory", async () => {
  await using server = serveRelease(RELEASE.files);
  await using machine = await openMachine();
  const { stdout } = await machine.run({ env: { SERVICE_API_DOWNLOAD_URL: server.url, PREFIX: "here" } });
  expect(stdout).toContain(`${machine.home}/here/bin:`);
  expect(await filesIn(`${machine.home}/here`)).toEqual(INSTALLED);
});

// Some other systems refuse to run a copy of a system program.
if (Deno.build.os === "linux") {
  testInstaller("replaces an older version while it is running", async () => {
    await using server = serveRelease(RELEASE.files);
    await using machine = await openMachine();
    const executable = `${machine.home}/.local/bin/service-api`;
    await Deno.mkdir(`${machine.home}/.local/bin`, { recursive: true });
    // Linux does not execute a file that any process has open for writing. If this process made the copy, a process that
    // another test starts could inherit the open file.
    await new Deno.Command("cp", { args: [`${machine.path}/sleep`, executable] }).output();
    const running = new Deno.Command(executable, { args: ["600"] }).spawn();
    try {
      const { code } = await machine.run({ env: { SERVICE_API_DOWNLOAD_URL: server.url } });
      expect(code).toBe(0);
      expect(await filesIn(`${machine.home}/.local`)).toEqual(INSTALLED);
    } finally {
      running.kill("SIGTERM");
    }
    expect((await running.status).signal).toBe("SIGTERM");
  });
}

testInstaller("replaces only its own files when it runs again", async () => {
  await using server = serveRelease(RELEASE.files);
  await using machine = await openMachine();
  const run = { env: { SERVICE_API_DOWNLOAD_URL: server.url } };
  await machine.run(run);
  await Deno.writeTextFile(`${machine.home}/.local/bin/other`, "other\n", { mode: 0o600 });
  await Deno.writeTextFile(`${machine.home}/.local/share/doc/service-api/LICENSE`, "older\n");
  expect((await machine.run(run)).code).toBe(0);
  expect(await filesIn(`${machine.home}/.local`)).toEqual({ ...INSTALLED, "bin/other": [0o600, "other\n"] });
});

testInstaller("downloads with wget if curl is not installed", async () => {
  await using server = serveRelease(RELEASE.files);
  await using machine = await openMachine({ tools: [...TOOLS, "wget", "sha256sum", "shasum"] });
  expect(await machine.run({ env: { SERVICE_API_DOWNLOAD_URL: server.url } })).toMatchObject({ code: 0 });
  expect(await filesIn(`${machine.home}/.local`)).toEqual(INSTALLED);
}, ["wget"]);

for (const tool of ["shasum", "openssl"]) {
  testInstaller(`verifies the archive with ${tool} if sha256sum is not installed`, async () => {
    await using machine = await openMachine({ tools: [...TOOLS, "curl", tool] });
    await using server = serveRelease(RELEASE.files);
    expect(await machine.run({ env: { SERVICE_API_DOWNLOAD_URL: server.url } })).toMatchObject({ code: 0 });
    const { files } = await makeRelease(archived("exit 1"));
    await using tampered = serveRelease({ ...files, SHA256SUMS: RELEASE.sums });
    expect(await machine.run({ env: { SERVICE_API_DOWNLOAD_URL: tampered.url } })).toMatchObject({ code: 1 });
    expect(await filesIn(`${machine.home}/.local`)).toEqual(INSTALLED);
  }, ["curl", tool]);
}

testInstaller("does not use a proxy for loopback addresses", async () => {
  await using server = serveRelease(RELEASE.files);
  await using machine = await openMachine();
  const proxy = { http_proxy: "http://127.0.0.1:1", ALL_PROXY: "http://127.0.0.1:1" };
  expect(await machine.run({ env: { SERVICE_API_DOWNLOAD_URL: server.url, ...proxy } })).toMatchObject({ code: 0 });
});

for (
  const { system, cpu, target, rosetta = false } of [
    { system: "Linux", cpu: "amd64", target: "x86_64-unknown-linux-gnu" },
    { system: "Linux", cpu: "aarch64", target: "aarch64-unknown-linux-gnu" },
    { system: "Darwin", cpu: "x86_64", target: "x86_64-apple-darwin" },
    { system: "Darwin", cpu: "x86_64", rosetta: true, target: "aarch64-apple-darwin" },
  ] as const
) {
  testInstaller(`installs ${target} on ${system} ${cpu}${rosetta ? " under Rosetta" : ""}`, async () => {
    const releases = await Promise.all(
      [target, "x86_64-pc-windows-msvc", target.replace(/^[^-]+/, "riscv64")].map((each) =>
        makeRelease(archived(`echo service-api for ${each}`), each)
      ),
    );
    const SHA256SUMS = releases.map(({ sums }) => sums).join("");
    await using server = serveRelease({ ...Object.assign({}, ...releases.map(({ files }) => files)), SHA256SUMS });
    await using machine = await openMachine({
      standIns: {
        uname: `case $1 in -s) echo ${system} ;; -m) echo ${cpu} ;; esac`,
        sysctl: rosetta ? "echo 1" : "exit 1",
        getconf: "case $1 in GNU_LIBC_VERSION) echo glibc 2.27 ;; *) echo 64 ;; esac",
      },
    });
    const { stdout } = await machine.run({ env: { SERVICE_API_DOWNLOAD_URL: server.url } });
    expect(stdout).toMatch(`Installed service-api for ${target} in `);
  });
}

testInstaller("downloads the latest release by default", async () => {
  await using machine = await openMachine({
    standIns: { curl: 'for url; do :; done; echo "requested $url" >&2; exit 6' },
  });
  expect(await machine.run()).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /^requested https:\/\/github\.com\/service-api\/service-api\/releases\/latest\/download\/SHA256SUMS\n/,
    ),
  });
});

testInstaller("prints its usage with --help, and rejects any other argument", async () => {
  await using machine = await openMachine();
  expect(await machine.run({ args: ["--help"] })).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^Usage: (.|\n)*PREFIX(.|\n)*SERVICE_API_DOWNLOAD_URL/),
    stderr: "",
  });
  expect(await machine.run({ args: ["--version"] })).toEqual({
    code: 2,
    stdout: "",
    stderr: expect.stringMatching(/^Usage: /),
  });
});

testWith(["shellcheck"], "install.sh has no ShellCheck findings", async () => {
  expect((await execute("shellcheck", [INSTALLER])).stdout).toBe("");
});
