/** Tests install.sh with the compiled executable. */
import { expect } from "expect";
import { buildExecutable } from "../program/executable.ts";
import { startServe } from "../program/installations.ts";
import { INSTALLER, openMachine, testInstaller } from "./machine.ts";
import { archived, makeRelease, serveRelease } from "./release_server.ts";

const build = await buildExecutable();
if (build.kind === "not built") {
  Deno.test.ignore(`install.sh installs the executable (skipped: ${build.reason})`, () => {});
} else {
  const executable = await Deno.readFile(build.path);

  testInstaller("replaces the executable while it is serving", async () => {
    const { files } = await makeRelease({ ...archived(""), "service-api": executable });
    await using server = serveRelease(files);
    await using machine = await openMachine();
    const run = { env: { SERVICE_API_DOWNLOAD_URL: server.url } };
    expect(await machine.run(run)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Installed service-api \d+\.\d+\.\d+/),
    });
    const path = `${machine.home}/.local/bin/service-api`;
    const serving = await startServe(path, ["serve", "--port", "0", "--data-dir", `${machine.tmp}/data`]);
    let code: number;
    try {
      expect(await machine.run(run)).toMatchObject({ code: 0 });
      const response = await fetch(new URL("/healthz", serving.url));
      await response.body?.cancel();
      expect(response.status).toBe(200);
    } finally {
      code = await serving.stop();
    }
    expect(code).toBe(0);
  });

  const onLinux = Deno.build.os === "linux" ? Deno.test : Deno.test.ignore;
  onLinux("install.sh names the version of glibc that the executable needs", async () => {
    const text = new TextDecoder("latin1").decode(executable);
    const versions = [...text.matchAll(/\0GLIBC_2\.(\d+)(?=[.\d]*\0)/g)].map(([, minor]) => Number(minor));
    expect(await Deno.readTextFile(INSTALLER)).toContain(`requires glibc 2.${Math.max(...versions)} or newer`);
  });
}
