/** What the installer puts where, on machines on which it can. */
import { expect } from "expect";
import { execute } from "../execute.ts";
import { testWith } from "../tools.ts";
import { filesIn, INSTALLER, openMachine, testInShells, TOOLS } from "./machine.ts";
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
  "share/zsh/site-functions/_service-api": [0o644, "for zsh\n"],
};

testInShells("installs to ~/.local, says so, and leaves nothing else", async (shell) => {
  await using server = serveRelease(RELEASE.files);
  await using machine = await openMachine();
  const { code, stdout, stderr } = await machine.run(shell, {
    env: { SERVICE_API_DOWNLOAD_URL: `${server.url}/some/` },
  });
  expect({ code, stderr }).toEqual({
    code: 0,
    stderr: expect.stringMatching(/^service-api: downloading http:\S+\/some\/service-api-1\.2\.3-\S+\.tar\.gz\n$/),
  });
  const bin = `${machine.home}/.local/bin`;
  expect(stdout.split("\n")).toEqual([
    `Installed service-api 1.2.3 (new) in ${bin}`,
    `which is not in your PATH: add  export PATH="${bin}:$PATH"  to ~/.profile`,
    "",
  ]);
  expect(await filesIn(`${machine.home}/.local`)).toEqual(INSTALLED);
  expect(await filesIn(machine.home)).toEqual(
    Object.fromEntries(Object.entries(INSTALLED).map(([path, file]) => [`.local/${path}`, file])),
  );
  expect(await filesIn(machine.tmp)).toEqual({});
  expect(server.requests).toEqual([
    "/some/SHA256SUMS",
    expect.stringMatching(/^\/some\/service-api-1\.2\.3-.*\.tar\.gz$/),
  ]);
});

testInShells("says nothing of PATH where it has the directory", async (shell) => {
  await using server = serveRelease(RELEASE.files);
  await using machine = await openMachine();
  const { stdout } = await machine.run(shell, {
    env: { SERVICE_API_DOWNLOAD_URL: server.url, PATH: `/before:${machine.home}/.local/bin:${machine.path}` },
  });
  expect(stdout).toBe(`Installed service-api 1.2.3 (new) in ${machine.home}/.local/bin\n`);
});

for (const prefix of ["a place with spaces/and 'quotes' \"$HOME\"", "préfixe/目录", "with/slash/"]) {
  testInShells(`installs to the prefix ${prefix}`, async (shell) => {
    await using server = serveRelease(RELEASE.files);
    await using machine = await openMachine();
    const env = { SERVICE_API_DOWNLOAD_URL: server.url, PREFIX: `${machine.tmp}/${prefix}`, HOME: "" };
    const { code, stdout } = await machine.run(shell, { env });
    expect(code).toBe(0);
    expect(stdout).toContain(`${machine.tmp}/${prefix.replace(/\/$/, "")}/bin`);
    expect(await filesIn(`${machine.tmp}/${prefix}`)).toEqual(INSTALLED);
  });
}

testInShells("takes a relative prefix from where it is run", async (shell) => {
  await using server = serveRelease(RELEASE.files);
  await using machine = await openMachine();
  const { stdout } = await machine.run(shell, { env: { SERVICE_API_DOWNLOAD_URL: server.url, PREFIX: "here" } });
  expect(stdout).toContain(`${machine.home}/here/bin:`);
  expect(await filesIn(`${machine.home}/here`)).toEqual(INSTALLED);
});

// Elsewhere what the system comes with does not run from other places.
if (Deno.build.os === "linux") {
  testInShells("replaces an older version while that is running", async (shell) => {
    await using server = serveRelease(RELEASE.files);
    await using machine = await openMachine();
    const executable = `${machine.home}/.local/bin/service-api`;
    await Deno.mkdir(`${machine.home}/.local/bin`, { recursive: true });
    // By another process: while this one has it open for writing, it cannot be run.
    await new Deno.Command("cp", { args: [`${machine.path}/sleep`, executable] }).output();
    const running = new Deno.Command(executable, { args: ["600"] }).spawn();
    try {
      const { code } = await machine.run(shell, { env: { SERVICE_API_DOWNLOAD_URL: server.url } });
      expect(code).toBe(0);
      expect(await filesIn(`${machine.home}/.local`)).toEqual(INSTALLED);
    } finally {
      running.kill("SIGTERM");
    }
    expect((await running.status).signal).toBe("SIGTERM");
  });
}

