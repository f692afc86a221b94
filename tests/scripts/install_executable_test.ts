/** install.sh with the compiled executable. */
import { expect } from "expect";
import { buildExecutable } from "../program/executable.ts";
import { startServe } from "../program/installations.ts";
import { asProcess } from "../program/program.ts";
import { INSTALLER, openMachine, testInstaller } from "./machine.ts";
import { archived, makeRelease, serveRelease } from "./release_server.ts";

const COMPLETIONS = {
  bash: {
    file: "completions/service-api.bash",
    // Succeeds in a shell that finds the installed completions.
    found: ". /usr/share/bash-completion/bash_completion; _completion_loader service-api; " +
      "[[ $(complete -p service-api) != *_minimal* ]]",
    package: "/usr/share/bash-completion/bash_completion",
  },
  zsh: {
    file: "completions/_service-api",
    found: "fpath=(~/.local/share/zsh/site-functions $fpath) && autoload -U compinit && compinit -D -u && " +
      '[[ "$_comps[service-api]" == _service-api ]] && autoload +X _service-api',
    package: "/usr/share/zsh",
  },
  fish: {
    file: "completions/service-api.fish",
    found: "complete --do-complete 'service-api apikey --crea' | string match --quiet -- '--create*'",
    package: "/usr/share/fish",
  },
};

const build = await buildExecutable();
if (build.kind === "not built") {
  Deno.test.ignore(`install.sh with the executable: skipped, ${build.reason}`, () => {});
} else {
  const bytes = await Deno.readFile(build.path);
  const completions = await Promise.all(
    Object.entries(COMPLETIONS).map(async ([shell, { file }]) => [
      file,
      (await asProcess(build.path)(["completions", shell])).stdout,
    ]),
  );
  await build.remove();
  const { files } = await makeRelease({ ...archived(""), ...Object.fromEntries(completions), "service-api": bytes });

  testInstaller("replaces the executable while it is serving", async () => {
    await using server = serveRelease(files);
    await using machine = await openMachine();
    const run = { env: { SERVICE_API_DOWNLOAD_URL: server.url } };
    expect(await machine.run(run)).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Installed service-api \d+\.\d+\.\d+/),
    });
    const executable = `${machine.home}/.local/bin/service-api`;
    const serving = await startServe(executable, ["serve", "--port", "0", "--data-dir", `${machine.tmp}/data`]);
    let status: number;
    try {
      expect(await machine.run(run)).toMatchObject({ code: 0 });
      const response = await fetch(new URL("/healthz", serving.url));
      await response.body?.cancel();
      expect(response.status).toBe(200);
    } finally {
      status = await serving.stop();
    }
    expect(status).toBe(0);
  });

  for (const [shell, { found, package: needed }] of Object.entries(COMPLETIONS)) {
    const rule = `install.sh: ${shell} finds the installed completions`;
    // deno-lint-ignore no-await-in-loop -- keeps the tests in order
    if (!await Deno.stat(needed).then(() => true, () => false)) {
      Deno.test.ignore(`${rule}: skipped, not installed: ${needed}`, () => {});
      continue;
    }
    Deno.test(rule, async () => {
      await using server = serveRelease(files);
      await using machine = await openMachine();
      const env = { HOME: machine.home, PATH: `${machine.home}/.local/bin:${Deno.env.get("PATH")}` };
      const command = new Deno.Command("env", { args: [shell, "-c", found], env, clearEnv: true });
      expect((await command.output()).success).toBe(false);
      await machine.run({ env: { SERVICE_API_DOWNLOAD_URL: server.url } });
      const { success, stderr } = await command.output();
      if (!success) throw new Error(new TextDecoder().decode(stderr));
    });
  }

  const needsGlibc = Deno.build.os === "linux" ? Deno.test : Deno.test.ignore;
  needsGlibc("install.sh requires the version of glibc that the executable needs", async () => {
    const executable = new TextDecoder("latin1").decode(bytes);
    const versions = [...executable.matchAll(/\0GLIBC_2\.(\d+)(?=[.\d]*\0)/g)].map(([, minor]) => Number(minor));
    expect(await Deno.readTextFile(INSTALLER)).toContain(`requires glibc 2.${Math.max(...versions)} or newer`);
  });
}
