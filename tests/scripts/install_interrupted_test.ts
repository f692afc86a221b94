/** Tests install.sh if the script is truncated or interrupted. */
import { expect } from "expect";
import { until } from "../server/until.ts";
import { INSTALLER, openMachine, testInAllShells, testInstaller } from "./machine.ts";
import { archived, makeRelease, serveRelease } from "./release_server.ts";

const RELEASE = await makeRelease(archived("echo service-api 1.2.3"));

testInstaller("does nothing if the script is truncated", async () => {
  await using server = serveRelease(RELEASE.files);
  await using machine = await openMachine();
  const installer = await Deno.readTextFile(INSTALLER);
  const env = { SERVICE_API_DOWNLOAD_URL: server.url };
  const before = await machine.state();
  // Truncates the script after each line, and within the word `main` in the last line.
  const lines = [...installer.matchAll(/\n/g)].map(({ index }) => index + 1).slice(0, -1);
  const last = lines.at(-1) ?? 0;
  const cuts = [...lines, last + 1, last + 2, last + 3];
  expect(installer.slice(last, last + 4)).toBe("main");
  for (const cut of cuts) {
    // deno-lint-ignore no-await-in-loop -- all runs use the same home directory
    await machine.run({ env, script: installer.slice(0, cut) });
    expect({ cut, requests: server.requests }).toEqual({ cut, requests: [] });
  }
  expect(await machine.state()).toEqual(before);
  expect((await machine.run({ env, script: installer })).code).toBe(0);
  expect(await Deno.stat(`${machine.home}/.local/bin/service-api`)).toMatchObject({ isFile: true });
});

for (const [signal, code] of [["SIGINT", 130], ["SIGTERM", 143], ["SIGHUP", 129]] as const) {
  testInAllShells(`changes nothing after ${signal} during the download`, async (shell) => {
    const arrived = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    await using server = serveRelease(RELEASE.files, async (path) => {
      if (!path.endsWith(".tar.gz")) return undefined;
      arrived.resolve();
      await finish.promise;
      return undefined;
    });
    await using machine = await openMachine();
    const before = await machine.state();
    const { outcome, kill } = machine.start({ env: { SERVICE_API_DOWNLOAD_URL: server.url } }, shell);
    await Promise.race([arrived.promise, outcome]);
    kill(signal);
    finish.resolve();
    expect(await outcome).toMatchObject({ code, stdout: "" });
    expect(await machine.state()).toEqual(before);
  });
}

testInstaller("changes nothing after SIGINT during the trial run of the executable", async () => {
  const { files } = await makeRelease(archived('echo tried > "$TMPDIR/tried"; read -r line < "$TMPDIR/continue"'));
  await using server = serveRelease(files);
  await using machine = await openMachine();
  const before = await machine.state();
  await new Deno.Command("mkfifo", { args: [`${machine.tmp}/continue`] }).output();
  const { outcome, kill } = machine.start({ env: { SERVICE_API_DOWNLOAD_URL: server.url } });
  await until(() => Deno.stat(`${machine.tmp}/tried`).then(() => true, () => false));
  kill("SIGINT");
  await Deno.writeTextFile(`${machine.tmp}/continue`, "\n");
  expect(await outcome).toMatchObject({ code: 130 });
  await Promise.all(["continue", "tried"].map((name) => Deno.remove(`${machine.tmp}/${name}`)));
  expect(await machine.state()).toEqual(before);
});
