/** The recipes for a key that lives as long as a job: the script for CI, the function for shells, the Makefile. */
import { expect } from "expect";
import { until } from "../server/until.ts";
import { command, type Outcome } from "../execute.ts";
import { openTerminal } from "../program/terminal.ts";
import { recipe } from "./blocks.ts";
import { modeOf, openPlace, type Place, writeDeploy } from "./place.ts";
import { testWith } from "../tools.ts";

const [SCRIPT = "", FUNCTION = "", MAKEFILE = ""] = recipe("A key for one job", ["sh", "sh", "make"]);

/** A place with the script, and a `deploy` that tells the name of the key that it is given. */
async function jobPlace(deploy = "true"): Promise<Place> {
  const here = await openPlace();
  await here.write("job.sh", SCRIPT);
  await writeDeploy(here, deploy);
  return here;
}

/** What `deploy` was told of its key. */
const ASKED = '{"data":{"me":{"name":"job 42"}}}\n';

function jobEnv(here: Place, more: Readonly<Record<string, string>> = {}): { env: Record<string, string> } {
  return { env: { ...here.env, CI_JOB_ID: "42", ...more } };
}

const DELETED = "Successfully deleted 1 API key\n";

for (const shell of [["bash"], ["dash"], ["busybox", "sh"]]) {
  const name = shell.join(" ");
  const testIt = (what: string, test: () => Promise<void>): void =>
    testWith(shell.slice(0, 1), `${name}: ${what}`, test);

  testIt(
    "a job has a key, which is deleted when the job is done or fails, and its status is that of the job",
    async () => {
      await using here = await jobPlace('exit "$STATUS"');
      for (const code of [0, 7]) {
        const options = jobEnv(here, { STATUS: String(code) });
        // deno-lint-ignore no-await-in-loop -- one job after the other
        expect(await here.run([...shell, "job.sh"], options)).toEqual({ code, stdout: "", stderr: DELETED });
        // deno-lint-ignore no-await-in-loop -- as above
        expect(await here.read("asked")).toBe(ASKED);
        // deno-lint-ignore no-await-in-loop -- as above
        expect(await here.keyNames()).toEqual([]);
      }
      const traced = await here.run([...shell, "-x", "job.sh"], jobEnv(here, { STATUS: "0" }));
      expect(traced).toMatchObject({ code: 0, stderr: expect.stringContaining(DELETED) });
    },
  );

  testIt("a signal ends a job, and its key is deleted", async () => {
    await using here = await jobPlace("echo $$ > pid; mv pid started; exec sleep 60 > output 2>&1");
    for (const [signal, status] of [["SIGTERM", 143], ["SIGINT", 130], ["SIGHUP", 129]] as const) {
      const { pid, outcome } = here.start([...shell, "job.sh"], jobEnv(here));
      // deno-lint-ignore no-await-in-loop -- one signal after the other
      await until(() => here.read("started").then(() => true, () => false));
      // deno-lint-ignore no-await-in-loop -- as above
      const deploy = (await here.read("started")).trim();
      // deno-lint-ignore no-await-in-loop -- as above
      await Deno.remove(`${here.directory}/started`);
      let ended: Outcome | undefined;
      outcome.then((it) => ended = it);
      Deno.kill(pid, signal);
      // deno-lint-ignore no-await-in-loop -- as above
      await until(() => ended !== undefined);
      expect(ended).toMatchObject({ code: status, stderr: expect.stringContaining(DELETED) });
      // deno-lint-ignore no-await-in-loop -- as above
      expect(await here.keyNames()).toEqual([]);
      // deno-lint-ignore no-await-in-loop -- as above
      await until(async () => (await here.run(["sh", "-c", `kill -0 ${deploy}`])).code !== 0);
    }
  });
}

testWith(["sh"], "a key that could not be deleted is told, and the status is that of the job", async () => {
  for (const status of [0, 7]) {
    // deno-lint-ignore no-await-in-loop -- a list of two
    await using here = await jobPlace(`service-api apikey --delete --name "job 42" && exit ${status}`);
    // deno-lint-ignore no-await-in-loop -- as above
    expect(await here.run(["sh", "job.sh"], jobEnv(here))).toEqual({
      code: status,
      stdout: DELETED,
      stderr: expect.stringContaining('The key "job 42" may still be there.\n'),
    });
  }
});

testWith(["sh"], "a key that may have been made is deleted when its job does not hear of it", async () => {
  await using here = await jobPlace();
  const program = `${here.directory}/bin/service-api`;
  await here.write(
    "losing/service-api",
    `#!/bin/sh\ncase $2 in --create) "${program}" "$@" > made; exit 4 ;; *) exec "${program}" "$@" ;; esac\n`,
    0o755,
  );
  const env = jobEnv(here, { PATH: `${here.directory}/losing:${here.env["PATH"]}` });
  expect(await here.run(["sh", "job.sh"], env)).toEqual({ code: 4, stdout: "", stderr: DELETED });
  expect(await here.read("made")).toMatch(/^sak_/);
  expect(await here.keyNames()).toEqual([]);
  await expect(here.read("asked")).rejects.toThrow(Deno.errors.NotFound);
});