testInShells("replaces its own files on a second run, and no other", async (shell) => {
  await using server = serveRelease(RELEASE.files);
  await using machine = await openMachine();
  const run = { env: { SERVICE_API_DOWNLOAD_URL: server.url } };
  await machine.run(shell, run);
  await Deno.writeTextFile(`${machine.home}/.local/bin/other`, "other\n", { mode: 0o600 });
  await Deno.writeTextFile(`${machine.home}/.local/share/doc/service-api/LICENSE`, "older\n");
  expect((await machine.run(shell, run)).code).toBe(0);
  expect(await filesIn(`${machine.home}/.local`)).toEqual({ ...INSTALLED, "bin/other": [0o600, "other\n"] });
});

testInShells("downloads with wget where there is no curl", async (shell) => {
  await using server = serveRelease(RELEASE.files);
  await using machine = await openMachine({ tools: [...TOOLS, "wget", "sha256sum", "shasum"] });
  expect(await machine.run(shell, { env: { SERVICE_API_DOWNLOAD_URL: server.url } })).toMatchObject({ code: 0 });
  expect(await filesIn(`${machine.home}/.local`)).toEqual(INSTALLED);
}, ["wget"]);

for (const tool of ["shasum", "openssl"]) {
  testInShells(`verifies with ${tool} where there is nothing else`, async (shell) => {
    await using machine = await openMachine({ tools: [...TOOLS, "curl", tool] });
    await using server = serveRelease(RELEASE.files);
    expect(await machine.run(shell, { env: { SERVICE_API_DOWNLOAD_URL: server.url } })).toMatchObject({ code: 0 });
    await using tampered = serveRelease({
      ...(await makeRelease(archived("exit 1"))).files,
      SHA256SUMS: RELEASE.sums,
    });
    expect(await machine.run(shell, { env: { SERVICE_API_DOWNLOAD_URL: tampered.url } })).toMatchObject({ code: 1 });
    expect(await filesIn(`${machine.home}/.local`)).toEqual(INSTALLED);
  }, ["curl", tool]);
}

for (
  const { system, cpu, target, rosetta = false } of [
    { system: "Linux", cpu: "x86_64", target: "x86_64-unknown-linux-gnu" },
    { system: "Linux", cpu: "amd64", target: "x86_64-unknown-linux-gnu" },
    { system: "Linux", cpu: "aarch64", target: "aarch64-unknown-linux-gnu" },
    { system: "Darwin", cpu: "x86_64", target: "x86_64-apple-darwin" },
    { system: "Darwin", cpu: "arm64", target: "aarch64-apple-darwin" },
    { system: "Darwin", cpu: "x86_64", rosetta: true, target: "aarch64-apple-darwin" },
  ] as const
) {
  const told = `${system} on ${cpu}${rosetta ? ", which is Rosetta's" : ""}`;
  testInShells(`takes the build ${target} for ${told}`, async (shell) => {
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
    const { stdout } = await machine.run(shell, { env: { SERVICE_API_DOWNLOAD_URL: server.url } });
    expect(stdout).toMatch(`Installed service-api for ${target} in `);
  });
}

testInShells("asks for the newest release where nothing else is said", async (shell) => {
  await using machine = await openMachine({
    standIns: { curl: 'for url; do :; done; echo "asked for $url" >&2; exit 6' },
  });
  expect(await machine.run(shell)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /^asked for https:\/\/github\.com\/service-api\/service-api\/releases\/latest\/download\/SHA256SUMS\n/,
    ),
  });
});

testInShells("--help says how it is run, anything else is a usage error", async (shell) => {
  await using machine = await openMachine();
  expect(await machine.run(shell, { args: ["--help"] })).toEqual({
    code: 0,
    stdout: expect.stringMatching(/^Usage: (.|\n)*PREFIX(.|\n)*SERVICE_API_DOWNLOAD_URL/),
    stderr: "",
  });
  expect(await machine.run(shell, { args: ["--version"] })).toEqual({
    code: 2,
    stdout: "",
    stderr: expect.stringMatching(/^Usage: /),
  });
});

testWith(["shellcheck"], "ShellCheck has nothing to say about install.sh", async () => {
  expect((await execute("shellcheck", [INSTALLER])).stdout).toBe("");
});
