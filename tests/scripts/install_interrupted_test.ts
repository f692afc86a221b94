/** The installer cut off, stopped, or left waiting. */
import { expect } from "expect";
import { until } from "../server/until.ts";
import { findProgram } from "../tools.ts";
import { INSTALLER, openMachine, testInShells, TOOLS } from "./machine.ts";
import { archived, makeRelease, serveRelease } from "./release_server.ts";

const RELEASE = await makeRelease(archived("echo service-api 1.2.3"));

testInShells("cut off anywhere on its way through a pipe, does nothing", async (shell) => {
  await using server = serveRelease(RELEASE.files);
  await using machine = await openMachine();
  const installer = await Deno.readTextFile(INSTALLER);
  const end = installer.lastIndexOf("main") + "main".length;
  const cuts = [...installer.slice(0, end - 300).matchAll(/\n/g)].map(({ index }) => index + 1)
    .concat(Array.from({ length: 300 }, (_, index) => end - 300 + index));
  const env = { SERVICE_API_DOWNLOAD_URL: server.url };
  const nothing = await machine.state();
  for (const cut of cuts) {
    // deno-lint-ignore no-await-in-loop -- one run after the other in one home
    await machine.run(shell, { env, script: installer.slice(0, cut) });
    // deno-lint-ignore no-await-in-loop -- as above
    expect({ cut, state: await machine.state(), requests: server.requests })
      .toEqual({ cut, state: nothing, requests: [] });
  }
  expect((await machine.run(shell, { env, script: installer })).code).toBe(0);
  expect(await Deno.stat(`${machine.home}/.local/bin/service-api`)).toMatchObject({ isFile: true });
});

for (const [signal, code] of [["SIGINT", 130], ["SIGTERM", 143], ["SIGHUP", 129]] as const) {
  testInShells(`stopped by ${signal} during the download, changes nothing and leaves nothing`, async (shell) => {
    const arrived = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    await using server = serveRelease(RELEASE.files, async (path) => {
      if (!path.endsWith(".tar.gz")) return undefined;
      arrived.resolve();
      await goOn.promise;
      return undefined;
    });
    await using machine = await openMachine();
    const before = await machine.state();
    const { outcome, kill } = machine.start(shell, { env: { SERVICE_API_DOWNLOAD_URL: server.url } });
    await Promise.race([arrived.promise, outcome]);
    kill(signal);
    goOn.resolve();
    expect(await outcome).toMatchObject({ code, stdout: "" });
    expect(await machine.state()).toEqual(before);
  });
}

testInShells("stopped while the new executable is tried, changes nothing and leaves nothing", async (shell) => {
  await using server = serveRelease(
    (await makeRelease(archived('echo tried > "$TMPDIR/tried"; read -r line < "$TMPDIR/go"'))).files,
  );
  await using machine = await openMachine();
  const before = await machine.state();
  await new Deno.Command("mkfifo", { args: [`${machine.tmp}/go`] }).output();
  const { outcome, kill } = machine.start(shell, { env: { SERVICE_API_DOWNLOAD_URL: server.url } });
  await until(() => Deno.stat(`${machine.tmp}/tried`).then(() => true, () => false));
  kill("SIGINT");
  await Deno.writeTextFile(`${machine.tmp}/go`, "\n");
  expect(await outcome).toMatchObject({ code: 130 });
  await Promise.all(["go", "tried"].map((name) => Deno.remove(`${machine.tmp}/${name}`)));
  expect(await machine.state()).toEqual(before);
});

/** After how long servers that stand still go on, in milliseconds: by then the installer has to have given up. */
const PATIENCE = 20_000;

/** A tool that waits a second where it is told to wait a minute. */
function impatient(tool: string): string {
  return `for option; do
  case $option in 60) option=1 ;; --timeout=60) option=--timeout=1 ;; esac
  set -- "$@" "$option"
  shift
done
exec ${findProgram(tool)} "$@"`;
}

for (const tool of ["curl", "wget"]) {
  testInShells(`gives up a download with ${tool} that stands still`, async (shell) => {
    const given = Promise.withResolvers<undefined>();
    const patience = setTimeout(() => given.resolve(undefined), PATIENCE);
    const half = new ReadableStream({
      start: async (controller) => {
        controller.enqueue(RELEASE.archive.slice(0, 10));
        await given.promise;
        controller.close();
      },
    });
    await using slow = serveRelease(RELEASE.files, (path) => path.endsWith(".tar.gz") ? new Response(half) : undefined);
    await using silent = serveRelease(RELEASE.files, () => given.promise);
    await using machine = await openMachine({
      tools: [...TOOLS, "sha256sum", "shasum"],
      standIns: { [tool]: impatient(tool) },
    });
    const before = await machine.state();
    try {
      const outcomes = await Promise.all(
        [slow, silent].map(({ url }) => machine.run(shell, { env: { SERVICE_API_DOWNLOAD_URL: url } })),
      );
      const givenUp = { code: 1, stderr: expect.stringMatching(/could not be downloaded/) };
      expect(outcomes).toMatchObject([givenUp, givenUp]);
      expect(await machine.state()).toEqual(before);
    } finally {
      clearTimeout(patience);
      given.resolve(undefined);
    }
  }, [tool]);
}