testWith(["sh"], "a job leaves the key of another one of its name alone", async () => {
  await using here = await jobPlace();
  await here.createKey("job 42", "--roles", "GUEST");
  expect(await here.run(["sh", "job.sh"], jobEnv(here))).toEqual({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(/^service-api: .*already exists[^\n]*\n$/),
  });
  expect(await here.keyNames()).toEqual(["job 42"]);
});

for (const shell of [["bash"], ["dash"], ["zsh"], ["busybox", "sh"]]) {
  const name = shell.join(" ");
  const runIn = (here: Place, command: string): ReturnType<Place["run"]> =>
    here.run([...shell, "-c", FUNCTION + command]);

  testWith(shell.slice(0, 1), `${name}: a command is run with a key of its own`, async () => {
    await using here = await jobPlace('printf "<%s>" "$@"; exit 7');
    const outcome = await runIn(here, "with_key 'docker:read_any, API_KEY:READ_OWN' ./deploy one 'two  words' ''");
    expect(outcome).toEqual({ code: 7, stdout: "<one><two  words><>", stderr: DELETED });
    expect(await here.read("asked")).toMatch(/"name":"job \d{10} \d+"/);
    expect(await here.keyNames()).toEqual([]);

    const after = "trap 'echo bye' EXIT; with_key DOCKER:READ_ANY true; echo \"$? ${API_KEY-none} ${name-none}\"";
    expect(await runIn(here, after)).toEqual({ code: 0, stdout: "0 none none\nbye\n", stderr: DELETED });
  });

  testWith(shell.slice(0, 1), `${name}: without a key the command is not run`, async () => {
    await using here = await jobPlace();
    expect(await runIn(here, "with_key DOCKER:EAT_ANY ./deploy")).toMatchObject({ code: 2, stdout: "" });
    await expect(here.read("asked")).rejects.toThrow(Deno.errors.NotFound);
  });
}

for (const shell of ["bash", "zsh"]) {
  testWith([shell, "tmux"], `${shell}: Ctrl-C ends a command with a key of its own, and the key`, async () => {
    await using here = await jobPlace("touch started; exec sleep 60");
    await here.write("with_key.sh", FUNCTION);
    const command = [shell, ...shell === "zsh" ? ["--no-rcs"] : ["--norc", "--noprofile"]];
    await using terminal = await openTerminal(command, { cwd: here.directory, env: { ...here.env, PS1: "ready> " } });
    await terminal.shows(/ready>$/);
    await terminal.type(". ./with_key.sh; with_key DOCKER:READ_ANY ./deploy");
    await terminal.press("Enter");
    await until(() => here.read("started").then(() => true, () => false));
    expect(await here.keyNames()).toHaveLength(1);
    await terminal.press("C-c");
    await terminal.shows(/Successfully deleted 1 API key\n+ready>$/);
    expect(await here.keyNames()).toEqual([]);
  });
}

testWith(["make", "sh"], "make makes a key once, uses it, and deletes it", async () => {
  await using here = await openPlace();
  await here.write("Makefile", MAKEFILE);
  const env = { ...here.env, LC_ALL: "C" };
  const user = (await command("id", ["-un"])).trim();
  const name = `dev ${user.replaceAll(/[^a-z0-9]/gi, " ")}`;
  const check = { code: 0, stdout: expect.stringContaining(`{"data":{"me":{"name":"${name}"}}}\n`) };
  expect(await here.run(["make"], { env })).toMatchObject(check);
  const secret = await here.read("api.key");
  expect(await modeOf(`${here.directory}/api.key`)).toBe("0600");
  expect(await here.run(["make", "check"], { env })).toMatchObject(check);
  expect(await here.read("api.key")).toBe(secret);
  expect(await here.keyNames()).toEqual([name]);

  expect(await here.run(["make", "clean"], { env })).toMatchObject({ code: 0 });
  expect(await here.keyNames()).toEqual([]);
  await expect(here.read("api.key")).rejects.toThrow(Deno.errors.NotFound);
  expect(await here.run(["make", "clean"], { env })).toMatchObject({ code: 0 });
});

testWith(
  ["make", "sh"],
  "make leaves no file behind when it gets no key, and makes it the next time",
  async () => {
    await using here = await openPlace();
    await here.write("Makefile", MAKEFILE);
    const env = {
      ...here.env,
      SERVICE_API_KEY_FILE: "",
      SERVICE_API_KEY: await here.createKey("weak", "--roles", "GUEST"),
    };
    expect(await here.run(["make"], { env })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("API_KEY:CREATE_ANY"),
    });
    await expect(here.read("api.key")).rejects.toThrow(Deno.errors.NotFound);
    expect(await here.run(["make"])).toMatchObject({ code: 0 });
  },
);
